"""What people think of variants, and what they did with them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "variant_reviews",
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("optimization_id", sa.String(length=64), nullable=False),
        sa.Column("variant_id", sa.String(length=64), nullable=False),
        sa.Column("verdict", sa.String(length=10), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_variant_reviews_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["optimization_id"],
            ["optimizations.id"],
            name=op.f("fk_variant_reviews_optimization_id_optimizations"),
        ),
        sa.PrimaryKeyConstraint("optimization_id", "variant_id", name=op.f("pk_variant_reviews")),
    )
    op.create_table(
        "actions",
        sa.Column(
            "seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("prompt_id", sa.String(length=64), nullable=False),
        sa.Column("optimization_id", sa.String(length=64), nullable=True),
        sa.Column("variant_id", sa.String(length=64), nullable=True),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("from_version_seq", sa.BigInteger(), nullable=True),
        sa.Column("to_version_seq", sa.BigInteger(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("undoes", sa.String(length=64), nullable=True),
        sa.Column("undone_by", sa.String(length=64), nullable=True),
        sa.Column("undone_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_actions_account_id_accounts")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_actions_prompt_id_prompts")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_actions")),
        sa.UniqueConstraint("id", name=op.f("uq_actions_id")),
    )
    with op.batch_alter_table("actions", schema=None) as batch_op:
        batch_op.create_index("ix_actions_account_id_seq", ["account_id", "seq"], unique=False)
        batch_op.create_index("ix_actions_prompt_id_seq", ["prompt_id", "seq"], unique=False)


def downgrade() -> None:
    """Bring the tables back to the version before."""
    op.drop_table("actions")
    op.drop_table("variant_reviews")
