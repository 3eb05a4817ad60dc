"""Rename the column ``pass``, which is a keyword of Python."""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    # Not as a batch: SQLite's would copy the tables.
    for name in ("optimization_cells", "simulations"):
        op.execute(f"ALTER TABLE {name} RENAME COLUMN pass TO pass_number")
