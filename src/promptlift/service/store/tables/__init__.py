"""The tables. Every row belongs to an account; times are milliseconds since 1970, UTC."""

from promptlift.service.store.tables.accounts import accounts, api_keys, rate_windows, usage_counters
from promptlift.service.store.tables.background import singleton_jobs, workers
from promptlift.service.store.tables.benchmarks import benchmark_conversations, benchmarks, scenario_sets
from promptlift.service.store.tables.columns import AnyRow, metadata
from promptlift.service.store.tables.conversations import (
    conversation_contents,
    conversations,
    deleted_conversations,
    idempotency_keys,
    insights,
    issue_names,
)
from promptlift.service.store.tables.counts import (
    BLOCK_COLUMNS,
    conversation_blocks,
    conversation_issue_sets,
    conversation_sums,
    conversation_turns,
)
from promptlift.service.store.tables.events import deliveries, events, webhooks
from promptlift.service.store.tables.judges import judge_runs, judge_verdicts, judges
from promptlift.service.store.tables.labels import labels
from promptlift.service.store.tables.optimizations import (
    deployments,
    optimization_cells,
    optimization_variants,
    optimizations,
    simulations,
)
from promptlift.service.store.tables.prompts import (
    actions,
    personas,
    prompt_versions,
    prompts,
    variant_reviews,
)
from promptlift.service.store.tables.traces import traced_calls, traced_conversations

__all__ = [
    "BLOCK_COLUMNS",
    "AnyRow",
    "accounts",
    "actions",
    "api_keys",
    "benchmark_conversations",
    "benchmarks",
    "conversation_blocks",
    "conversation_contents",
    "conversation_issue_sets",
    "conversation_sums",
    "conversation_turns",
    "conversations",
    "deleted_conversations",
    "deliveries",
    "deployments",
    "events",
    "idempotency_keys",
    "insights",
    "issue_names",
    "judge_runs",
    "judge_verdicts",
    "judges",
    "labels",
    "metadata",
    "optimization_cells",
    "optimization_variants",
    "optimizations",
    "personas",
    "prompt_versions",
    "prompts",
    "rate_windows",
    "scenario_sets",
    "simulations",
    "singleton_jobs",
    "traced_calls",
    "traced_conversations",
    "usage_counters",
    "variant_reviews",
    "webhooks",
    "workers",
]
