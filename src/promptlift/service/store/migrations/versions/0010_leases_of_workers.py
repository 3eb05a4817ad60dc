"""Workers have leases, rows name their worker, and the tables of the job engine of before are dropped."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

SINGLETON_JOBS = ("watch_deployments", "clean_up")
# The job engine of before kept its tables beside ours on SQLite, and in a schema of its own on PostgreSQL. Those that
# refer to others come first.
_ENGINE_TABLES = (
    "workflow_events_history",
    "workflow_events",
    "workflow_input",
    "workflow_output",
    "workflow_schedules",
    "operation_outputs",
    "notifications",
    "streams",
    "event_dispatch_kv",
    "application_versions",
    "queues",
    "workflow_status",
    "dbos_migrations",
)


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    jobs = op.create_table(
        "singleton_jobs",
        sa.Column(
            "seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_singleton_jobs")),
        sa.UniqueConstraint("id", name=op.f("uq_singleton_jobs_id")),
    )
    op.bulk_insert(jobs, [{"id": name} for name in SINGLETON_JOBS])
    # Not in a batch: SQLite's would copy and drop tables that others refer to. Whoever had a row is gone.
    op.execute("UPDATE conversations SET judging = 'pending', claimed_by = NULL WHERE judging = 'claimed'")
    op.execute("ALTER TABLE conversations RENAME COLUMN claimed_by TO worker")
    for name in ("optimizations", "deployments"):
        op.execute(f"UPDATE {name} SET worker = NULL")  # noqa: S608 - names of our tables
        op.drop_column(name, "lease_until")
    _drop_engine_tables()


def _drop_engine_tables() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        op.execute("DROP SCHEMA IF EXISTS dbos CASCADE")
    elif "dbos_migrations" in sa.inspect(connection).get_table_names():
        for name in _ENGINE_TABLES:
            op.execute(f"DROP TABLE IF EXISTS {name}")


def downgrade() -> None:
    """Bring the tables back to the version before."""
    op.add_column("deployments", sa.Column("lease_until", sa.BigInteger(), nullable=True))
    op.add_column(
        "optimizations", sa.Column("lease_until", sa.BigInteger(), nullable=False, server_default="0")
    )
    op.execute("ALTER TABLE conversations RENAME COLUMN worker TO claimed_by")
    op.drop_table("singleton_jobs")
    op.drop_table("workers")
