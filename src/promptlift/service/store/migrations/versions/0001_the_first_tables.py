"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("plan", sa.String(length=20), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("prefix", sa.String(length=20), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_api_keys_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_keys_hash")),
    )
    with op.batch_alter_table("api_keys", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_api_keys_account_id"), ["account_id"], unique=False)

    op.create_table(
        "events",
        sa.Column(
            "seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("type", sa.String(length=40), nullable=False),
        sa.Column("subject_id", sa.String(length=64), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_events_account_id_accounts")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_events")),
        sa.UniqueConstraint("id", name=op.f("uq_events_id")),
    )
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_events_account_id"), ["account_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_events_subject_id"), ["subject_id"], unique=False)

    op.create_table(
        "prompts",
        sa.Column(
            "seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("llm_model", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("temperature", sa.Float(), nullable=True),
        sa.Column("max_tokens", sa.Integer(), nullable=True),
        sa.Column("objective", sa.Text(), nullable=True),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_prompts_account_id_accounts")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_prompts")),
        sa.UniqueConstraint("id", name=op.f("uq_prompts_id")),
    )
    with op.batch_alter_table("prompts", schema=None) as batch_op:
        batch_op.create_index("ix_prompts_account_id_seq", ["account_id", "seq"], unique=False)

    op.create_table(
        "rate_windows",
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("window", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_rate_windows_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_rate_windows")),
    )
    op.create_table(
        "usage_counters",
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("period_start", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_usage_counters_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("account_id", "period_start", "kind", name=op.f("pk_usage_counters")),
    )
    op.create_table(
        "conversations",
        sa.Column(
            "seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("prompt_id", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("llm_model", sa.Text(), nullable=True),
        sa.Column("company_name", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.Column("message_count", sa.Integer(), nullable=False),
        sa.Column("user_turns", sa.Integer(), nullable=False),
        sa.Column("response_seconds", sa.Float(), nullable=True),
        sa.Column("has_insights", sa.Boolean(), nullable=False),
        sa.Column("judging", sa.String(length=10), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("claimed_by", sa.String(length=100), nullable=True),
        sa.Column("judge_after", sa.BigInteger(), nullable=False),
        sa.Column("judge_attempts", sa.Integer(), nullable=False),
        sa.Column("judge_problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_conversations_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["prompt_id"], ["prompts.id"], name=op.f("fk_conversations_prompt_id_prompts")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_conversations")),
        sa.UniqueConstraint("id", name=op.f("uq_conversations_id")),
    )
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.create_index(
            "ix_conversations_account_id_prompt_id_seq", ["account_id", "prompt_id", "seq"], unique=False
        )
        batch_op.create_index(
            "ix_conversations_account_id_prompt_id_started_at",
            ["account_id", "prompt_id", "started_at"],
            unique=False,
        )
        batch_op.create_index("ix_conversations_account_id_seq", ["account_id", "seq"], unique=False)
        batch_op.create_index(
            "ix_conversations_judging",
            ["judging", "judge_after"],
            unique=False,
            sqlite_where=sa.text("judging IN ('pending', 'claimed')"),
            postgresql_where=sa.text("judging IN ('pending', 'claimed')"),
        )

    op.create_table(
        "prompt_versions",
        sa.Column(
            "seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("prompt_id", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("origin", sa.String(length=20), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_prompt_versions_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["prompt_id"], ["prompts.id"], name=op.f("fk_prompt_versions_prompt_id_prompts")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_prompt_versions")),
    )
    with op.batch_alter_table("prompt_versions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_prompt_versions_prompt_id"), ["prompt_id"], unique=False)

    op.create_table(
        "conversation_contents",
        sa.Column("conversation_id", sa.String(length=64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_conversation_contents_conversation_id_conversations"),
        ),
        sa.PrimaryKeyConstraint("conversation_id", name=op.f("pk_conversation_contents")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_idempotency_keys_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_idempotency_keys_conversation_id_conversations"),
        ),
        sa.PrimaryKeyConstraint("account_id", "key", name=op.f("pk_idempotency_keys")),
    )
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idempotency_keys_expires_at"), ["expires_at"], unique=False)

    op.create_table(
        "insights",
        sa.Column("conversation_id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("sentiment", sa.String(length=10), nullable=False),
        sa.Column("sentiment_score", sa.Float(), nullable=False),
        sa.Column("task_completed", sa.Boolean(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_insights_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("fk_insights_conversation_id_conversations")
        ),
        sa.PrimaryKeyConstraint("conversation_id", name=op.f("pk_insights")),
        sa.UniqueConstraint("id", name=op.f("uq_insights_id")),
    )


def downgrade() -> None:
    """Bring the tables back to the version before."""
    op.drop_table("insights")
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idempotency_keys_expires_at"))

    op.drop_table("idempotency_keys")
    op.drop_table("conversation_contents")
    with op.batch_alter_table("prompt_versions", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_prompt_versions_prompt_id"))

    op.drop_table("prompt_versions")
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.drop_index(
            "ix_conversations_judging",
            sqlite_where=sa.text("judging IN ('pending', 'claimed')"),
            postgresql_where=sa.text("judging IN ('pending', 'claimed')"),
        )
        batch_op.drop_index("ix_conversations_account_id_seq")
        batch_op.drop_index("ix_conversations_account_id_prompt_id_started_at")
        batch_op.drop_index("ix_conversations_account_id_prompt_id_seq")

    op.drop_table("conversations")
    op.drop_table("usage_counters")
    op.drop_table("rate_windows")
    with op.batch_alter_table("prompts", schema=None) as batch_op:
        batch_op.drop_index("ix_prompts_account_id_seq")

    op.drop_table("prompts")
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_events_subject_id"))
        batch_op.drop_index(batch_op.f("ix_events_account_id"))

    op.drop_table("events")
    with op.batch_alter_table("api_keys", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_api_keys_account_id"))

    op.drop_table("api_keys")
    op.drop_table("accounts")
