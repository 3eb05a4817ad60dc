"""The tables of judges of one's own."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from promptlift.service.store.tables.columns import ID, account, integers, metadata, numbered

# One version of a judge, which never changes; `judge_id` is what its versions have in common.
judges = Table(
    "judges",
    metadata,
    *numbered(),
    account(),
    Column("judge_id", ID, nullable=False),
    Column("version", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("rubric", Text),
    # A JSON list of text, answer and reason.
    Column("examples", Text, nullable=False),
    Column("llm_model", Text),
    Column("origin", String(10), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_judges_account_id_name_seq", "account_id", "name", "seq"),
    Index("uq_judges_judge_id_version", "judge_id", "version", unique=True),
)

# A backfill or an alignment of one version of a judge.
judge_runs = Table(
    "judge_runs",
    metadata,
    *numbered(),
    account(),
    Column("judge_row_id", ID, ForeignKey("judges.id"), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("status", String(10), nullable=False),
    # As JSON: which conversations, or which labels; limits and price; the general settings as they were.
    Column("settings", Text, nullable=False),
    # As JSON: what an alignment has asked so far, and what it found.
    Column("state", Text),
    Column("result", Text),
    Column("failure", Text),
    Column("stop_reason", Text),
    *integers("total", "model_calls", "tokens", "input_tokens", "output_tokens"),
    # The worker that runs it.
    Column("worker", String(100)),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("completed_at", BigInteger),
    Index("ix_judge_runs_account_id_seq", "account_id", "seq"),
    Index("ix_judge_runs_status", "status"),
)

# What a version of a judge answered for a conversation; without an answer, why there is none.
judge_verdicts = Table(
    "judge_verdicts",
    metadata,
    account(),
    Column("judge_row_id", ID, ForeignKey("judges.id"), nullable=False),
    Column("conversation_id", ID, ForeignKey("conversations.id"), nullable=False),
    Column("run_id", ID, nullable=False),
    Column("verdict", Boolean),
    Column("reason", Text),
    Column("problem", Text),
    Column("analyser", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("judge_row_id", "conversation_id"),
    Index("ix_judge_verdicts_conversation_id", "conversation_id"),
    Index("ix_judge_verdicts_run_id", "run_id"),
)
