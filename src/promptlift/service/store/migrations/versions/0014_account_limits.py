"""Limits of an account in place of those of its plan."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    op.add_column("accounts", sa.Column("limits", sa.Text(), nullable=False, server_default="{}"))
