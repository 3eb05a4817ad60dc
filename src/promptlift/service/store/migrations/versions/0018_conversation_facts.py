"""Facts about a conversation beside its content: metadata, title, tokens, cost, latency and tools."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    # Not as a batch: SQLite's would copy the table.
    for name in ("title", "metadata"):
        op.add_column("conversations", sa.Column(name, sa.Text(), nullable=True))
    for name in ("input_tokens", "output_tokens", "tool_calls", "tool_errors"):
        op.add_column("conversations", sa.Column(name, sa.BigInteger(), nullable=True))
    for name in ("cost", "latency_ms"):
        op.add_column("conversations", sa.Column(name, sa.Float(), nullable=True))
