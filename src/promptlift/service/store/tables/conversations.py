"""The tables of conversations and their insights."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    text,
)

from promptlift.service.store.tables.columns import ID, account, integers, metadata, numbered, only, reference

conversations = Table(
    "conversations",
    metadata,
    *numbered(),
    account(),
    reference("prompts"),
    Column("status", String(20), nullable=False),
    Column("llm_model", Text),
    Column("company_name", Text),
    Column("idempotency_key", Text),
    # The conversation's id in the tool that it came from. Not unique: others may say the same of two.
    Column("source_id", Text),
    # SHA-256 of the content; only where there is a source id, by which its changes are recognised.
    Column("content_hash", String(64)),
    # What was logged beside the content, or what a structured content says of it. Metadata are a flat JSON object.
    Column("title", Text),
    Column("metadata", Text),
    *(Column(name, BigInteger) for name in ("input_tokens", "output_tokens", "tool_calls", "tool_errors")),
    *(Column(name, Float) for name in ("cost", "latency_ms")),
    *integers("created_at", "started_at", "ended_at"),
    # When it was logged, or when what a list says of it last changed: `changes.stamp`, not the time of the change alone.
    Column("updated_at", BigInteger, nullable=False, server_default=text("0")),
    Column("message_count", Integer, nullable=False),
    Column("user_turns", Integer, nullable=False),
    Column("response_seconds", Float),
    Column("has_insights", Boolean, nullable=False),
    # The state of its insights: pending, claimed, done or failed; `generation` counts how often they were asked for.
    Column("judging", String(10), nullable=False),
    Column("generation", Integer, nullable=False),
    # The worker that has it; only where it is claimed.
    Column("worker", String(100)),
    Column("judge_after", BigInteger, nullable=False),
    Column("judge_attempts", Integer, nullable=False),
    Column("judge_problem", Text),
    Index("ix_conversations_account_id_seq", "account_id", "seq"),
    Index("ix_conversations_account_id_prompt_id_seq", "account_id", "prompt_id", "seq"),
    # Lists with a filter: both columns fixed, a range of this index is the list in its order.
    Index(
        "ix_conversations_account_id_status_has_insights_seq", "account_id", "status", "has_insights", "seq"
    ),
    Index(
        "ix_conversations_account_id_prompt_id_status_has_insights_seq",
        *("account_id", "prompt_id", "status", "has_insights", "seq"),
    ),
    Index("ix_conversations_account_id_prompt_id_started_at", "account_id", "prompt_id", "started_at"),
    # What is new to a reader, also of one prompt, is counted and found in this index alone.
    Index("ix_conversations_account_id_updated_at", "account_id", "updated_at", "prompt_id", "seq"),
    # SQLite uses a partial index only where a term of the query is, word by word, a term of this condition.
    Index(
        "ix_conversations_account_id_prompt_id_source_id",
        "account_id",
        "prompt_id",
        "source_id",
        **only("source_id IS NOT NULL"),
    ),
    # What could not be judged is rare, and asked for with its reasons.
    Index(
        "ix_conversations_account_id_prompt_id_judging",
        *("account_id", "prompt_id", "judging"),
        **only("judge_problem IS NOT NULL"),
    ),
    Index(
        "ix_conversations_judging",
        "judging",
        "judge_after",
        **only("judging = 'pending' OR judging = 'claimed'"),
    ),
)

# Conversations that are no longer there, for readers that keep a copy.
deleted_conversations = Table(
    "deleted_conversations",
    metadata,
    *numbered(),
    account(),
    Column("prompt_id", ID, nullable=False),
    *integers("deleted_at"),
    Index("ix_deleted_conversations_account_id_deleted_at", "account_id", "deleted_at"),
)

# Apart from the row, so that lists and counts never read transcripts. Bytes, so that every character survives.
conversation_contents = Table(
    "conversation_contents",
    metadata,
    Column("conversation_id", ID, ForeignKey("conversations.id"), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    account(),
    Column("key", Text, nullable=False),
    Column("conversation_id", ID, ForeignKey("conversations.id"), nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
    PrimaryKeyConstraint("account_id", "key"),
)

insights = Table(
    "insights",
    metadata,
    Column("conversation_id", ID, ForeignKey("conversations.id"), primary_key=True),
    account(),
    Column("id", ID, nullable=False, unique=True),
    Column("generation", Integer, nullable=False),
    Column("sentiment", String(10), nullable=False),
    Column("sentiment_score", Float, nullable=False),
    Column("task_completed", Boolean, nullable=False),
    Column("document", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

# The group of each title of an issue, where a model named it. Titles are bytes: they can hold a NUL character.
issue_names = Table(
    "issue_names",
    metadata,
    account(),
    Column("issue", String(32), nullable=False),
    Column("title", LargeBinary, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("account_id", "issue"),
)
