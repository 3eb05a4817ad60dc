"""A cache of answers with the service's tags, so that it need not resend what has not changed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KnownAnswers"]

# Enough for all other lists, and for the pages of some thousand conversations without transcripts.
_BYTES: Final = 4 << 20


class KnownAnswers:
    """The most recently requested answers, within a limited size.

    Parameters
    ----------
    room
        Maximum size in bytes.
    """

    def __init__(self, room: int = _BYTES) -> None:
        self._room = room
        self._kept: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def of(self, target: str) -> tuple[str, bytes] | None:
        """Return the tag and the body of the last answer, if stored."""
        with self._lock:
            if target in self._kept:
                self._kept.move_to_end(target)
            return self._kept.get(target)

    def keep(self, target: str, headers: Mapping[str, str], body: bytes) -> None:
        """Store an answer, if it has a tag and the service allows it."""
        tag = headers.get("etag")
        wanted = tag is not None and "no-store" not in headers.get("cache-control", "").lower()
        with self._lock:
            _, before = self._kept.pop(target, ("", b""))
            self._size -= len(before)
            if tag is None or not wanted or len(body) > self._room:
                return
            self._kept[target] = tag, body
            self._size += len(body)
            while self._size > self._room:
                _, (_, oldest) = self._kept.popitem(last=False)
                self._size -= len(oldest)
