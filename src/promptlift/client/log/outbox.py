"""Conversations on disk until the service has them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from promptlift.atomic_write import append_private, atomic_write
from promptlift.client.log.records import Outgoing
from promptlift.file_lock import file_lock, try_acquire

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Iterator


class Outbox:
    """A file of conversations that wait for the service, for all threads and processes that log to it.

    Parameters
    ----------
    path
        The file; it and its folder are created.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._changes = file_lock(self._path.with_name(f"{self._path.name}.lock"))
        self._sends = file_lock(self._path.with_name(f"{self._path.name}.sending"))

    def add(self, some: Iterable[Outgoing]) -> None:
        """Put conversations on disk."""
        with self._changes:
            # Whatever a power failure left of a line ends here.
            append_private(self._path, b"".join(b"\n" + one.body for one in some))

    def waiting(self) -> dict[str, Outgoing]:
        """Return the conversations by their keys, oldest first; one that was added twice counts once."""
        lines = self._path.read_bytes().split(b"\n") if self._path.exists() else []
        found: dict[str, Outgoing] = {}
        for number, line in enumerate(lines, 1):
            with contextlib.suppress(orjson.JSONDecodeError):
                body: dict[str, Any] = orjson.loads(line)
                key = str(body["idempotencyKey"])
                found[key] = Outgoing(len(found), f"{self._path}:{number}", key, line)
        return found

    @contextlib.contextmanager
    def sending(self) -> Iterator[bool]:
        """Yield whether nobody else sends; whoever does sends what was added before it has finished, or the next one will."""
        mine = try_acquire(self._sends)
        try:
            yield mine
        finally:
            if mine:
                self._sends.release()

    def drop(self, keys: Collection[str]) -> int:
        """Remove what is settled, and return how many conversations are left."""
        with self._changes:
            left = [one.body for key, one in self.waiting().items() if key not in keys]
            if keys:
                atomic_write(self._path, b"\n".join(left))
            return len(left)
