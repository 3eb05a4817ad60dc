"""Scenario sets, benchmarks and their simulated conversations."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _account(table: str) -> tuple[sa.Column[str], sa.ForeignKeyConstraint]:
    name = op.f(f"fk_{table}_account_id_accounts")
    return (
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=name),
    )


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "scenario_sets",
        sa.Column("seq", _SEQUENCE, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        *_account("scenario_sets"),
        sa.Column("set_id", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source", sa.String(length=20), nullable=False),
        sa.Column("prompt_id", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("conversation_ids", sa.Text(), nullable=True),
        sa.Column("grows_from", sa.String(length=64), nullable=True),
        sa.Column("cells", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_scenario_sets")),
        sa.UniqueConstraint("id", name=op.f("uq_scenario_sets_id")),
    )
    op.create_index("ix_scenario_sets_account_id_seq", "scenario_sets", ["account_id", "seq"])
    op.create_index("uq_scenario_sets_set_id_version", "scenario_sets", ["set_id", "version"], unique=True)
    op.create_table(
        "benchmarks",
        sa.Column("seq", _SEQUENCE, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        *_account("benchmarks"),
        sa.Column("scenario_set_row_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("arms", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("prices", sa.Text(), nullable=False),
        sa.Column("objective", sa.Text(), nullable=True),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("rehearsal", sa.Boolean(), nullable=False),
        sa.Column("results", sa.Text(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("stop_reason", sa.Text(), nullable=True),
        sa.Column("model_calls", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("completed_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["scenario_set_row_id"],
            ["scenario_sets.id"],
            name=op.f("fk_benchmarks_scenario_set_row_id_scenario_sets"),
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_benchmarks")),
        sa.UniqueConstraint("id", name=op.f("uq_benchmarks_id")),
    )
    op.create_index("ix_benchmarks_account_id_seq", "benchmarks", ["account_id", "seq"])
    op.create_index("ix_benchmarks_status", "benchmarks", ["status"])
    op.create_table(
        "benchmark_conversations",
        sa.Column("id", sa.String(length=64), nullable=False),
        *_account("benchmark_conversations"),
        sa.Column("benchmark_id", sa.String(length=64), nullable=False),
        sa.Column("cell", sa.Integer(), nullable=False),
        sa.Column("arm", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("task_completed", sa.Boolean(), nullable=True),
        sa.Column("sentiment", sa.String(length=10), nullable=True),
        sa.Column("sentiment_score", sa.Float(), nullable=True),
        sa.Column("quality", sa.Float(), nullable=True),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("ended_by", sa.String(length=10), nullable=True),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("tokens_estimated", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["benchmark_id"],
            ["benchmarks.id"],
            name=op.f("fk_benchmark_conversations_benchmark_id_benchmarks"),
        ),
        sa.PrimaryKeyConstraint("benchmark_id", "cell", "arm", name=op.f("pk_benchmark_conversations")),
        sa.UniqueConstraint("id", name=op.f("uq_benchmark_conversations_id")),
    )
