"""Fewer characters of a key are kept in the clear."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    op.execute("UPDATE api_keys SET prefix = substr(prefix, 1, 8)")


def downgrade() -> None:
    """Bring the tables back to the version before: what was cut off is not known any more."""
