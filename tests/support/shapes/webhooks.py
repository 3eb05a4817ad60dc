"""Webhooks, their deliveries and the events."""

from __future__ import annotations

from support.shapes import count, flag, listed, maybe, one_of, text, time

WEBHOOK_STATUS = one_of("active", "failing")
WEBHOOK_CREATED = {
    "id": text,
    "url": text,
    "events": listed(text),
    "secret": text,
    "status": WEBHOOK_STATUS,
    "createdAt": time,
}
WEBHOOK_LISTED = {
    "id": text,
    "url": text,
    "events": listed(text),
    "description": maybe(text),
    "status": WEBHOOK_STATUS,
    "createdAt": time,
}
# Ours:
WEBHOOK_TESTED = {
    "success": flag,
    "eventId": text,
    "statusCode": maybe(count),
    "problem": maybe(text),
    "durationMs": count,
}
DELIVERY = {
    "id": text,
    "eventId": text,
    "eventType": text,
    "status": one_of("pending", "delivered", "failed"),
    "attempts": count,
    "nextAttemptAt": maybe(time),
    "attemptedAt": maybe(time),
    "statusCode": maybe(count),
    "problem": maybe(text),
    "deliveredAt": maybe(time),
    "createdAt": time,
}
EVENT = {"id": text, "type": text, "timestamp": time, "data": lambda value: isinstance(value, dict)}
