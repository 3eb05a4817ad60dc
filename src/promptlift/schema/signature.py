"""Signatures of webhook deliveries."""

from __future__ import annotations

import hashlib
import hmac

HEADER = "X-Service-Signature"


def sign(body: bytes, secret: str) -> str:
    """Compute the lowercase hexadecimal HMAC-SHA256 of a raw body."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def verify(body: bytes, signature: str, secret: str) -> bool:
    """Check in constant time whether a signature belongs to a raw body."""
    return hmac.compare_digest(sign(body, secret).encode(), signature.encode("utf-8", "replace"))
