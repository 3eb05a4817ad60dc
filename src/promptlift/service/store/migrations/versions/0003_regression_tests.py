"""Who runs the regression test of a deployment."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    with op.batch_alter_table("deployments", schema=None) as batch_op:
        batch_op.add_column(sa.Column("worker", sa.String(length=100), nullable=True))
        batch_op.add_column(sa.Column("lease_until", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Bring the tables back to the version before."""
    with op.batch_alter_table("deployments", schema=None) as batch_op:
        batch_op.drop_column("lease_until")
        batch_op.drop_column("worker")
