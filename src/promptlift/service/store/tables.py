"""The tables. Every row belongs to an account; times are milliseconds since 1970, UTC."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Row,
    String,
    Table,
    Text,
    text,
    true,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)
# SQLite counts rows up only in a column that is exactly INTEGER.
_Sequence = BigInteger().with_variant(Integer, "sqlite")
_ID = String(64)


def _numbered() -> tuple[Column[Any], Column[Any]]:
    """Return the number of a row in the order in which rows came, and its id in the API."""
    return (
        Column("seq", _Sequence, primary_key=True, autoincrement=True),
        Column("id", _ID, nullable=False, unique=True),
    )


def _account(*, index: bool | None = None) -> Column[Any]:
    return Column("account_id", _ID, ForeignKey("accounts.id"), nullable=False, index=index)


def _reference(table: str) -> Column[Any]:
    return Column(f"{table.removesuffix('s')}_id", _ID, ForeignKey(f"{table}.id"), nullable=False)


def _integers(*names: str) -> list[Column[Any]]:
    return [Column(name, BigInteger, nullable=False) for name in names]


def _span_of_prompt() -> list[Column[Any]]:
    """Return what conversations are counted by: their prompt, the length of a span of time, and when it begins."""
    names = ("account_id", "prompt_id")
    return [*(Column(name, _ID, nullable=False) for name in names), *_integers("span", "start")]


def _only(condition: str) -> dict[str, Any]:
    """Return the options of an index of only some rows."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


# A result row whose columns the query says.
AnyRow = Row[*tuple[Any, ...]]

accounts = Table(
    "accounts",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("name", Text, nullable=False),
    Column("email", Text, nullable=False),
    Column("plan", String(20), nullable=False),
    # Limits of its own in place of those of the plan, as JSON.
    Column("limits", Text, nullable=False, server_default="{}"),
    Column("settings", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", _ID, primary_key=True),
    _account(index=True),
    Column("name", Text, nullable=False),
    Column("prefix", String(20), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    Column("revoked_at", BigInteger),
)

prompts = Table(
    "prompts",
    metadata,
    *_numbered(),
    _account(),
    Column("name", Text, nullable=False),
    Column("content", Text, nullable=False),
    # Whether the content is the prompt's text; False where an import made the prompt and its text was never given.
    Column("content_known", Boolean, nullable=False, server_default=true()),
    Column("llm_model", Text, nullable=False),
    Column("description", Text),
    Column("tags", Text, nullable=False),
    Column("temperature", Float),
    Column("max_tokens", Integer),
    Column("objective", Text),
    Column("status", String(20), nullable=False),
    *_integers("created_at", "updated_at"),
    Column("deleted_at", BigInteger),
    Index("ix_prompts_account_id_seq", "account_id", "seq"),
)

prompt_versions = Table(
    "prompt_versions",
    metadata,
    Column("seq", _Sequence, primary_key=True, autoincrement=True),
    _account(),
    Column("prompt_id", _ID, ForeignKey("prompts.id"), nullable=False, index=True),
    Column("content", Text, nullable=False),
    Column("content_known", Boolean, nullable=False, server_default=true()),
    # How the text came: created, updated, applied, auto_deployed, rolled_back, restored.
    Column("origin", String(20), nullable=False),
    Column("optimization_id", _ID),
    Column("variant_id", _ID),
    Column("created_at", BigInteger, nullable=False),
)

conversations = Table(
    "conversations",
    metadata,
    *_numbered(),
    _account(),
    _reference("prompts"),
    Column("status", String(20), nullable=False),
    Column("llm_model", Text),
    Column("company_name", Text),
    Column("idempotency_key", Text),
    # The conversation's id in the tool that it came from. Not unique: others may say the same of two.
    Column("source_id", Text),
    # SHA-256 of the content; only where there is a source id, by which its changes are recognised.
    Column("content_hash", String(64)),
    *_integers("created_at", "started_at", "ended_at"),
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
    # SQLite uses a partial index only where a term of the query is, word by word, a term of this condition.
    Index(
        "ix_conversations_account_id_prompt_id_source_id",
        "account_id",
        "prompt_id",
        "source_id",
        **_only("source_id IS NOT NULL"),
    ),
    # What could not be judged is rare, and asked for with its reasons.
    Index(
        "ix_conversations_account_id_prompt_id_judging",
        *("account_id", "prompt_id", "judging"),
        **_only("judge_problem IS NOT NULL"),
    ),
    Index(
        "ix_conversations_judging",
        "judging",
        "judge_after",
        **_only("judging = 'pending' OR judging = 'claimed'"),
    ),
)

# Apart from the row, so that lists and counts never read transcripts. Bytes, so that every character survives.
conversation_contents = Table(
    "conversation_contents",
    metadata,
    Column("conversation_id", _ID, ForeignKey("conversations.id"), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    _account(),
    Column("key", Text, nullable=False),
    Column("conversation_id", _ID, ForeignKey("conversations.id"), nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
    PrimaryKeyConstraint("account_id", "key"),
)

insights = Table(
    "insights",
    metadata,
    Column("conversation_id", _ID, ForeignKey("conversations.id"), primary_key=True),
    _account(),
    Column("id", _ID, nullable=False, unique=True),
    Column("generation", Integer, nullable=False),
    Column("sentiment", String(10), nullable=False),
    Column("sentiment_score", Float, nullable=False),
    Column("task_completed", Boolean, nullable=False),
    Column("document", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

# Counts of conversations, kept by conversation_counts in the transaction that moves them. They are derived from the
# rows above, so nothing refers to them, and they refer to nothing: a foreign key would be checked for every count.

# The column of a block that counts a status, without and with insights.
BLOCK_COLUMNS = {
    (status, has_insights): f"{status}_with_insights" if has_insights else status
    for status in ("completed", "abandoned", "in_progress")
    for has_insights in (False, True)
}

# Conversations in blocks of sequence numbers, for totals of lists and for finding a page. The rows with an empty
# prompt_id count all prompts of the account.
conversation_blocks = Table(
    "conversation_blocks",
    metadata,
    Column("account_id", _ID, nullable=False),
    Column("prompt_id", _ID, nullable=False),
    Column("block", BigInteger, nullable=False),
    *(Column(name, Integer, nullable=False) for name in BLOCK_COLUMNS.values()),
    PrimaryKeyConstraint("account_id", "prompt_id", "block"),
    sqlite_with_rowid=False,
)

# Sums over the conversations that started in a span of time; ``span`` is its length, ``start`` when it begins.
conversation_sums = Table(
    "conversation_sums",
    metadata,
    *_span_of_prompt(),
    *_integers("total", "completed", "abandoned", "messages", "responses"),
    # Whole seconds and the rest in units of FRACTION apart: together they would not fit.
    *_integers("response_seconds", "response_fractions"),
    # Ended and with insights, and those of them with a completed task.
    *_integers("judged", "task_completed"),
    # With insights, ended or not. The sums of the scores and of their squares are in units of FRACTION.
    *_integers("positive", "neutral", "negative", "sentiment_fractions"),
    Column("sentiment_squares", BigInteger, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("account_id", "prompt_id", "span", "start"),
    sqlite_with_rowid=False,
)

# Ended conversations with insights by their user turns.
conversation_turns = Table(
    "conversation_turns",
    metadata,
    *_span_of_prompt(),
    Column("user_turns", Integer, nullable=False),
    *_integers("judged", "failed"),
    PrimaryKeyConstraint("account_id", "prompt_id", "span", "start", "user_turns"),
    sqlite_with_rowid=False,
)

# Conversations with insights by the issues that they have together, so that titles can be grouped in any way and no
# conversation is counted twice. The issues are their titles as JSON; titles can be long and can hold a NUL
# character, so a hash is the key and the JSON is bytes.
conversation_issue_sets = Table(
    "conversation_issue_sets",
    metadata,
    *_span_of_prompt(),
    Column("issue_set", String(32), nullable=False),
    Column("issues", LargeBinary, nullable=False),
    # All of them, those that have ended, and those that ended with the task not completed.
    *_integers("scored", "judged", "failed"),
    PrimaryKeyConstraint("account_id", "prompt_id", "span", "start", "issue_set"),
    sqlite_with_rowid=False,
)

# The group of each title of an issue, where a model named it. Titles are bytes: they can hold a NUL character.
issue_names = Table(
    "issue_names",
    metadata,
    _account(),
    Column("issue", String(32), nullable=False),
    Column("title", LargeBinary, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("account_id", "issue"),
)

# An outbox: written in the transaction of the change that they record.
events = Table(
    "events",
    metadata,
    *_numbered(),
    _account(),
    Column("type", String(40), nullable=False),
    Column("subject_id", _ID, nullable=False, index=True),
    Column("data", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_events_account_id_seq", "account_id", "seq"),
)

# Where events are sent. The secret is not here: it is derived from the id and a key that lies outside the database.
webhooks = Table(
    "webhooks",
    metadata,
    *_numbered(),
    _account(),
    Column("url", Text, nullable=False),
    Column("events", Text, nullable=False),
    Column("description", Text),
    Column("status", String(10), nullable=False),
    # Which key the secret is derived from.
    Column("key_id", String(16), nullable=False),
    # Whether the last attempt took long: others do not wait behind it.
    Column("slow", Boolean, nullable=False),
    # The worker that delivers to it.
    Column("worker", String(100)),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_webhooks_account_id_seq", "account_id", "seq"),
    Index("ix_webhooks_status", "status"),
)

# One event on its way to one webhook. No foreign keys: an event must not wait for a worker that has the webhook's row.
deliveries = Table(
    "deliveries",
    metadata,
    *_numbered(),
    Column("account_id", _ID, nullable=False),
    Column("webhook_id", _ID, nullable=False),
    Column("event_id", _ID, nullable=False, index=True),
    # pending, delivered or failed.
    Column("status", String(10), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("attempted_at", BigInteger),
    Column("status_code", Integer),
    Column("problem", Text),
    Column("delivered_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_deliveries_webhook_id_seq", "webhook_id", "seq"),
    Index(
        "ix_deliveries_webhook_id_due_at",
        *("webhook_id", "due_at"),
        **_only("status = 'pending'"),
    ),
)

usage_counters = Table(
    "usage_counters",
    metadata,
    _account(),
    Column("period_start", BigInteger, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("used", BigInteger, nullable=False),
    PrimaryKeyConstraint("account_id", "period_start", "kind"),
)

rate_windows = Table(
    "rate_windows",
    metadata,
    Column("account_id", _ID, ForeignKey("accounts.id"), primary_key=True),
    Column("window", BigInteger, nullable=False),
    Column("used", Integer, nullable=False),
)

optimizations = Table(
    "optimizations",
    metadata,
    *_numbered(),
    _account(),
    _reference("prompts"),
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
    # Logged conversations to take scenarios from, in their order; a JSON list, written when the run begins.
    Column("pool", Text),
    Column("experiment", Text),
    Column("results", Text),
    Column("failure", Text),
    Column("stop_reason", Text),
    *_integers("model_calls", "tokens"),
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
    Column("id", _ID, nullable=False, unique=True),
    _account(),
    _reference("optimizations"),
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
    _account(),
    _reference("optimizations"),
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
    Column("id", _ID, nullable=False, unique=True),
    _account(),
    _reference("optimizations"),
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
    Column("error", Text),
    Column("content", LargeBinary),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("optimization_id", "cell", "arm"),
)

personas = Table(
    "personas",
    metadata,
    *_numbered(),
    _account(index=True),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("deleted_at", BigInteger),
)

# What became of a variant after its optimization: staged, tested, live, rolled back.
deployments = Table(
    "deployments",
    metadata,
    *_numbered(),
    _account(),
    _reference("prompts"),
    _reference("optimizations"),
    Column("variant_id", _ID, nullable=False),
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
    *_integers("created_at", "updated_at"),
    Index("ix_deployments_optimization_id_seq", "optimization_id", "seq"),
    Index("ix_deployments_prompt_id_seq", "prompt_id", "seq"),
    Index("ix_deployments_state", "state"),
)

# What people think of a variant: one verdict and one note each.
variant_reviews = Table(
    "variant_reviews",
    metadata,
    _account(),
    _reference("optimizations"),
    Column("variant_id", _ID, nullable=False),
    Column("verdict", String(10)),
    Column("note", Text),
    Column("updated_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("optimization_id", "variant_id"),
)

# What people did: apply, stop, restore, undo. A row is written in the transaction of the action, and only undoing the action changes it.
actions = Table(
    "actions",
    metadata,
    *_numbered(),
    _account(),
    _reference("prompts"),
    Column("optimization_id", _ID),
    Column("variant_id", _ID),
    Column("kind", String(10), nullable=False),
    Column("from_version_seq", BigInteger),
    Column("to_version_seq", BigInteger),
    Column("note", Text),
    Column("undoes", _ID),
    Column("undone_by", _ID),
    Column("undone_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_actions_account_id_seq", "account_id", "seq"),
    Index("ix_actions_prompt_id_seq", "prompt_id", "seq"),
)

# Who works in the background. Rows name their worker; one that is not here any more has lost them.
workers = Table(
    "workers",
    metadata,
    Column("id", _ID, primary_key=True),
    # Until when it is taken for living without another sign of life.
    Column("lease_until", BigInteger, nullable=False),
    # Why rows wait that it could work on.
    Column("problem", Text),
)

# Work that one worker at a time does for all, for as long as it lives: its name, and who has it.
singleton_jobs = Table(
    "singleton_jobs",
    metadata,
    *_numbered(),
    Column("worker", String(100)),
)

# Conversations that spans of applications tell of. What they told since the conversation was last closed is in the calls.
traced_conversations = Table(
    "traced_conversations",
    metadata,
    Column("seq", _Sequence, primary_key=True, autoincrement=True),
    Column("id", _ID, nullable=False, unique=True),
    Column("account_id", _ID, ForeignKey("accounts.id"), nullable=False),
    Column("prompt_id", _ID, ForeignKey("prompts.id"), nullable=False),
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
    Column("conversation_id", _ID),
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
    Column("seq", _Sequence, primary_key=True, autoincrement=True),
    Column("account_id", _ID, ForeignKey("accounts.id"), nullable=False),
    Column("traced_id", _ID, ForeignKey("traced_conversations.id"), nullable=False, index=True),
    Column("span_id", String(48), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("uq_traced_calls_span_id", "account_id", "span_id", unique=True),
)
