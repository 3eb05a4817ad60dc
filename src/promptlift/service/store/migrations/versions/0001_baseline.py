"""The tables of the first release: a new database gets them, and is stamped with the newest version."""

from __future__ import annotations

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing to do: no database is older."""
