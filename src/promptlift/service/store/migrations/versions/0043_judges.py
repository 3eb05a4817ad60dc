"""Judges of one's own, their runs and their verdicts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _account(table: str) -> tuple[sa.Column[str], sa.ForeignKeyConstraint]:
    name = op.f(f"fk_{table}_account_id_accounts")
    return (
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=name),
    )


def _judge(table: str) -> tuple[sa.Column[str], sa.ForeignKeyConstraint]:
    name = op.f(f"fk_{table}_judge_row_id_judges")
    return (
        sa.Column("judge_row_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["judge_row_id"], ["judges.id"], name=name),
    )


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "judges",
        sa.Column("seq", _SEQUENCE, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        *_account("judges"),
        sa.Column("judge_id", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("rubric", sa.Text(), nullable=True),
        sa.Column("examples", sa.Text(), nullable=False),
        sa.Column("llm_model", sa.Text(), nullable=True),
        sa.Column("origin", sa.String(length=10), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_judges")),
        sa.UniqueConstraint("id", name=op.f("uq_judges_id")),
    )
    op.create_index("ix_judges_account_id_name_seq", "judges", ["account_id", "name", "seq"])
    op.create_index("uq_judges_judge_id_version", "judges", ["judge_id", "version"], unique=True)
    op.create_table(
        "judge_runs",
        sa.Column("seq", _SEQUENCE, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        *_account("judge_runs"),
        *_judge("judge_runs"),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("stop_reason", sa.Text(), nullable=True),
        *(
            sa.Column(name, sa.BigInteger(), nullable=False)
            for name in ("total", "model_calls", "tokens", "input_tokens", "output_tokens")
        ),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("completed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_judge_runs")),
        sa.UniqueConstraint("id", name=op.f("uq_judge_runs_id")),
    )
    op.create_index("ix_judge_runs_account_id_seq", "judge_runs", ["account_id", "seq"])
    op.create_index("ix_judge_runs_status", "judge_runs", ["status"])
    op.create_table(
        "judge_verdicts",
        *_account("judge_verdicts"),
        *_judge("judge_verdicts"),
        sa.Column("conversation_id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("verdict", sa.Boolean(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("analyser", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_judge_verdicts_conversation_id_conversations"),
        ),
        sa.PrimaryKeyConstraint("judge_row_id", "conversation_id", name=op.f("pk_judge_verdicts")),
    )
    op.create_index("ix_judge_verdicts_conversation_id", "judge_verdicts", ["conversation_id"])
    op.create_index("ix_judge_verdicts_run_id", "judge_verdicts", ["run_id"])
