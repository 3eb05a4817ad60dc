"""Webhooks, and the deliveries of events to them.

A delivery is written in the transaction of its event, so that an event that was kept is on its way to everybody who had
subscribed to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import orjson
from sqlalchemy import bindparam, case, delete, exists, func, insert, null, select, update

from promptlift.schema.limits import WEBHOOK_DELAYS_SECONDS
from promptlift.service import clock
from promptlift.service.identifiers import new_id
from promptlift.service.store.leases import Leases, Wait
from promptlift.service.store.tables import deliveries, events, webhooks
from promptlift.service.store.wake_ups import announce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from promptlift.schema.events import EventKind
    from promptlift.schema.webhooks import WebhookStatus
    from promptlift.service.store.tables import AnyRow

_PENDING = deliveries.c.status == "pending"
_DELAY = case(
    {failed: seconds * clock.SECOND for failed, seconds in enumerate(WEBHOOK_DELAYS_SECONDS)},
    value=deliveries.c.attempts,
)
_WRITE = insert(deliveries)
_NUMBER = (
    update(deliveries).where(deliveries.c.id == bindparam("delivery_id")).values(sequence=bindparam("number"))
)
_DELIVERED = (
    update(deliveries)
    .where(deliveries.c.id == bindparam("delivery_id"))
    .values(
        status="delivered",
        attempts=deliveries.c.attempts + 1,
        attempted_at=bindparam("at"),
        delivered_at=bindparam("at"),
        status_code=bindparam("code"),
        problem=null(),
    )
)


def leases(*, key_id: str) -> Leases:
    """Return the leases of webhooks that have a delivery due.

    Parameters
    ----------
    key_id
        Only webhooks whose secret is derived from this key: without it nobody can sign.
    """
    first_due = select(func.min(deliveries.c.due_at)).where(
        deliveries.c.webhook_id == webhooks.c.id, _PENDING
    )
    at_work = (webhooks.c.status == "active") & (webhooks.c.key_id == key_id)
    return Leases(
        webhooks,
        at_work,
        due=cast("ColumnElement[int]", first_due.scalar_subquery()),
        wait=Wait(deliveries.c.due_at, _DELAY, _PENDING),
    )


# Webhooks


def add(connection: Connection, values: dict[str, Any]) -> None:
    """Add a webhook."""
    kinds = orjson.dumps(values["events"]).decode()
    connection.execute(insert(webhooks).values(**{**values, "events": kinds}))


def subscribed_kinds(row: AnyRow) -> list[EventKind]:
    """Return the event kinds that a webhook subscribes to."""
    return list(orjson.loads(row.events))


def find(connection: Connection, account_id: str, webhook_id: str) -> AnyRow | None:
    """Return a webhook of the account; ``None`` when there is none of this id."""
    return connection.execute(
        select(webhooks).where(webhooks.c.account_id == account_id, webhooks.c.id == webhook_id)
    ).one_or_none()


def listed(connection: Connection, account_id: str) -> Sequence[AnyRow]:
    """Return the webhooks of an account, newest first."""
    return connection.execute(
        select(webhooks).where(webhooks.c.account_id == account_id).order_by(webhooks.c.seq.desc())
    ).all()


def count(connection: Connection, account_id: str) -> int:
    """Count the webhooks of an account."""
    found = select(func.count()).select_from(webhooks).where(webhooks.c.account_id == account_id)
    return int(connection.scalar(found) or 0)


def count_with_other_keys(connection: Connection, key_id: str) -> int:
    """Count the webhooks that have a secret that is derived from another key."""
    found = select(func.count()).select_from(webhooks).where(webhooks.c.key_id != key_id)
    return int(connection.scalar(found) or 0)


def remove(connection: Connection, account_id: str, webhook_id: str) -> bool:
    """Delete a webhook with its deliveries; False when there is none of this id."""
    which = (webhooks.c.account_id == account_id, webhooks.c.id == webhook_id)
    if not connection.execute(delete(webhooks).where(*which)).rowcount:
        return False
    connection.execute(delete(deliveries).where(deliveries.c.webhook_id == webhook_id))
    return True


def resume(connection: Connection, webhook_id: str, *, now: int) -> None:
    """Make a failing webhook active again; what was not delivered begins anew, now."""
    connection.execute(
        update(webhooks).where(webhooks.c.id == webhook_id).values(status="active", worker=None)
    )
    connection.execute(
        update(deliveries)
        .where(deliveries.c.webhook_id == webhook_id, deliveries.c.status.in_(("pending", "failed")))
        .values(status="pending", attempts=0, due_at=now)
    )
    announce(connection, webhooks)


# Deliveries


def enqueue(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Put events on their way to the webhooks that subscribe to them; failing ones get them when they are resumed.

    Parameters
    ----------
    rows
        Events as they are written, in their order.
    """
    accounts = {row["account_id"] for row in rows}
    subscribers = connection.execute(
        select(webhooks.c.id, webhooks.c.account_id, webhooks.c.events)
        .where(webhooks.c.account_id.in_(accounts))
        .order_by(webhooks.c.seq)
    ).all()
    if not subscribers:
        return
    wanted = [(one.id, one.account_id, set(subscribed_kinds(one))) for one in subscribers]
    made = [
        {
            "id": new_id("dlv"),
            "account_id": account_id,
            "webhook_id": webhook_id,
            "event_id": row["id"],
            "status": "pending",
            "attempts": 0,
            "due_at": row["created_at"],
            "created_at": row["created_at"],
        }
        for row in rows
        for webhook_id, account_id, kinds in wanted
        if account_id == row["account_id"] and row["type"] in kinds
    ]
    if made:
        connection.execute(_WRITE, made)
        announce(connection, webhooks)


def number(connection: Connection, webhook: AnyRow, ids: Sequence[str]) -> dict[str, int]:
    """Give deliveries the next numbers of their webhook, whose row is locked, in this order."""
    numbers = {one: webhook.last_sequence + place for place, one in enumerate(ids, 1)}
    connection.execute(_NUMBER, [{"delivery_id": one, "number": number} for one, number in numbers.items()])
    last = webhook.last_sequence + len(ids)
    connection.execute(update(webhooks).where(webhooks.c.id == webhook.id).values(last_sequence=last))
    return numbers


def due(connection: Connection, webhook_id: str, *, now: int, limit: int) -> Sequence[AnyRow]:
    """Return deliveries of a webhook that are due, in the order of their events, with the events."""
    # Chosen by an index alone: a long backlog is sorted for each batch, and its events must not be read for that.
    chosen = (
        select(deliveries.c.seq)
        .where(deliveries.c.webhook_id == webhook_id, _PENDING, deliveries.c.due_at <= now)
        .order_by(deliveries.c.seq)
        .limit(limit)
        .subquery()
    )
    return connection.execute(
        select(
            deliveries.c.id,
            deliveries.c.attempts,
            deliveries.c.sequence,
            deliveries.c.event_id,
            events.c.type,
            events.c.data,
            events.c.created_at,
        )
        .select_from(chosen.join(deliveries, deliveries.c.seq == chosen.c.seq))
        .join(events, events.c.id == deliveries.c.event_id)
        .order_by(deliveries.c.seq)
    ).all()


def of_worker(connection: Connection, webhook_id: str, worker: str, *, keep: bool = False) -> AnyRow | None:
    """Return a webhook if this worker still delivers to it.

    Parameters
    ----------
    keep
        Whether to lock the webhook for this transaction.
    """
    found = select(webhooks).where(
        webhooks.c.id == webhook_id,
        webhooks.c.worker == worker,
        webhooks.c.status == "active",
    )
    return connection.execute(found.with_for_update() if keep else found).one_or_none()


def record_delivered(connection: Connection, accepted: Sequence[tuple[str, int | None, int]]) -> None:
    """Keep that deliveries were accepted: the id of each, the status of the answer, and when it came."""
    if accepted:
        rows = [{"delivery_id": one, "code": code, "at": at} for one, code, at in accepted]
        connection.execute(_DELIVERED, rows)


def record(connection: Connection, delivery_id: str, **values: Any) -> None:
    """Keep what came of an attempt that failed."""
    connection.execute(update(deliveries).where(deliveries.c.id == delivery_id).values(**values))


def set_status(connection: Connection, webhook_id: str, status: WebhookStatus) -> None:
    """Set the status of a webhook; nobody has it after that."""
    connection.execute(update(webhooks).where(webhooks.c.id == webhook_id).values(status=status, worker=None))


def page(connection: Connection, webhook_id: str, *, limit: int, offset: int) -> tuple[Sequence[AnyRow], int]:
    """Return deliveries of a webhook, newest first, and how many there are."""
    which = deliveries.c.webhook_id == webhook_id
    total = connection.scalar(select(func.count()).select_from(deliveries).where(which))
    rows = connection.execute(
        select(deliveries, events.c.type)
        .join(events, events.c.id == deliveries.c.event_id)
        .where(which)
        .order_by(deliveries.c.seq.desc())
        .limit(limit)
        .offset(offset)
    ).all()
    return rows, int(total or 0)


# Trimming

KEPT_DELIVERED = 30 * clock.DAY
KEPT_UNSUBSCRIBED = 7 * clock.DAY


def trimmable_events(connection: Connection, *, now: int, limit: int) -> list[str]:
    """Return the ids of events that nobody needs any more, the oldest first.

    Events that were sent to webhooks stay for 30 days, and until they are delivered unless the webhook is failing.
    Events that nobody had subscribed to stay for 7 days. The newest event always stays: its number is not given again.
    """
    of_event = deliveries.c.event_id == events.c.id
    is_active = exists().where(webhooks.c.id == deliveries.c.webhook_id, webhooks.c.status == "active")
    subscribed = exists().where(of_event)
    on_its_way = exists().where(of_event, _PENDING, is_active)
    old = select(events.c.id).where(
        events.c.created_at < now - KEPT_UNSUBSCRIBED,
        events.c.seq < select(func.max(events.c.seq)).scalar_subquery(),
        ~subscribed | ((events.c.created_at < now - KEPT_DELIVERED) & ~on_its_way),
    )
    return list(connection.scalars(old.order_by(events.c.seq).limit(limit)))


def drop_events(connection: Connection, ids: Sequence[str]) -> None:
    """Delete events with their deliveries."""
    connection.execute(delete(deliveries).where(deliveries.c.event_id.in_(ids)))
    connection.execute(delete(events).where(events.c.id.in_(ids)))


def drop_orphans(connection: Connection) -> None:
    """Delete deliveries to webhooks that were deleted while their events were written."""
    gone = deliveries.c.webhook_id.not_in(select(webhooks.c.id))
    connection.execute(delete(deliveries).where(gone))
