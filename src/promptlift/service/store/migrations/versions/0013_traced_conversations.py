"""Conversations that spans of instrumented applications tell of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_OPEN = sa.text("close_at IS NOT NULL")


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "traced_conversations",
        sa.Column("seq", _SEQUENCE, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("prompt_id", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=True),
        sa.Column("tail", sa.String(length=64), nullable=True),
        sa.Column("close_at", sa.BigInteger(), nullable=True),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("conversation_id", sa.String(length=64), nullable=True),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_traced_conversations_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["prompt_id"], ["prompts.id"], name=op.f("fk_traced_conversations_prompt_id_prompts")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_traced_conversations")),
        sa.UniqueConstraint("id", name=op.f("uq_traced_conversations_id")),
    )
    op.create_index(
        "uq_traced_conversations_key", "traced_conversations", ["account_id", "prompt_id", "key"], unique=True
    )
    op.create_index(
        "ix_traced_conversations_tail", "traced_conversations", ["account_id", "prompt_id", "tail"]
    )
    op.create_index(
        "ix_traced_conversations_close_at",
        "traced_conversations",
        ["close_at"],
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    )
    op.create_index(op.f("ix_traced_conversations_changed_at"), "traced_conversations", ["changed_at"])
    op.create_table(
        "traced_calls",
        sa.Column("seq", _SEQUENCE, autoincrement=True, nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("traced_id", sa.String(length=64), nullable=False),
        sa.Column("span_id", sa.String(length=48), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_traced_calls_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["traced_id"],
            ["traced_conversations.id"],
            name=op.f("fk_traced_calls_traced_id_traced_conversations"),
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_traced_calls")),
    )
    op.create_index(op.f("ix_traced_calls_traced_id"), "traced_calls", ["traced_id"])
    op.create_index("uq_traced_calls_span_id", "traced_calls", ["account_id", "span_id"], unique=True)


def downgrade() -> None:
    """Bring the tables back to the version before."""
    op.drop_table("traced_calls")
    op.drop_table("traced_conversations")
