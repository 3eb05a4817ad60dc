"""The ids that conversations have at their source, and how their content is recognised."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    # Not as a batch: that would copy the whole table on SQLite.
    op.add_column("conversations", sa.Column("source_id", sa.Text(), nullable=True))
    op.add_column("conversations", sa.Column("content_hash", sa.String(length=64), nullable=True))
    op.create_index(
        "ix_conversations_account_id_prompt_id_source_id",
        "conversations",
        ["account_id", "prompt_id", "source_id"],
        unique=False,
        sqlite_where=sa.text("source_id IS NOT NULL"),
        postgresql_where=sa.text("source_id IS NOT NULL"),
    )


def downgrade() -> None:
    """Bring the tables back to the version before."""
    op.drop_index("ix_conversations_account_id_prompt_id_source_id", table_name="conversations")
    op.drop_column("conversations", "content_hash")
    op.drop_column("conversations", "source_id")
