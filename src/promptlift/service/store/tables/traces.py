"""The tables of conversations that spans of instrumented applications tell of."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, LargeBinary, String, Table, Text, text

from promptlift.service.store.tables.columns import ID, SEQUENCE, metadata

# Conversations that spans of applications tell of. What they told since the conversation was last closed is in the calls.
traced_conversations = Table(
    "traced_conversations",
    metadata,
    Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    Column("id", ID, nullable=False, unique=True),
    Column("account_id", ID, ForeignKey("accounts.id"), nullable=False),
    Column("prompt_id", ID, ForeignKey("prompts.id"), nullable=False),
    # SHA-256 of what the application says of its identity: the conversation's id, or the trace.
    Column("key", String(64), nullable=False),
    # The application's id of it, if it says one.
    Column("source_id", Text),
    # SHA-256 of everything said until the newest answer: a call with this history goes on with it.
    Column("tail", String(64)),
    # When it is to be closed; empty when it is.
    Column("close_at", BigInteger),
    Column("worker", String(100)),
    # The conversation that it became when it was closed first.
    Column("conversation_id", ID),
    Column("changed_at", BigInteger, nullable=False, index=True),
    Index("uq_traced_conversations_key", "account_id", "prompt_id", "key", unique=True),
    Index("ix_traced_conversations_tail", "account_id", "prompt_id", "tail"),
    Index(
        "ix_traced_conversations_close_at",
        "close_at",
        sqlite_where=text("close_at IS NOT NULL"),
        postgresql_where=text("close_at IS NOT NULL"),
    ),
)

traced_calls = Table(
    "traced_calls",
    metadata,
    Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    Column("account_id", ID, ForeignKey("accounts.id"), nullable=False),
    Column("traced_id", ID, ForeignKey("traced_conversations.id"), nullable=False, index=True),
    Column("span_id", String(48), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("uq_traced_calls_span_id", "account_id", "span_id", unique=True),
)
