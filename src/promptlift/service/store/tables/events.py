"""Events, webhooks, and the deliveries of events to webhooks."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from promptlift.schema.events import EventKind
from promptlift.service.store.rows import Base, Id, Json, Owned, Seq, Small, only


class EventRow(Owned, Base):
    """An event, written in the transaction of the change that it records."""

    __tablename__ = "events"
    __table_args__ = (Index("ix_events_account_id_seq", "account_id", "seq"),)

    type: Mapped[str]
    subject_id: Mapped[str] = mapped_column(index=True)
    # The payload as JSON: events are written as fast as conversations are logged.
    data: Mapped[str]
    created_at: Mapped[datetime]


class WebhookRow(Owned, Base):
    """A destination of events. Its secret is derived from the id and a key outside the database."""

    __tablename__ = "webhooks"
    __table_args__ = (
        Index("ix_webhooks_account_id_seq", "account_id", "seq"),
        Index("ix_webhooks_status", "status"),
    )

    url: Mapped[str]
    events: Mapped[list[EventKind]] = mapped_column(Json)
    description: Mapped[str | None]
    status: Mapped[str]
    # Id of the key from which the secret is derived.
    key_id: Mapped[str]
    # The `sequence` of the last event sent to it.
    last_sequence: Mapped[int] = mapped_column(server_default=text("0"))
    # The worker that delivers to it.
    worker: Mapped[str | None]
    created_at: Mapped[datetime]


class DeliveryRow(Base):
    """One event on its way to one webhook.

    No foreign keys: an event must not wait for a worker that has the webhook's row.
    """

    __tablename__ = "deliveries"
    __table_args__ = (
        Index("ix_deliveries_webhook_id_seq", "webhook_id", "seq"),
        Index("ix_deliveries_webhook_id_due_at", "webhook_id", "due_at", **only("status = 'pending'")),
    )

    seq: Mapped[Seq]
    id: Mapped[Id]
    account_id: Mapped[str]
    webhook_id: Mapped[str]
    event_id: Mapped[str] = mapped_column(index=True)
    # pending, delivered or failed.
    status: Mapped[str]
    attempts: Mapped[Small]
    # Its position among the events of the webhook, from its first attempt on.
    sequence: Mapped[int | None]
    due_at: Mapped[int]
    attempted_at: Mapped[datetime | None]
    status_code: Mapped[Small | None]
    problem: Mapped[str | None]
    delivered_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    event: Mapped[EventRow] = relationship(
        primaryjoin="foreign(DeliveryRow.event_id) == EventRow.id",
        lazy="joined",
        innerjoin=True,
        viewonly=True,
    )
