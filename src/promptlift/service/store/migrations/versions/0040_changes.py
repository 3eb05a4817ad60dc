"""When conversations changed, and which are no longer there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    # Not as a batch: SQLite's would copy the table.
    op.add_column(
        "conversations", sa.Column("updated_at", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
    )
    if op.get_bind().dialect.name == "postgresql":  # where it was built without lz4, nothing changes
        op.execute(
            "DO $$ BEGIN EXECUTE 'ALTER TABLE conversation_contents ALTER COLUMN content SET COMPRESSION lz4'; "
            "EXCEPTION WHEN OTHERS THEN NULL; END $$"
        )
    op.add_column(
        "accounts", sa.Column("exclusions_at", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
    )
    op.execute("UPDATE conversations SET updated_at = created_at")
    op.create_index(
        op.f("ix_conversations_account_id_updated_at"),
        "conversations",
        ["account_id", "updated_at", "prompt_id", "seq"],
    )
    op.create_table(
        "deleted_conversations",
        sa.Column(
            "seq",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        *(
            sa.Column(name, sa.String(length=64), nullable=False)
            for name in ("id", "account_id", "prompt_id")
        ),
        sa.Column("deleted_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_deleted_conversations_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_deleted_conversations")),
        sa.UniqueConstraint("id", name=op.f("uq_deleted_conversations_id")),
    )
    op.create_index(
        op.f("ix_deleted_conversations_account_id_deleted_at"),
        "deleted_conversations",
        ["account_id", "deleted_at"],
    )
