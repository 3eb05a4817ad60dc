"""The search of optimizations: headroom, its state, and what went wrong in simulated conversations."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    # Not as a batch: SQLite's would copy the table.
    for name in ("headroom", "search"):
        op.add_column("optimizations", sa.Column(name, sa.Text(), nullable=True))
    op.add_column("simulations", sa.Column("issues", sa.Text(), nullable=True))
