"""The search of optimizations: headroom, its state, and where each candidate comes from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    # Not as a batch: SQLite's would copy the table.
    for name in ("headroom", "search"):
        op.add_column("optimizations", sa.Column(name, sa.Text(), nullable=True))
    for name in ("generation", "parent", "other_parent"):
        op.add_column("optimization_variants", sa.Column(name, sa.Integer(), nullable=True))
    op.add_column("optimization_variants", sa.Column("edits", sa.Text(), nullable=True))
