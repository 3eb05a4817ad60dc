"""The tables of optimizations and deployments."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from promptlift.service.store.tables.columns import ID, account, integers, metadata, numbered, reference

optimizations = Table(
    "optimizations",
    metadata,
    *numbered(),
    account(),
    reference("prompts"),
    Column("status", String(10), nullable=False),
    Column("mode", String(20), nullable=False),
    Column("variant_count", Integer, nullable=False),
    Column("intent", Text),
    Column("persona_ids", Text),
    # What counts for this run, as JSON: the account's settings and the prompt as they were when it was asked for.
    Column("settings", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("rehearsal", Boolean, nullable=False),
    # Logged conversations to take scenarios from, in their order, each with the weight by which it was drawn; a JSON list,
    # written when the run begins.
    Column("pool", Text),
    Column("experiment", Text),
    # What could be gained by the logged conversations; and the search with its candidates, edits and outcomes. Both JSON.
    Column("headroom", Text),
    Column("search", Text),
    Column("results", Text),
    Column("failure", Text),
    Column("stop_reason", Text),
    *integers("model_calls", "tokens"),
    # The worker that runs it.
    Column("worker", String(100)),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("completed_at", BigInteger),
    Index("ix_optimizations_account_id_seq", "account_id", "seq"),
    Index("ix_optimizations_prompt_id_seq", "prompt_id", "seq"),
    Index("ix_optimizations_status", "status"),
)

# The original is number 0.
optimization_variants = Table(
    "optimization_variants",
    metadata,
    Column("id", ID, nullable=False, unique=True),
    account(),
    reference("optimizations"),
    Column("number", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("rationale", Text),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("optimization_id", "number"),
)

# Who talks about what in each cell, kept before the first conversation in it.
optimization_cells = Table(
    "optimization_cells",
    metadata,
    account(),
    reference("optimizations"),
    Column("number", Integer, nullable=False),
    Column("pass_number", Integer, nullable=False),
    Column("stage", String(10), nullable=False),
    Column("persona", Text, nullable=False),
    Column("scenario", Text, nullable=False),
    PrimaryKeyConstraint("optimization_id", "number"),
)

# One simulated conversation with its judgement; never changed after it was written.
simulations = Table(
    "simulations",
    metadata,
    Column("id", ID, nullable=False, unique=True),
    account(),
    reference("optimizations"),
    Column("cell", Integer, nullable=False),
    Column("arm", Integer, nullable=False),
    Column("pass_number", Integer, nullable=False),
    Column("stage", String(10), nullable=False),
    Column("status", String(10), nullable=False),
    Column("task_completed", Boolean),
    Column("sentiment", String(10)),
    Column("sentiment_score", Float),
    Column("quality", Float),
    Column("turns", Integer, nullable=False),
    Column("ended_by", String(10)),
    # Whether the conversation met each target of the optimization, as JSON; nothing without targets.
    Column("criteria", Text),
    # Titles of what the judge found wrong, as JSON; nothing where it found nothing.
    Column("issues", Text),
    Column("error", Text),
    Column("content", LargeBinary),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("optimization_id", "cell", "arm"),
)

# What became of a variant after its optimization: staged, tested, live, rolled back.
deployments = Table(
    "deployments",
    metadata,
    *numbered(),
    account(),
    reference("prompts"),
    reference("optimizations"),
    Column("variant_id", ID, nullable=False),
    Column("state", String(20), nullable=False),
    Column("origin", String(20), nullable=False),
    Column("regression", Text),
    Column("production", Text),
    Column("verification", String(20)),
    # How many conversations after the change the last check saw.
    Column("checked", Integer, nullable=False),
    Column("version_seq", BigInteger),
    Column("previous_version_seq", BigInteger),
    Column("applied_at", BigInteger),
    Column("rolled_back_at", BigInteger),
    Column("reason", Text),
    # The worker that runs its regression test.
    Column("worker", String(100)),
    *integers("created_at", "updated_at"),
    Index("ix_deployments_optimization_id_seq", "optimization_id", "seq"),
    Index("ix_deployments_prompt_id_seq", "prompt_id", "seq"),
    Index("ix_deployments_state", "state"),
)
