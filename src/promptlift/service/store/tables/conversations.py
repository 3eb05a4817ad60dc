"""Conversations, their insights, the spans from which some of them are assembled, and their counts."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from promptlift.service.store.rows import (
    Account,
    Base,
    Compressed,
    Key,
    Owned,
    Seq,
    Small,
    only,
    reference,
)


class ConversationRow(Owned, Base):
    """A logged conversation, without its transcript."""

    __tablename__ = "conversations"

    prompt_id: Mapped[str] = reference("prompts")
    status: Mapped[str]
    llm_model: Mapped[str | None]
    company_name: Mapped[str | None]
    idempotency_key: Mapped[str | None]
    # The conversation's id in the tool from which it came. Not unique: another tool may use the same id.
    source_id: Mapped[str | None]
    # SHA-256 of the content, only with a source id: it shows whether the content changed.
    content_hash: Mapped[str | None]
    # Logged with the content, or read from structured content. Metadata are a flat JSON object.
    title: Mapped[str | None]
    metadata_: Mapped[str | None] = mapped_column("metadata", key="metadata")
    input_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    tool_calls: Mapped[int | None]
    tool_errors: Mapped[int | None]
    cost: Mapped[float | None]
    latency_ms: Mapped[float | None]
    # The assignment in its metadata: experiment, number of the arm, and the hashed unit.
    experiment_id: Mapped[str | None]
    arm: Mapped[Small | None]
    unit: Mapped[str | None]
    created_at: Mapped[int]
    started_at: Mapped[int]
    ended_at: Mapped[int]
    # When it was logged, or when its appearance in lists last changed: `changes.stamp`, not simply the time
    # of the change.
    updated_at: Mapped[int] = mapped_column(server_default=text("0"))
    message_count: Mapped[Small]
    user_turns: Mapped[Small]
    response_seconds: Mapped[float | None]
    has_insights: Mapped[bool]
    # The state of its insights: pending, claimed, done or failed; `generation` counts how often they were
    # requested.
    judging: Mapped[str]
    generation: Mapped[Small]
    # The worker that holds it, only if claimed.
    worker: Mapped[str | None]
    judge_after: Mapped[int]
    judge_attempts: Mapped[Small]
    judge_problem: Mapped[str | None]

    __table_args__ = (
        Index("ix_conversations_account_id_seq", "account_id", "seq"),
        Index("ix_conversations_account_id_prompt_id_seq", "account_id", "prompt_id", "seq"),
        # Lists with a filter: both columns fixed, a range of this index is the list in its order.
        Index(
            "ix_conversations_account_id_status_has_insights_seq",
            *("account_id", "status", "has_insights", "seq"),
        ),
        Index(
            "ix_conversations_account_id_prompt_id_status_has_insights_seq",
            *("account_id", "prompt_id", "status", "has_insights", "seq"),
        ),
        Index("ix_conversations_account_id_prompt_id_started_at", "account_id", "prompt_id", "started_at"),
        # News for a reader, also of one prompt, are counted and found in this index alone.
        Index("ix_conversations_account_id_updated_at", "account_id", "updated_at", "prompt_id", "seq"),
        # SQLite uses a partial index only if a term of the query matches a term of this condition word for
        # word.
        Index(
            "ix_conversations_account_id_prompt_id_source_id",
            *("account_id", "prompt_id", "source_id"),
            **only("source_id IS NOT NULL"),
        ),
        # Conversations that could not be judged are rare, and listed with their reasons.
        Index(
            "ix_conversations_account_id_prompt_id_judging",
            *("account_id", "prompt_id", "judging"),
            **only("judge_problem IS NOT NULL"),
        ),
        # More fixed columns than any other index, so that the conversations of an experiment are read by it.
        Index(
            "ix_conversations_account_id_prompt_id_experiment_id",
            *("account_id", "prompt_id", "experiment_id", "started_at"),
            **only("experiment_id IS NOT NULL"),
        ),
        Index(
            "ix_conversations_judging",
            *("judging", "judge_after"),
            **only("judging = 'pending' OR judging = 'claimed'"),
        ),
    )


class DeletedConversationRow(Owned, Base):
    """A conversation that was deleted, for readers that keep a copy."""

    __tablename__ = "deleted_conversations"
    __table_args__ = (Index("ix_deleted_conversations_account_id_deleted_at", "account_id", "deleted_at"),)

    prompt_id: Mapped[str]
    deleted_at: Mapped[int]


class ContentRow(Base):
    """A transcript, stored apart from its conversation, because lists and counts never read it.

    Bytes, so that every character survives. Compressed, because transcripts are most of what is written.
    """

    __tablename__ = "conversation_contents"

    conversation_id: Mapped[str] = reference("conversations", primary_key=True)
    content: Mapped[bytes] = mapped_column(Compressed)
    # Its bytes before compression.
    size: Mapped[int]


class IdempotencyKeyRow(Base):
    """The conversation created by a request with this key."""

    __tablename__ = "idempotency_keys"

    account_id: Mapped[Account] = mapped_column(primary_key=True)
    key: Mapped[Key]
    conversation_id: Mapped[str] = reference("conversations")
    expires_at: Mapped[int] = mapped_column(index=True)


class InsightsRow(Base):
    """The insights of a conversation; the whole document is JSON."""

    __tablename__ = "insights"

    conversation_id: Mapped[str] = reference("conversations", primary_key=True)
    generation: Mapped[Small]
    sentiment: Mapped[str]
    sentiment_score: Mapped[float]
    task_completed: Mapped[bool | None]
    # The basis of task_completed.
    basis: Mapped[str]
    # The columns by which they are counted, as in the document: whether the built-in rules found them, a
    # model's first topic, and the titles of the issues as a sorted JSON array.
    by_words: Mapped[bool]
    topic: Mapped[str | None]
    issues: Mapped[bytes]
    # The kept topic of its prompt that it is near: 0 for none, empty if a model judged it. Only the prompt's
    # topics have its name, so the document has none.
    topic_number: Mapped[int | None]
    document: Mapped[str]


class IssueNameRow(Base):
    """The group of an issue's title, as named by a model. Titles are bytes: they can contain NUL."""

    __tablename__ = "issue_names"

    account_id: Mapped[Account] = mapped_column(primary_key=True)
    issue: Mapped[Key]
    title: Mapped[bytes]
    name: Mapped[bytes]
    created_at: Mapped[int]


class TracedConversationRow(Owned, Base):
    """A conversation that is assembled from spans. The spans since it was last closed are in its calls."""

    __tablename__ = "traced_conversations"
    __table_args__ = (
        Index("uq_traced_conversations_key", "account_id", "prompt_id", "key", unique=True),
        Index("ix_traced_conversations_tail", "account_id", "prompt_id", "tail"),
        Index("ix_traced_conversations_close_at", "close_at", **only("close_at IS NOT NULL")),
    )

    prompt_id: Mapped[str] = reference("prompts")
    # SHA-256 of the application's id of the conversation, or of the trace.
    key: Mapped[str]
    # The application's id of the conversation, if it has one.
    source_id: Mapped[str | None]
    # SHA-256 of everything up to the newest answer: a call with this history continues the conversation.
    tail: Mapped[str | None]
    # When it is to be closed; empty once closed.
    close_at: Mapped[int | None]
    worker: Mapped[str | None]
    # The conversation that it became when it was first closed.
    conversation_id: Mapped[str | None]
    changed_at: Mapped[int] = mapped_column(index=True)


class TracedCallRow(Base):
    """A call of a model, read from a span."""

    __tablename__ = "traced_calls"
    __table_args__ = (Index("uq_traced_calls_span_id", "account_id", "span_id", unique=True),)

    seq: Mapped[Seq]
    account_id: Mapped[Account]
    traced_id: Mapped[str] = reference("traced_conversations", index=True)
    span_id: Mapped[str]
    data: Mapped[bytes]


metadata = Base.metadata

# The column of a block that counts a status, without and with insights.
BLOCK_COLUMNS = {
    (status, has_insights): f"{status}_with_insights" if has_insights else status
    for status in ("completed", "abandoned", "in_progress")
    for has_insights in (False, True)
}


def integers(*names: str) -> list[Column[Any]]:
    """Return integer columns."""
    return [Column(name, BigInteger, nullable=False) for name in names]


def day_of_prompt() -> list[Column[Any]]:
    """Return the columns by which conversations are counted: their prompt, and the start of their day, or ALL_TIME."""
    names = ("account_id", "prompt_id")
    return [*(Column(name, Text, nullable=False) for name in names), *integers("start")]


# Conversations in blocks of sequence numbers, for totals of lists and for finding a page. The rows with an empty
# prompt_id count all prompts of the account.
conversation_blocks = Table(
    "conversation_blocks",
    metadata,
    Column("account_id", Text, nullable=False),
    Column("prompt_id", Text, nullable=False),
    Column("block", BigInteger, nullable=False),
    *(Column(name, Integer, nullable=False) for name in BLOCK_COLUMNS.values()),
    PrimaryKeyConstraint("account_id", "prompt_id", "block"),
    sqlite_with_rowid=False,
)

# Sums over the conversations that started on a day.
conversation_sums = Table(
    "conversation_sums",
    metadata,
    *day_of_prompt(),
    *integers("total", "completed", "abandoned", "messages", "responses"),
    # Whole seconds, and the remainder in units of FRACTION: a single column would overflow.
    *integers("response_seconds", "response_fractions"),
    # Ended and with a verdict, those of them with a completed task, and those whose verdict is based on the
    # log's outcome, on a judge that learned from labels, or on the words of the built-in rules.
    *integers("judged", "task_completed", "by_outcome", "by_learned", "by_words"),
    # With insights, ended or not, and those with insights from the built-in rules. The sums of the scores and
    # of their squares are in units of FRACTION.
    *integers("positive", "neutral", "negative", "scored_by_words", "sentiment_fractions"),
    Column("sentiment_squares", BigInteger, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("account_id", "prompt_id", "start"),
    sqlite_with_rowid=False,
)

# Ended conversations with a verdict by their user turns.
conversation_turns = Table(
    "conversation_turns",
    metadata,
    *day_of_prompt(),
    Column("user_turns", Integer, nullable=False),
    *integers("judged", "failed"),
    PrimaryKeyConstraint("account_id", "prompt_id", "start", "user_turns"),
    sqlite_with_rowid=False,
)

# Conversations with insights by their set of issues, so that titles can be grouped in any way and no
# conversation is counted twice; and by their model and topic, so that only conversations of one stratum
# are compared. The issues are their titles as JSON, empty for a conversation without any. Titles can be long
# and can contain a NUL character, so the key is a hash of all three, and the JSON is bytes.
conversation_issue_sets = Table(
    "conversation_issue_sets",
    metadata,
    *day_of_prompt(),
    Column("issue_set", Text, nullable=False),
    Column("issues", LargeBinary, nullable=False),
    Column("llm_model", Text, nullable=False),
    Column("topic", Text, nullable=False),
    # All of them, those that ended with a verdict, and those that ended without a completed task.
    *integers("scored", "judged", "failed"),
    PrimaryKeyConstraint("account_id", "prompt_id", "start", "issue_set"),
    sqlite_with_rowid=False,
)
