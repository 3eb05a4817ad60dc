"""Receive webhooks: verify a delivery and read its event.

>>> event = parse(VECTORS[0].body, VECTORS[0].signature, VECTORS[0].secret)
>>> event.type, event.data.conversation_id
('conversation.created', 'cnv_1')
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from promptlift.errors import EventError, InvalidSignature, ReplayedEvent
from promptlift.schema.events import EVENT_KINDS, read
from promptlift.schema.webhooks import HEADER, check_secret, sign, verify

if TYPE_CHECKING:
    from promptlift.schema.events import Event

__all__ = ["EVENT_KINDS", "HEADER", "VECTORS", "SeenIds", "Vector", "parse", "read", "sign"]


class SeenIds:
    """Remember the ids of the latest events, in memory; threads may share it.

    Parameters
    ----------
    limit
        How many ids to remember; the oldest are forgotten first.

    Examples
    --------
    >>> seen = SeenIds()
    >>> seen.add("evt_1"), seen.add("evt_1")
    (True, False)
    """

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, event_id: str) -> bool:
        """Remember an id, and return whether it is new.

        Parameters
        ----------
        event_id
            The event.
        """
        with self._lock:
            if event_id in self._ids:
                return False
            self._ids[event_id] = None
            if len(self._ids) > self._limit:
                self._ids.popitem(last=False)
            return True

    def forget(self, event_id: str) -> None:
        """Forget an id, so that the next attempt of an event that could not be handled is accepted.

        Parameters
        ----------
        event_id
            The event.
        """
        with self._lock:
            self._ids.pop(event_id, None)

    def __contains__(self, event_id: object) -> bool:
        return event_id in self._ids


def parse(
    body: bytes,
    signature: str | None,
    secret: str,
    *,
    tolerance: float | timedelta | None = None,
    seen: SeenIds | None = None,
    now: datetime | None = None,
) -> Event:
    """Verify a delivery and read its event.

    The signature is compared in constant time, before any of the body is read.

    Parameters
    ----------
    body
        Raw request body, exactly as received: decoding and encoding it again breaks the signature.
    signature
        Value of the header ``X-Service-Signature``; ``None`` if absent.
    secret
        Secret that the create request of the webhook returned.
    tolerance
        How far the event's time may be from now, in seconds: protects against replay of a recorded delivery.
        Allow for retries: the fifth attempt comes 2 h 36 min after the event, and the events of a paused
        webhook when it is resumed. By default any age is accepted.
    seen
        Ids of earlier events: events with one of these ids are refused, others are added. If you fail to
        handle an event, call ``seen.forget(event.id)``, so that the next attempt is accepted.
    now
        The current time.

    Raises
    ------
    ConfigError
        The secret is empty or not text, for example because its variable is not set. Answer 500.
    InvalidSignature
        The signature does not belong to the body and secret. Answer 401 or 400.
    ReplayedEvent
        The event was received before, or is older than ``tolerance``. Answer 200, otherwise it is sent again.
    EventError
        The body is signed, but is not an event of the API.

    Examples
    --------
    >>> parse(b"{}", "0" * 64, "whsec_")
    Traceback (most recent call last):
    ...
    promptlift.errors.InvalidSignature: The signature does not match the body: check the secret, and pass the raw body
    """
    if not isinstance(body, bytes | bytearray | memoryview):
        raise EventError("Pass the raw body of the request as bytes, before anything has decoded it")
    raw = bytes(body)
    check_secret(secret)
    if not signature:
        raise InvalidSignature(f"The request has no signature: a delivery has the header {HEADER}")
    if not isinstance(signature, str):
        raise InvalidSignature("The signature is not text: decode the value of the header")
    if not verify(raw, signature, secret):
        raise InvalidSignature(
            "The signature does not match the body: check the secret, and pass the raw body"
        )
    event = read(raw)
    if tolerance is not None:
        allowed = tolerance if isinstance(tolerance, timedelta) else timedelta(seconds=tolerance)
        if abs((now or datetime.now(UTC)) - event.timestamp) > allowed:
            raise ReplayedEvent(
                f"The event {event.id} is dated {event.timestamp.isoformat()}, more than the tolerance away "
                "from now",
                event_id=event.id,
            )
    if seen is not None and not seen.add(event.id):
        raise ReplayedEvent(f"The event {event.id} was received before", event_id=event.id)
    return event


@dataclass(frozen=True, slots=True)
class Vector:
    """A signed delivery for testing an implementation of the signature.

    Attributes
    ----------
    shows
        What is special about it.
    secret
        Secret of the webhook; its UTF-8 bytes are the key.
    text
        Body; its UTF-8 bytes are signed.
    signature
        Value of the header ``X-Service-Signature``.
    """

    shows: str
    secret: str
    text: str
    signature: str

    @property
    def body(self) -> bytes:
        """The body as bytes."""
        return self.text.encode()


VECTORS: Final = (
    Vector(
        "compact JSON, as the embedded service sends it",
        "whsec_0123456789abcdef0123456789abcdef",
        '{"id":"evt_1","type":"conversation.created","timestamp":"2026-01-31T09:30:00.000Z","data":{"conversationId":"cnv_1","promptId":"prm_1","status":"completed","createdAt":"2026-01-31T09:30:00.000Z"},"sequence":1}',
        "4d21f33acd9c28e8fa979b26d81adce2a594b3957abb9e6322439e40469824b5",
    ),
    Vector(
        "spaces, another order of fields and a field that nobody knows: the raw bytes count, not what they mean",
        "whsec_0123456789abcdef0123456789abcdef",
        '{ "type": "prompt.deleted", "data": {"deletedAt": "2026-01-31T10:30:00+01:00", "promptId": "prm_1"},\n  "attempt": 2, "timestamp": "2026-01-31T09:30:00Z", "id": "evt_2" }\n',
        "89596bf5d163a56d723885cf50c6b748cf4d72a2b5a0d79d4af69e4b551621bf",
    ),
    Vector(
        "text beyond ASCII, both as UTF-8 and escaped, and a secret beyond ASCII",
        "gehöimnis ☎ 秘密",
        '{"id":"evt_3","type":"insights.generated","timestamp":"2026-01-31T09:30:00.000Z","data":{"conversationId":"cnv_1","promptId":"prm_1","insightsId":"ins_1","summary":"Überweisung – erledigt 🎈 caf\\u00e9","sentiment":"positive"}}',
        "1acea00da48b1b4bdf83e1338713c22da222c4f6c94d5ac1ac37e4d586185a4f",
    ),
)
"""Test vectors; the documentation lists them for other languages."""
