"""The tables of events and webhooks."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, String, Table, Text, text

from promptlift.service.store.tables.columns import ID, account, metadata, numbered, only

# An outbox: written in the transaction of the change that they record.
events = Table(
    "events",
    metadata,
    *numbered(),
    account(),
    Column("type", String(40), nullable=False),
    Column("subject_id", ID, nullable=False, index=True),
    Column("data", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_events_account_id_seq", "account_id", "seq"),
)

# Where events are sent. The secret is not here: it is derived from the id and a key that lies outside the database.
webhooks = Table(
    "webhooks",
    metadata,
    *numbered(),
    account(),
    Column("url", Text, nullable=False),
    Column("events", Text, nullable=False),
    Column("description", Text),
    Column("status", String(10), nullable=False),
    # Which key the secret is derived from.
    Column("key_id", String(16), nullable=False),
    # Whether the last attempt took long: others do not wait behind it.
    Column("slow", Boolean, nullable=False),
    # The `sequence` of the last event that was sent to it.
    Column("last_sequence", BigInteger, nullable=False, server_default=text("0")),
    # The worker that delivers to it.
    Column("worker", String(100)),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_webhooks_account_id_seq", "account_id", "seq"),
    Index("ix_webhooks_status", "status"),
)

# One event on its way to one webhook. No foreign keys: an event must not wait for a worker that has the webhook's row.
deliveries = Table(
    "deliveries",
    metadata,
    *numbered(),
    Column("account_id", ID, nullable=False),
    Column("webhook_id", ID, nullable=False),
    Column("event_id", ID, nullable=False, index=True),
    # pending, delivered or failed.
    Column("status", String(10), nullable=False),
    Column("attempts", Integer, nullable=False),
    # Its place among the events of the webhook, from its first attempt on.
    Column("sequence", BigInteger),
    Column("due_at", BigInteger, nullable=False),
    Column("attempted_at", BigInteger),
    Column("status_code", Integer),
    Column("problem", Text),
    Column("delivered_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_deliveries_webhook_id_seq", "webhook_id", "seq"),
    Index(
        "ix_deliveries_webhook_id_due_at",
        *("webhook_id", "due_at"),
        **only("status = 'pending'"),
    ),
)
