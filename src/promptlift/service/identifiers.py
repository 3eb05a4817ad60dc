"""New identifiers and keys, and how keys are recognised again."""

from __future__ import annotations

import hashlib
import secrets

KEY_START = "plk_"
# The start of a key that lists show; too short to guess the rest from.
SHOWN_CHARS = 10


def new_id(kind: str) -> str:
    """An identifier that nobody can guess, such as ``cnv_4f…``; ``kind`` is three letters."""
    return f"{kind}_{secrets.token_hex(12)}"


def new_key() -> str:
    """An API key with 256 random bits."""
    return KEY_START + secrets.token_urlsafe(32)


def key_hash(key: str) -> str:
    """SHA-256 of a key in hexadecimal. The key has 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(key.encode()).hexdigest()
