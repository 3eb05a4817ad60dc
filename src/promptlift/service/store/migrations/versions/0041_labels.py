"""What people say of conversations."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "labels",
        sa.Column(
            "seq",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        *(
            sa.Column(name, sa.String(length=64), nullable=False)
            for name in ("id", "account_id", "prompt_id", "conversation_id")
        ),
        sa.Column("optimization_id", sa.String(length=64), nullable=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("question", "labeller", "value")),
        sa.Column("chance", sa.Float(), nullable=True),
        sa.Column("draw_id", sa.Text(), nullable=True),
        sa.Column("labelled_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_labels")),
        sa.UniqueConstraint("account_id", "conversation_id", "question", "labeller", name="uq_labels_answer"),
        sa.UniqueConstraint("id", name=op.f("uq_labels_id")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_labels_account_id_accounts")),
    )
    op.create_index("ix_labels_account_id_seq", "labels", ["account_id", "seq"])
    op.create_index("ix_labels_account_id_prompt_id_seq", "labels", ["account_id", "prompt_id", "seq"])
    op.create_index("ix_labels_conversation_id", "labels", ["conversation_id"])
