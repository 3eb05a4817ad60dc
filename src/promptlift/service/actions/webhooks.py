"""Webhooks, their deliveries, and their events."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from promptlift.schema import endpoints
from promptlift.schema.events import EventRecord
from promptlift.schema.model import Done, Page
from promptlift.schema.queries import write_cursor
from promptlift.schema.webhooks import SAMPLES, Delivery, Webhook, WebhookTest
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.errors import full, invalid, invalid_state, not_found
from promptlift.service.identifiers import new_id
from promptlift.service.net import RefusedAddress, UnusableUrl
from promptlift.service.store import accounts, events
from promptlift.service.store.rows import newest, wanted
from promptlift.service.store.tables.events import DeliveryRow, WebhookRow

if TYPE_CHECKING:
    from promptlift.schema.queries import EventsQuery, PageQuery
    from promptlift.schema.webhooks import WebhookCreate
    from promptlift.service.call import AnyCall

# unspecified: how many webhooks an account may have. Every event is compared with all of them.
WEBHOOKS_MAX: Final = 100
# A receiver may take ten seconds to answer a test, so tests do not occupy the threads that every other
# request needs.
_TESTS: Final = ThreadPoolExecutor(max_workers=16, thread_name_prefix="webhook-tests")


@answers(endpoints.WEBHOOKS_LIST)
def page(call: Call) -> Page[Webhook]:
    """Return all webhooks of the account, newest first."""
    with call.read() as rows:
        found = rows.all(newest(WebhookRow, account_id=call.account_id))
    return Page[Webhook](data=[row.shown(Webhook) for row in found])


async def _usable_url(call: AnyCall) -> None:
    """Check an address before it is stored; it is checked again whenever something is sent.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` under ``url``.
    """
    try:
        await asyncio.wrap_future(call.context.sender.net.check(call.body.url))
    except UnusableUrl as error:
        raise invalid({"url": str(error)}, "The URL of a webhook must be an HTTPS address") from None
    except RefusedAddress:
        raise invalid(
            {"url": "is a private, loopback, link-local or reserved address"},
            "Webhooks are sent to public addresses only. The operator of the service can allow others with "
            "PROMPTLIFT_ALLOW_PRIVATE_NETWORKS",
        ) from None


@answers(endpoints.WEBHOOKS_CREATE, check=_usable_url)
def create(call: Call[WebhookCreate]) -> Webhook:
    """Add a webhook and return it with its secret, which is not shown again."""
    secrets = call.context.sender.secrets
    with call.write() as rows:
        accounts.lock(rows.core, call.account_id)
        if rows.count(wanted(WebhookRow, account_id=call.account_id)) >= WEBHOOKS_MAX:
            raise full("webhooks", WEBHOOKS_MAX)
        row = WebhookRow(
            id=new_id("whk"),
            account_id=call.account_id,
            url=call.body.url,
            events=list(dict.fromkeys(call.body.events)),
            description=call.body.description,
            status="active",
            key_id=secrets.key_id,
            created_at=clock.moment(),
        )
        rows.add(row)
        shown = ("id", "url", "events", "status", "created_at")
        return row.shown(Webhook, only=shown, secret=secrets.secret(row.id))


@answers(endpoints.WEBHOOKS_DELETE)
def delete(call: Call) -> Done:
    """Delete a webhook; its undelivered events are never delivered."""
    with call.write() as rows:
        if not events.remove_webhook(rows.core, call.account_id, call.id):
            raise not_found("Webhook")
    return Done(success=True, message="Webhook deleted")


@answers(endpoints.WEBHOOKS_RESUME)
def resume(call: Call) -> Webhook:
    """Make a failing webhook active again and return it; its undelivered events are retried now."""
    with call.write() as rows:
        row = call.found(rows, WebhookRow, "Webhook")
        if row.status == "failing":
            events.resume_webhook(rows.core, row.id, now=clock.now())
            rows.refresh(row)
        return row.shown(Webhook)


@answers(endpoints.WEBHOOKS_TEST, threads=_TESTS)
def test(call: Call) -> WebhookTest:
    """Send an example of an event that the webhook subscribes to, once, and return the outcome.

    The event contains ``"test": true``, is not stored, and does not change the webhook.
    """
    with call.read() as rows:
        row = call.found(rows, WebhookRow, "Webhook")
    sender = call.context.sender
    if row.key_id != sender.secrets.key_id:
        raise invalid_state(
            "The secret of this webhook was made with a different key: set PROMPTLIFT_SECRET_KEY to that "
            "key, or delete the webhook and create it again",
        )
    kind = row.events[0]
    event = EventRecord(id=new_id("evt"), type=kind, timestamp=clock.moment(), data=SAMPLES[kind])
    attempt = sender.attempt(row, {**event.to_wire(), "test": True})
    return WebhookTest(
        success=attempt.problem is None,
        event_id=event.id,
        status_code=attempt.status_code,
        problem=attempt.problem,
        duration_ms=round(attempt.seconds * 1_000),
    )


@answers(endpoints.WEBHOOKS_DELIVERIES)
def deliveries(call: Call[None, PageQuery]) -> Page[Delivery]:
    """Return one page of the deliveries to a webhook, newest first."""
    with call.read() as rows:
        webhook = call.found(rows, WebhookRow, "Webhook")
        some, total = rows.page(newest(DeliveryRow, webhook_id=webhook.id), call.query)
    data = []
    for row in some:
        is_due = row.status == "pending" and webhook.status == "active"
        due_at = clock.to_datetime(row.due_at) if is_due else None
        data.append(row.shown(Delivery, event_type=row.event.type, next_attempt_at=due_at))
    return Page[Delivery](data=data, pagination=call.query.of(total))


@answers(endpoints.EVENTS_LIST)
def listed_events(call: Call[None, EventsQuery]) -> Page[EventRecord]:
    """Return one page of events, newest first.

    The total is counted for the first page only; its cursor carries it to the following pages.
    """
    query = call.query
    before, total = query.cursor or (None, None)
    with call.read() as rows:
        if total is None:
            total = rows.count(events.listed(call.account_id, kind=query.kind))
        # One row more than requested shows whether this is the last page.
        some = rows.all(
            events.listed(call.account_id, kind=query.kind, before=before)
            .limit(query.limit + 1)
            .offset(query.offset)
        )
    place = query.of(total)
    if len(some) > query.limit:
        place.next_cursor = write_cursor(some[query.limit - 1].seq, total)
    return Page[EventRecord](data=[events.record(row) for row in some[: query.limit]], pagination=place)
