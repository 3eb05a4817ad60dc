"""The oldest tables that can be upgraded, those of the first release. New databases are not made here: see `schema`."""

from __future__ import annotations

revision = "0010"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing: an upgrade begins with these tables."""
