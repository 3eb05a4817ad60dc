"""Optimizations, their variants and simulated conversations, personas and deployments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "personas",
        sa.Column(
            "seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_personas_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_personas")),
        sa.UniqueConstraint("id", name=op.f("uq_personas_id")),
    )
    with op.batch_alter_table("personas", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_personas_account_id"), ["account_id"], unique=False)

    op.create_table(
        "optimizations",
        sa.Column(
            "seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("prompt_id", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("mode", sa.String(length=20), nullable=False),
        sa.Column("variant_count", sa.Integer(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=True),
        sa.Column("persona_ids", sa.Text(), nullable=True),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("rehearsal", sa.Boolean(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=True),
        sa.Column("experiment", sa.Text(), nullable=True),
        sa.Column("results", sa.Text(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("stop_reason", sa.Text(), nullable=True),
        sa.Column("model_calls", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("completed_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_optimizations_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["prompt_id"], ["prompts.id"], name=op.f("fk_optimizations_prompt_id_prompts")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_optimizations")),
        sa.UniqueConstraint("id", name=op.f("uq_optimizations_id")),
    )
    with op.batch_alter_table("optimizations", schema=None) as batch_op:
        batch_op.create_index("ix_optimizations_account_id_seq", ["account_id", "seq"], unique=False)
        batch_op.create_index("ix_optimizations_prompt_id_seq", ["prompt_id", "seq"], unique=False)
        batch_op.create_index("ix_optimizations_status", ["status"], unique=False)

    op.create_table(
        "deployments",
        sa.Column(
            "seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("prompt_id", sa.String(length=64), nullable=False),
        sa.Column("optimization_id", sa.String(length=64), nullable=False),
        sa.Column("variant_id", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("origin", sa.String(length=20), nullable=False),
        sa.Column("regression", sa.Text(), nullable=True),
        sa.Column("production", sa.Text(), nullable=True),
        sa.Column("verification", sa.String(length=20), nullable=True),
        sa.Column("checked", sa.Integer(), nullable=False),
        sa.Column("version_seq", sa.BigInteger(), nullable=True),
        sa.Column("previous_version_seq", sa.BigInteger(), nullable=True),
        sa.Column("applied_at", sa.BigInteger(), nullable=True),
        sa.Column("rolled_back_at", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_deployments_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["optimization_id"],
            ["optimizations.id"],
            name=op.f("fk_deployments_optimization_id_optimizations"),
        ),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_deployments_prompt_id_prompts")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_deployments")),
        sa.UniqueConstraint("id", name=op.f("uq_deployments_id")),
    )
    with op.batch_alter_table("deployments", schema=None) as batch_op:
        batch_op.create_index("ix_deployments_optimization_id_seq", ["optimization_id", "seq"], unique=False)
        batch_op.create_index("ix_deployments_prompt_id_seq", ["prompt_id", "seq"], unique=False)
        batch_op.create_index("ix_deployments_state", ["state"], unique=False)

    op.create_table(
        "optimization_cells",
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("optimization_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("pass", sa.Integer(), nullable=False),
        sa.Column("stage", sa.String(length=10), nullable=False),
        sa.Column("persona", sa.Text(), nullable=False),
        sa.Column("scenario", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_optimization_cells_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["optimization_id"],
            ["optimizations.id"],
            name=op.f("fk_optimization_cells_optimization_id_optimizations"),
        ),
        sa.PrimaryKeyConstraint("optimization_id", "number", name=op.f("pk_optimization_cells")),
    )
    op.create_table(
        "optimization_variants",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("optimization_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("rationale", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_optimization_variants_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["optimization_id"],
            ["optimizations.id"],
            name=op.f("fk_optimization_variants_optimization_id_optimizations"),
        ),
        sa.PrimaryKeyConstraint("optimization_id", "number", name=op.f("pk_optimization_variants")),
        sa.UniqueConstraint("id", name=op.f("uq_optimization_variants_id")),
    )
    op.create_table(
        "simulations",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("optimization_id", sa.String(length=64), nullable=False),
        sa.Column("cell", sa.Integer(), nullable=False),
        sa.Column("arm", sa.Integer(), nullable=False),
        sa.Column("pass", sa.Integer(), nullable=False),
        sa.Column("stage", sa.String(length=10), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("task_completed", sa.Boolean(), nullable=True),
        sa.Column("sentiment", sa.String(length=10), nullable=True),
        sa.Column("sentiment_score", sa.Float(), nullable=True),
        sa.Column("quality", sa.Float(), nullable=True),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("ended_by", sa.String(length=10), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_simulations_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["optimization_id"],
            ["optimizations.id"],
            name=op.f("fk_simulations_optimization_id_optimizations"),
        ),
        sa.PrimaryKeyConstraint("optimization_id", "cell", "arm", name=op.f("pk_simulations")),
        sa.UniqueConstraint("id", name=op.f("uq_simulations_id")),
    )
    with op.batch_alter_table("prompt_versions", schema=None) as batch_op:
        batch_op.add_column(sa.Column("optimization_id", sa.String(length=64), nullable=True))
        batch_op.add_column(sa.Column("variant_id", sa.String(length=64), nullable=True))


def downgrade() -> None:
    """Bring the tables back to the version before."""
    with op.batch_alter_table("prompt_versions", schema=None) as batch_op:
        batch_op.drop_column("variant_id")
        batch_op.drop_column("optimization_id")

    op.drop_table("simulations")
    op.drop_table("optimization_variants")
    op.drop_table("optimization_cells")
    with op.batch_alter_table("deployments", schema=None) as batch_op:
        batch_op.drop_index("ix_deployments_state")
        batch_op.drop_index("ix_deployments_prompt_id_seq")
        batch_op.drop_index("ix_deployments_optimization_id_seq")

    op.drop_table("deployments")
    with op.batch_alter_table("optimizations", schema=None) as batch_op:
        batch_op.drop_index("ix_optimizations_status")
        batch_op.drop_index("ix_optimizations_prompt_id_seq")
        batch_op.drop_index("ix_optimizations_account_id_seq")

    op.drop_table("optimizations")
    with op.batch_alter_table("personas", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_personas_account_id"))

    op.drop_table("personas")
