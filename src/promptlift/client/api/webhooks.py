"""Endpoints of webhooks and their events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.client.api.group import Group, given
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.events import EventRecord
    from promptlift.schema.model import Done, Page
    from promptlift.schema.webhooks import Delivery, Webhook, WebhookTest


class Webhooks(Group):
    """Webhooks, the destinations of events."""

    def list(self) -> Page[Webhook]:
        """Return all webhooks."""
        return self._send(endpoints.WEBHOOKS_LIST)

    def create(self, *, url: str, events: Sequence[str], description: str | None = None) -> Webhook:
        """Subscribe an HTTPS address to event kinds. The secret is only in this answer: keep it."""
        fields = given(url=url, events=[*events], description=description)
        return self._send(endpoints.WEBHOOKS_CREATE, **fields)

    def delete(self, webhook_id: str) -> Done:
        """Delete a webhook. Its undelivered events are never delivered."""
        return self._send(endpoints.WEBHOOKS_DELETE, webhook_id)

    def test(self, webhook_id: str) -> WebhookTest:
        """Send an example of an event that the webhook subscribes to, marked with ``"test": true``, and return the outcome.

        The embedded service supports this; others may not.
        """
        return self._send(endpoints.WEBHOOKS_TEST, webhook_id)

    def resume(self, webhook_id: str) -> Webhook:
        """Make a failing webhook active again and deliver its waiting events. Only the embedded service supports this."""
        return self._send(endpoints.WEBHOOKS_RESUME, webhook_id)

    def deliveries(
        self, webhook_id: str, *, limit: int | None = None, offset: int | None = None
    ) -> Page[Delivery]:
        """Return one page of the deliveries to a webhook, newest first. Only the embedded service supports this."""
        return self._send(endpoints.WEBHOOKS_DELIVERIES, webhook_id, limit=limit, offset=offset)


class Events(Group):
    """Events of the account. The embedded service supports them; others may only send them to webhooks."""

    def list(
        self,
        *,
        kind: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[EventRecord]:
        """Return one page of events, newest first; ``cursor`` is ``pagination.next_cursor`` of the previous page."""
        return self._send(endpoints.EVENTS_LIST, kind=kind, limit=limit, offset=offset, cursor=cursor)
