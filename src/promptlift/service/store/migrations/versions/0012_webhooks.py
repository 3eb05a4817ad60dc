"""Webhooks and deliveries; events are found by account in their order."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_PENDING = sa.text("status = 'pending'")


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "webhooks",
        sa.Column("seq", _SEQUENCE, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("key_id", sa.String(length=16), nullable=False),
        sa.Column("slow", sa.Boolean(), nullable=False),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_webhooks_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_webhooks")),
        sa.UniqueConstraint("id", name=op.f("uq_webhooks_id")),
    )
    op.create_index("ix_webhooks_account_id_seq", "webhooks", ["account_id", "seq"])
    op.create_index("ix_webhooks_status", "webhooks", ["status"])
    op.create_table(
        "deliveries",
        sa.Column("seq", _SEQUENCE, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("webhook_id", sa.String(length=64), nullable=False),
        sa.Column("event_id", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("attempted_at", sa.BigInteger(), nullable=True),
        sa.Column("status_code", sa.Integer(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("delivered_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("id", name=op.f("uq_deliveries_id")),
    )
    op.create_index("ix_deliveries_event_id", "deliveries", ["event_id"])
    op.create_index("ix_deliveries_webhook_id_seq", "deliveries", ["webhook_id", "seq"])
    op.create_index(
        "ix_deliveries_webhook_id_due_at",
        "deliveries",
        ["webhook_id", "due_at"],
        sqlite_where=_PENDING,
        postgresql_where=_PENDING,
    )
    op.create_index("ix_events_account_id_seq", "events", ["account_id", "seq"])
    op.drop_index("ix_events_account_id", "events")
