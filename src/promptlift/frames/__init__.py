"""Tables: the columns and dtypes of each, built from the API's decoded JSON."""

from __future__ import annotations

from functools import partial

from promptlift.frames.benchmarks import benchmark_arms_table
from promptlift.frames.columns import Parts
from promptlift.frames.conversations.tables import (
    ConversationParts,
    conversation_prompts,
    conversations_table,
    ids_last,
    issues_table,
    messages_table,
    topics_table,
)
from promptlift.frames.edits import edits_table
from promptlift.frames.layouts import describe_columns
from promptlift.frames.records import records_from
from promptlift.frames.tables import (
    analyser_of,
    basis_of,
    insights_errors,
    make_table,
    usage_table,
    with_prompt_names,
)
from promptlift.frames.variants import facts_of, variants_table

__all__ = [
    "ConversationParts",
    "Parts",
    "analyser_of",
    "basis_of",
    "benchmark_arms_table",
    "conversation_prompts",
    "conversations_table",
    "describe_columns",
    "edits_table",
    "facts_of",
    "ids_last",
    "insights_errors",
    "issues_table",
    "messages_table",
    "records_from",
    "topics_table",
    "usage_table",
    "variants_table",
    "with_prompt_names",
]

actions_table = partial(make_table, "actions")
benchmarks_table = partial(make_table, "benchmarks")
benchmark_conversations_table = partial(make_table, "benchmark_conversations")
calibration_table = partial(make_table, "calibration")
deliveries_table = partial(make_table, "deliveries")
events_table = partial(make_table, "events")
fleet_table = partial(make_table, "fleet")
judge_runs_table = partial(make_table, "judge_runs")
live_table = partial(make_table, "live")
judges_table = partial(make_table, "judges")
labels_table = partial(make_table, "labels")
optimizations_table = partial(make_table, "optimizations")
personas_table = partial(make_table, "personas")
production_metrics_table = partial(make_table, "production_metrics")
prompts_table = partial(make_table, "prompts")
review_table = partial(make_table, "review")
scenario_sets_table = partial(make_table, "scenario_sets")
scenarios_table = partial(make_table, "scenarios")
simulations_table = partial(make_table, "simulations")
targets_table = partial(make_table, "targets")
verdicts_table = partial(make_table, "verdicts")
versions_table = partial(make_table, "versions")
webhooks_table = partial(make_table, "webhooks")
