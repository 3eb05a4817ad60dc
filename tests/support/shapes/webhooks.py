"""Webhooks, their deliveries and the events."""

from __future__ import annotations

from support.shapes import count, flag, listed, maybe, one_of, text, time

WEBHOOK = {
    "id": text,
    "url": text,
    "events": listed(text),
    "status": one_of("active", "failing"),
    "createdAt": time,
}
WEBHOOK_CREATED = {**WEBHOOK, "secret": text}
WEBHOOK_LISTED = {**WEBHOOK, "description": maybe(text)}
EVENT = {"id": text, "type": text, "timestamp": time, "data": lambda value: isinstance(value, dict)}
# Ours:
WEBHOOK_TESTED = {"success": flag, "eventId": text, "statusCode": maybe(count), "problem": maybe(text)}
DELIVERY = {"id": text, "eventId": text, "eventType": text, "status": text, "attempts": count}
