"""Whether each simulated conversation met the targets of its optimization."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    # Not as a batch: SQLite's would copy the table.
    op.add_column("simulations", sa.Column("criteria", sa.Text(), nullable=True))
