"""Signatures of webhook deliveries."""

from __future__ import annotations

import hashlib
import hmac

from promptlift.errors import ConfigError

HEADER = "X-Service-Signature"


def sign(body: bytes, secret: str) -> str:
    """Compute the lowercase hexadecimal HMAC-SHA256 of a raw body.

    Raises
    ------
    ConfigError
        The secret is empty: anybody could compute the signature.
    """
    check_secret(secret)
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def verify(body: bytes, signature: object, secret: str) -> bool:
    """Check in constant time whether a signature belongs to a raw body.

    Raises
    ------
    ConfigError
        The secret is empty.
    """
    expected = sign(body, secret).encode()
    return isinstance(signature, str) and hmac.compare_digest(expected, signature.encode("utf-8", "replace"))


def check_secret(secret: object) -> None:
    """Refuse what can be no secret of a webhook.

    Raises
    ------
    ConfigError
        It is empty, white space alone, or not text.
    """
    if not isinstance(secret, str) or not secret.strip():
        raise ConfigError(
            "The webhook's secret is empty or not text: pass the one that the create request returned, and check that the "
            "variable or file with it is set"
        )
