"""Events, webhooks, and the deliveries of events to them.

Events are written in the transaction of the change that they record, and a delivery in that of its event, so every
committed event is queued for all its subscribers.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict, cast

import orjson
from sqlalchemy import bindparam, delete, exists, func, insert, null, select, update

from promptlift.schema.events import EventRecord
from promptlift.service import clock
from promptlift.service.identifiers import new_id
from promptlift.service.store.leases import Leases, announce
from promptlift.service.store.rows import Rows, insert_rows, newest
from promptlift.service.store.tables import conversations, events
from promptlift.service.store.tables.events import DeliveryRow, EventRow, WebhookRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from promptlift.schema.events import EventKind
    from promptlift.schema.model import ApiModel
    from promptlift.service.store.database import Database


class NewEvent(TypedDict):
    """The row of an unwritten event."""

    id: str
    account_id: str
    type: EventKind
    subject_id: str
    data: str
    created_at: int


def row(
    kind: EventKind, account_id: str, subject_id: str, data: Mapping[str, object], *, now: int
) -> NewEvent:
    """Make the row of one event; ``subject_id`` identifies its subject, ``data`` is the payload of the specification."""
    return {
        "id": new_id("evt"),
        "account_id": account_id,
        "type": kind,
        "subject_id": subject_id,
        "data": orjson.dumps(data).decode(),
        "created_at": now,
    }


def add(
    connection: Connection, kind: EventKind, account_id: str, subject_id: str, payload: ApiModel, *, now: int
) -> None:
    """Write one event; see `row`."""
    write(connection, [row(kind, account_id, subject_id, payload.to_wire(), now=now)])


def write(connection: Connection, rows: Sequence[NewEvent]) -> None:
    """Store events, and queue them for their subscribers."""
    if rows:
        insert_rows(connection, events, rows)
        enqueue(connection, rows)


def listed(account_id: str, *, kind: EventKind | None = None, before: int | None = None) -> Select[EventRow]:
    """Return the query for the events of an account, newest first.

    Parameters
    ----------
    before
        Only events before this sequence number, at a cost independent of its position.
    """
    query = newest(EventRow, account_id=account_id, type=kind)
    return query if before is None else query.where(EventRow.seq < before)


def record(row: EventRow) -> EventRecord:
    """Return an event in its API form, both for lists and deliveries."""
    return row.shown(EventRecord, timestamp=row.created_at, data=orjson.loads(row.data))


class NewInsights:
    """Which prompts have new insights, for work that looks at them again and again.

    Parameters
    ----------
    database
        The database with the events.
    from_now
        Whether those from before the first look do not count: they may be a million.
    """

    def __init__(self, database: Database, *, from_now: bool = False) -> None:
        self._database = database
        self._seen = None if from_now else 0

    @contextmanager
    def taken(self) -> Iterator[set[tuple[str, str]]]:
        """Yield the accounts and prompts with new insights; they are no longer new when the block has succeeded."""
        with self._database.read() as connection:
            last: int = connection.scalar(select(func.max(events.c.seq))) or 0
            found = connection.execute(
                select(events.c.account_id, conversations.c.prompt_id)
                .join(conversations, conversations.c.id == events.c.subject_id)
                .where(
                    events.c.seq > (last if self._seen is None else self._seen),
                    events.c.type == "insights.generated",
                )
                .distinct()
            ).all()
        yield {(account_id, prompt_id) for account_id, prompt_id in found}
        self._seen = last


_PENDING = DeliveryRow.status == "pending"
_WRITE = insert(DeliveryRow)
_NUMBER = (
    update(DeliveryRow).where(DeliveryRow.id == bindparam("delivery_id")).values(sequence=bindparam("number"))
)
_DELIVERED = (
    update(DeliveryRow)
    .where(DeliveryRow.id == bindparam("delivery_id"))
    .values(
        status="delivered",
        attempts=DeliveryRow.attempts + 1,
        attempted_at=bindparam("at"),
        delivered_at=bindparam("at"),
        status_code=bindparam("code"),
        problem=null(),
    )
)


def webhook_leases(*, key_id: str) -> Leases:
    """Return the leases of webhooks that have a delivery due.

    Parameters
    ----------
    key_id
        Only webhooks whose secret is derived from this key, which is needed to sign.
    """
    first_due = select(func.min(DeliveryRow.due_at)).where(DeliveryRow.webhook_id == WebhookRow.id, _PENDING)
    at_work = (WebhookRow.status == "active") & (WebhookRow.key_id == key_id)
    return Leases(
        WebhookRow,
        at_work,
        due=cast("ColumnElement[int]", first_due.scalar_subquery()),
    )


# Webhooks


def webhooks_with_other_keys(connection: Connection, key_id: str) -> int:
    """Count the webhooks whose secret is derived from another key."""
    found = select(func.count()).select_from(WebhookRow).where(WebhookRow.key_id != key_id)
    return int(connection.scalar(found) or 0)


def remove_webhook(connection: Connection, account_id: str, webhook_id: str) -> bool:
    """Delete a webhook with its deliveries; return False if there is none with this id."""
    which = (WebhookRow.account_id == account_id, WebhookRow.id == webhook_id)
    if not connection.execute(delete(WebhookRow).where(*which)).rowcount:
        return False
    connection.execute(delete(DeliveryRow).where(DeliveryRow.webhook_id == webhook_id))
    return True


def resume_webhook(connection: Connection, webhook_id: str, *, now: int) -> None:
    """Make a failing webhook active again; retry its undelivered events now."""
    connection.execute(
        update(WebhookRow).where(WebhookRow.id == webhook_id).values(status="active", worker=None)
    )
    connection.execute(
        update(DeliveryRow)
        .where(DeliveryRow.webhook_id == webhook_id, DeliveryRow.status.in_(("pending", "failed")))
        .values(status="pending", attempts=0, due_at=now)
    )
    announce(connection, WebhookRow)


# Deliveries


def enqueue(connection: Connection, rows: Sequence[NewEvent]) -> None:
    """Queue events for the webhooks that subscribe to them; failing webhooks get them when resumed.

    Parameters
    ----------
    rows
        The written events, in order.
    """
    accounts = {row["account_id"] for row in rows}
    subscribers = connection.execute(
        select(WebhookRow.id, WebhookRow.account_id, WebhookRow.events)
        .where(WebhookRow.account_id.in_(accounts))
        .order_by(WebhookRow.seq)
    ).all()
    if not subscribers:
        return
    made = [
        {
            "id": new_id("dlv"),
            "account_id": one.account_id,
            "webhook_id": one.id,
            "event_id": row["id"],
            "status": "pending",
            "attempts": 0,
            "due_at": row["created_at"],
            "created_at": row["created_at"],
        }
        for row in rows
        for one in subscribers
        if one.account_id == row["account_id"] and row["type"] in one.events
    ]
    if made:
        connection.execute(_WRITE, made)
        announce(connection, WebhookRow)


def number_deliveries(connection: Connection, webhook: WebhookRow, new: Sequence[DeliveryRow]) -> None:
    """Assign the next numbers of a webhook, whose row is locked, to deliveries in this order."""
    for sequence, one in enumerate(new, webhook.last_sequence + 1):
        one.sequence = sequence
    connection.execute(_NUMBER, [{"delivery_id": one.id, "number": one.sequence} for one in new])
    last = webhook.last_sequence + len(new)
    connection.execute(update(WebhookRow).where(WebhookRow.id == webhook.id).values(last_sequence=last))


def due_deliveries(connection: Connection, webhook_id: str, *, now: int, limit: int) -> Sequence[DeliveryRow]:
    """Return due deliveries of a webhook, in the order of their events, with the events."""
    # Chosen by an index alone: a long backlog is sorted for each batch, and its events must not be read for that.
    chosen = (
        select(DeliveryRow.seq)
        .where(DeliveryRow.webhook_id == webhook_id, _PENDING, DeliveryRow.due_at <= now)
        .order_by(DeliveryRow.seq)
        .limit(limit)
        .subquery()
    )
    found = select(DeliveryRow).join(chosen, chosen.c.seq == DeliveryRow.seq).order_by(DeliveryRow.seq)
    return Rows(connection).all(found)


def webhook_of_worker(
    connection: Connection, webhook_id: str, worker: str, *, lock: bool = False
) -> WebhookRow | None:
    """Return a webhook if this worker still delivers to it.

    Parameters
    ----------
    lock
        Whether to lock the webhook for this transaction.
    """
    found = select(WebhookRow).filter_by(id=webhook_id, worker=worker, status="active")
    return Rows(connection).find(found.with_for_update() if lock else found)


def record_delivered(connection: Connection, accepted: Sequence[tuple[str, int | None, int]]) -> None:
    """Record that deliveries were accepted: the id of each, the status of the answer, and its time."""
    if accepted:
        rows = [{"delivery_id": one, "code": code, "at": at} for one, code, at in accepted]
        connection.execute(_DELIVERED, rows)


def record_failed(
    connection: Connection,
    delivery: DeliveryRow,
    *,
    at: int,
    status_code: int | None,
    problem: str | None,
    due_at: int | None,
) -> None:
    """Record a failed attempt. After the last attempt the webhook is paused, and no worker holds it."""
    attempt = update(DeliveryRow).where(DeliveryRow.id == delivery.id)
    attempt = attempt.values(
        attempts=delivery.attempts + 1, attempted_at=at, status_code=status_code, problem=problem
    )
    connection.execute(attempt.values(status="failed") if due_at is None else attempt.values(due_at=due_at))
    if due_at is None:
        mine = WebhookRow.id == delivery.webhook_id
        connection.execute(update(WebhookRow).where(mine).values(status="failing", worker=None))


# Trimming

KEPT_DELIVERED = 30 * clock.DAY
KEPT_UNSUBSCRIBED = 7 * clock.DAY


def trimmable_events(connection: Connection, *, now: int, limit: int) -> list[str]:
    """Return the ids of events that are no longer needed, oldest first.

    Events sent to webhooks stay for 30 days, and until they are delivered unless the webhook is failing.
    Events without subscribers stay for 7 days. The newest event always stays, so that its number is not
    reused.
    """
    of_event = DeliveryRow.event_id == EventRow.id
    is_active = exists().where(WebhookRow.id == DeliveryRow.webhook_id, WebhookRow.status == "active")
    subscribed = exists().where(of_event)
    on_its_way = exists().where(of_event, _PENDING, is_active)
    old = select(EventRow.id).where(
        EventRow.created_at < now - KEPT_UNSUBSCRIBED,
        EventRow.seq < select(func.max(EventRow.seq)).scalar_subquery(),
        ~subscribed | ((EventRow.created_at < now - KEPT_DELIVERED) & ~on_its_way),
    )
    return list(connection.scalars(old.order_by(EventRow.seq).limit(limit)))


def drop_events(connection: Connection, ids: Sequence[str]) -> None:
    """Delete events with their deliveries."""
    connection.execute(delete(DeliveryRow).where(DeliveryRow.event_id.in_(ids)))
    connection.execute(delete(EventRow).where(EventRow.id.in_(ids)))


def drop_orphans(connection: Connection) -> None:
    """Delete deliveries to webhooks that were deleted while their events were written."""
    gone = DeliveryRow.webhook_id.not_in(select(WebhookRow.id))
    connection.execute(delete(DeliveryRow).where(gone))
