"""An index of the conversations that could not be judged."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_index(
        "ix_conversations_account_id_prompt_id_judging",
        "conversations",
        ["account_id", "prompt_id", "judging"],
        unique=False,
        sqlite_where=sa.text("judge_problem IS NOT NULL"),
        postgresql_where=sa.text("judge_problem IS NOT NULL"),
    )


def downgrade() -> None:
    """Bring the tables back to the version before."""
    op.drop_index("ix_conversations_account_id_prompt_id_judging", table_name="conversations")
