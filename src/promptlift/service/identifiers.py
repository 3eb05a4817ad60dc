"""New identifiers and keys, and how keys are recognized."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from typing import Final

KEY_START = "plk_"
# The prefix of a key shown in lists; too short to guess the rest from.
_SHOWN_CHARS = 8


_RANDOM_BYTES: Final = 8
_IDS_A_DRAW: Final = 512
# Eight hexadecimal digits.
_SECONDS_MASK: Final = 0xFFFF_FFFF


class _Randomness:
    """Random bytes for identifiers, requested from the system for many identifiers at once.

    Every request is a system call that releases the interpreter lock, and a busy process waits a millisecond
    to reacquire it.
    """

    def __init__(self) -> None:
        self._begin()
        # A forked process would return the same identifiers.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._left: list[str] = []

    def take(self) -> str:
        """Take the random digits of one identifier, in hexadecimal; they are never returned again."""
        with self._lock:
            if not self._left:
                drawn = secrets.token_hex(_RANDOM_BYTES * _IDS_A_DRAW)
                step = 2 * _RANDOM_BYTES
                self._left = [drawn[start : start + step] for start in range(0, len(drawn), step)]
            return self._left.pop()


_randomness = _Randomness()


def new_id(kind: str) -> str:
    """Return an identifier that cannot be guessed, such as ``cnv_6ad2…``; ``kind`` is three letters.

    It consists of the second of its creation and 64 random bits. Identifiers created together are neighbours
    in an index: random ones would each change a different page, and the larger the table, the more pages must
    be read and written.
    """
    return f"{kind}_{int(time.time()) & _SECONDS_MASK:08x}{_randomness.take()}"


def new_key() -> str:
    """Return a new API key with 256 random bits."""
    return KEY_START + secrets.token_urlsafe(32)


def shown_prefix(key: str) -> str:
    """Return the prefix of a key that is stored in plain text and shown in lists: at most 8 characters, and at most a quarter.

    >>> shown_prefix("plk_" + 43 * "x"), shown_prefix("a short key of 22 char")
    ('plk_xxxx', 'a sho')
    """
    return key[: min(_SHOWN_CHARS, len(key) // 4)]


def key_hash(key: str) -> str:
    """Return the SHA-256 of a key in hexadecimal. The key has 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(key.encode()).hexdigest()
