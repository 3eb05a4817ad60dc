"""Secrets of webhooks, and the signed bodies of deliveries.

The secret of a webhook is derived from its id with a key outside the database, so no secret is stored
anywhere: somebody who reads the database, or a copy of it, cannot sign anything.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import logging
import secrets
from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.atomic_write import create_private
from promptlift.schema.webhooks import HEADER, sign

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from promptlift.service.settings import ServiceSettings


_LOG = logging.getLogger(__name__)
KEY_FILE: Final = "webhooks.key"
_PREFIX: Final = "whsec_"


class Secrets:
    """The secrets of all webhooks.

    Parameters
    ----------
    key
        The key from which they are derived.

    Attributes
    ----------
    key_id
        Identifies the key without revealing it.
    """

    def __init__(self, key: str) -> None:
        self._key = key.encode()
        self.key_id = self._derive("key id").hex()[:16]

    def secret(self, webhook_id: str) -> str:
        """Return the secret of a webhook: 256 bits that cannot be derived without the key."""
        derived = base64.urlsafe_b64encode(self._derive(f"webhook {webhook_id}")).decode().rstrip("=")
        return _PREFIX + derived

    def _derive(self, what: str) -> bytes:
        return hmac.new(self._key, f"promptlift {what}".encode(), hashlib.sha256).digest()


def load_secrets(settings: ServiceSettings) -> Secrets | None:
    """Return the secrets of this service; ``None`` if no key is given and none can be stored.

    The key is ``PROMPTLIFT_SECRET_KEY``, or else that in a file readable only by its owner: next to an SQLite
    database, or else in the data folder. The file is created if missing.
    """
    if settings.secret_key is not None:
        return Secrets(settings.secret_key)
    database = settings.sqlite_file()
    folder = settings.data.expanduser() if database is None else database.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Secrets(_read_or_make(folder / KEY_FILE))
    except (OSError, UnicodeDecodeError) as error:
        _LOG.warning(
            "webhooks cannot be used: their key cannot be stored in %s (%s); set PROMPTLIFT_SECRET_KEY",
            folder,
            error,
        )
        return None


def _read_or_make(path: Path) -> str:
    """Return the key in a file. If several processes find none, one of them creates it."""
    with contextlib.suppress(FileNotFoundError):
        return path.read_text(encoding="ascii").strip()
    create_private(path, secrets.token_urlsafe(48).encode() + b"\n")
    return path.read_text(encoding="ascii").strip()


def signed(envelope: Mapping[str, Any], secret: str) -> tuple[bytes, dict[str, str]]:
    """Return the body of a delivery, and its headers with the signature of exactly these bytes."""
    body = orjson.dumps(envelope)
    return body, {"Content-Type": "application/json", HEADER: sign(body, secret)}
