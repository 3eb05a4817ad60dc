"""The tables of benchmarks."""

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
)

from promptlift.service.store.tables.columns import ID, account, integers, metadata, numbered, reference

# One version of a fixed set of scenarios; `set_id` is what its versions have in common.
scenario_sets = Table(
    "scenario_sets",
    metadata,
    *numbered(),
    account(),
    Column("set_id", ID, nullable=False),
    Column("version", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("source", String(20), nullable=False),
    Column("prompt_id", ID, nullable=False),
    Column("size", Integer, nullable=False),
    # Conversations to take scenarios from, a JSON list; empty where any may be taken.
    Column("conversation_ids", Text),
    # The version whose scenarios it begins with.
    Column("grows_from", ID),
    # The personas and scenarios by number, a JSON list: written once, by the first benchmark with this version.
    Column("cells", Text),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_scenario_sets_account_id_seq", "account_id", "seq"),
    Index("uq_scenario_sets_set_id_version", "set_id", "version", unique=True),
)

benchmarks = Table(
    "benchmarks",
    metadata,
    *numbered(),
    account(),
    Column("scenario_set_row_id", ID, ForeignKey("scenario_sets.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("status", String(10), nullable=False),
    # What counts for this benchmark, as JSON: the texts with their models, and the settings as they were.
    Column("arms", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("prices", Text, nullable=False),
    Column("objective", Text),
    Column("seed", BigInteger, nullable=False),
    Column("rehearsal", Boolean, nullable=False),
    Column("results", Text),
    Column("failure", Text),
    Column("stop_reason", Text),
    *integers("model_calls", "tokens"),
    # The worker that runs it.
    Column("worker", String(100)),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("completed_at", BigInteger),
    Index("ix_benchmarks_account_id_seq", "account_id", "seq"),
    Index("ix_benchmarks_status", "status"),
)

# One simulated conversation of a benchmark with its judgement; never changed after it was written.
benchmark_conversations = Table(
    "benchmark_conversations",
    metadata,
    Column("id", ID, nullable=False, unique=True),
    account(),
    reference("benchmarks"),
    Column("cell", Integer, nullable=False),
    Column("arm", Integer, nullable=False),
    Column("status", String(10), nullable=False),
    Column("task_completed", Boolean),
    Column("sentiment", String(10)),
    Column("sentiment_score", Float),
    Column("quality", Float),
    Column("turns", Integer, nullable=False),
    Column("ended_by", String(10)),
    # Of the assistant alone.
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    # Whether the endpoint did not count them.
    Column("tokens_estimated", Boolean, nullable=False),
    Column("error", Text),
    Column("content", LargeBinary),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("benchmark_id", "cell", "arm"),
)
