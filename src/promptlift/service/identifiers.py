"""New identifiers and keys, and how keys are recognised again."""

from __future__ import annotations

import hashlib
import secrets

KEY_START = "plk_"
# The start of a key that lists show; too short to guess the rest from.
_SHOWN_CHARS = 8


def new_id(kind: str) -> str:
    """An identifier that nobody can guess, such as ``cnv_4f…``; ``kind`` is three letters."""
    return f"{kind}_{secrets.token_hex(12)}"


def new_key() -> str:
    """An API key with 256 random bits."""
    return KEY_START + secrets.token_urlsafe(32)


def shown_prefix(key: str) -> str:
    """Return the start of a key that is stored as it is and shown in lists: at most 8 characters, and a quarter.

    >>> shown_prefix("plk_" + 43 * "x"), shown_prefix("a short key of 22 char")
    ('plk_xxxx', 'a sho')
    """
    return key[: min(_SHOWN_CHARS, len(key) // 4)]


def key_hash(key: str) -> str:
    """SHA-256 of a key in hexadecimal. The key has 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(key.encode()).hexdigest()
