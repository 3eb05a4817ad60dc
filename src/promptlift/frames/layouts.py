"""The columns of every table, in order: those of the API's models, and computed ones."""

from __future__ import annotations

from typing import Final

import pandas as pd

from promptlift.frames.columns import dtype_of
from promptlift.frames.lift_basis import LIFT_BASES
from promptlift.schema.account import BillingPeriod, OptimizationsUsed
from promptlift.schema.benchmarks import (
    COST_BASES,
    Benchmark,
    BenchmarkConversation,
    ComparedArm,
    FixedScenario,
    ScenarioSet,
)
from promptlift.schema.columns import TableColumn, table_columns
from promptlift.schema.conversations import Conversation
from promptlift.schema.deployments import ProductionMetric
from promptlift.schema.events import EventRecord
from promptlift.schema.insights import SEVERITIES, FleetAgent, StepFailure, TopIssue
from promptlift.schema.judges import Judge, JudgeRun, JudgeVerdict, Label
from promptlift.schema.optimizations import Optimization, Variant, VariantReview
from promptlift.schema.prompts import Action, Prompt, PromptVersion
from promptlift.schema.results import TargetResult
from promptlift.schema.search import Edit
from promptlift.schema.simulations import Persona, Simulation
from promptlift.schema.transcript import Message
from promptlift.schema.webhooks import Delivery, Webhook

Columns = tuple[TableColumn, ...]

_PROMPT: Final = TableColumn(
    "prompt",
    "text",
    meaning="The prompt's name; with the beginning of its id if two share the name, and with the version if the rows contain several.",
)
_PROMPT_IF_KNOWN: Final = TableColumn(
    "prompt",
    "text",
    meaning="The prompt's name if the workspace already knows it, as after ``lift.prompts()``; otherwise its id.",
)
_CONVERSATION: Final = table_columns(
    Conversation,
    "conversations",
    computed=(
        _PROMPT,
        TableColumn(
            "duration_s",
            "float",
            unit="s",
            meaning="From the first to the last message; missing without two times of messages.",
        ),
        TableColumn(
            "tokens",
            "integer",
            unit="tokens",
            meaning="Tokens that the model read and wrote; missing if either is unknown.",
        ),
    ),
    first=(
        "conversation_id", "prompt_id", "prompt", "status", "has_insights", "created_at", "started_at",
        "title", "n_turns", "duration_s", "tokens", "input_tokens", "output_tokens", "cost", "latency_ms",
        "tool_calls", "tool_errors",
        "sentiment", "sentiment_score", "task_completed", "quality", "topics", "summary", "issues", "insights_at",
    ),
)  # fmt: skip
CONTENT: Final[Columns] = tuple(column for column in _CONVERSATION if column.name == "content")
INSIGHT_VALUES: Final[Columns] = tuple(column for column in _CONVERSATION if column.path[:1] == ("insights",))
CONVERSATIONS: Final[Columns] = tuple(
    column for column in _CONVERSATION if column not in (*CONTENT, *INSIGHT_VALUES)
)
_MENTIONED_IN: Final[Columns] = tuple(
    column
    for column in CONVERSATIONS
    if column.name in ("conversation_id", "prompt", "prompt_id", "started_at")
)
ISSUES: Final[Columns] = (
    *_MENTIONED_IN,
    TableColumn(
        "kind", "text", meaning="The kind of issue, if the service has one; ours puts it in the title."
    ),
    TableColumn("title", "text", meaning="Description of the problem."),
    TableColumn("severity", "category", meaning="``low``, ``medium`` or ``high``.", categories=SEVERITIES),
    TableColumn("quote", "text", meaning="A quotation that shows it."),
)
TOPICS: Final[Columns] = (*_MENTIONED_IN, TableColumn("topic", "text", meaning="The topic."))
MESSAGES: Final = table_columns(
    Message,
    "messages",
    computed=(
        TableColumn("conversation_id", "text", meaning="The conversation's id."),
        _PROMPT_IF_KNOWN,
        TableColumn("turn", "integer", meaning="Index of the message in its conversation, from 0."),
    ),
    first=("conversation_id", "prompt", "turn", "role", "content", "sent_at", "model", "tokens"),
)
PROMPTS: Final = table_columns(
    Prompt,
    "prompts",
    first=(
        "prompt_id", "name", "status", "llm_model", "description", "tags", "temperature", "max_tokens", "objective",
    ),
)  # fmt: skip
USAGE: Final[Columns] = (
    TableColumn("resource", "text", meaning="The resource: prompts, optimizations, conversations or tokens."),
    *table_columns(OptimizationsUsed, "usage"),
    *table_columns(BillingPeriod, "usage"),
)
OPTIMIZATIONS: Final = table_columns(
    Optimization,
    "optimizations",
    computed=(_PROMPT_IF_KNOWN,),
    first=(
        "optimization_id", "prompt_id", "prompt", "status", "mode", "variant_count", "winner_selected", "winning_variant_id",
        "lift_pct", "confidence", "created_at", "completed_at", "started_at",
    ),
)  # fmt: skip
VARIANTS: Final = table_columns(
    Variant,
    "variants",
    computed=(
        TableColumn("optimization_id", "text", meaning="The optimization that it belongs to."),
        _PROMPT_IF_KNOWN,
        TableColumn("n_variants_tested", "integer", meaning="Variants that the optimization tested."),
        TableColumn(
            "lift_basis",
            "category",
            meaning="Kind of lift according to the two rates: relative to the original, points, or unknown.",
            categories=LIFT_BASES,
        ),
        TableColumn(
            "uncertainty_source",
            "category",
            meaning="``service`` if the service sent an interval, otherwise ``none``.",
            categories=("service", "none"),
        ),
    ),
    first=(
        "optimization_id", "prompt", "variant_id", "name", "is_original", "is_winner", "stage", "task_completion", "sentiment",
        "quality", "lift", "lift_points", "lift_low", "lift_high", "interval_level", "lift_expected", "confidence",
        "n", "n_pairs", "n_dropped", "n11", "n10", "n01", "n00", "look", "max_looks", "n_variants_tested",
        "lift_basis", "uncertainty_source", "warnings", "content", "number", "original_task_completion", "rehearsal",
    ),
)  # fmt: skip
_SIMULATION: Final = table_columns(Simulation, "simulations")
SIMULATION_CONTENT: Final[Columns] = tuple(column for column in _SIMULATION if column.name == "content")
SIMULATIONS: Final[Columns] = tuple(column for column in _SIMULATION if column not in SIMULATION_CONTENT)
PERSONAS: Final = table_columns(Persona, "personas", first=("persona_id",))
PRODUCTION_METRICS: Final = table_columns(ProductionMetric, "production_metrics", first=("metric",))
VERSIONS: Final = table_columns(PromptVersion, "versions", first=("version_id",))
ACTIONS: Final = table_columns(
    Action,
    "actions",
    computed=(
        TableColumn("undone", "boolean", meaning="Whether another action undid this one."),
        TableColumn(
            "outcome",
            "category",
            meaning="``unknown`` without an answer, when it is not known whether it was done.",
            categories=("done", "unknown"),
        ),
    ),
    first=(
        "action_id", "kind", "acted_at", "prompt_id", "optimization_id", "variant_id", "from_version_id",
        "to_version_id", "note", "undoes", "undone",
    ),
)  # fmt: skip
WEBHOOKS: Final = table_columns(Webhook, "webhooks")
DELIVERIES: Final = table_columns(Delivery, "deliveries")
EVENTS: Final = table_columns(
    EventRecord,
    "events",
    computed=(
        TableColumn("prompt_id", "text", meaning="The prompt, or agent, that it concerns."),
        TableColumn(
            "conversation_id",
            "text",
            meaning="The conversation that it concerns.",
            path=("data", "conversationId"),
        ),
        TableColumn(
            "optimization_id",
            "text",
            meaning="The optimization that it concerns.",
            path=("data", "optimizationId"),
        ),
        TableColumn(
            "warnings",
            "text",
            meaning="Caveat about its numbers: a ``reductionPercent`` that is only the ratio of two counts.",
        ),
    ),
    first=("event_id", "type", "happened_at", "prompt_id", "conversation_id", "optimization_id", "data"),
)
TARGETS: Final = table_columns(
    TargetResult,
    "targets",
    computed=(TableColumn("optimization_id", "text", meaning="The optimization that was to improve it."),),
    first=("optimization_id", "target", "change"),
)
EDITS: Final = table_columns(
    Edit,
    "edits",
    computed=(
        TableColumn("optimization_id", "text", meaning="The optimization whose search wrote it."),
        TableColumn("variant_id", "text", meaning="The first variant that was made with it."),
        TableColumn("variant", "text", meaning="Name of that variant."),
        TableColumn("generation", "integer", meaning="Generation of that variant, from 1."),
        TableColumn("variant_ids", "texts", meaning="Every variant that was made with it, the oldest first."),
        TableColumn("in_winner", "boolean", meaning="Whether the text of the winner has it."),
        TableColumn("n_evidence", "integer", meaning="Number of places in conversations from which it was written."),
        TableColumn("conversation_ids", "texts", meaning="The conversations of these places."),
        TableColumn("quotes", "texts", meaning="The words of these places, in the same order."),
    ),
    first=(
        "edit_id", "optimization_id", "generation", "variant_id", "variant", "operation", "symptom", "cause", "anchor", "text",
        "won", "lost", "tied", "effect", "state", "reason", "in_winner",
    ),
)  # fmt: skip
REVIEW: Final = table_columns(VariantReview, "review")
LABELS: Final = table_columns(
    Label,
    "labels",
    first=(
        "conversation_id", "prompt_id", "question", "value", "labeller", "labelled_at", "chance", "draw_id",
        "optimization_id", "label_id",
    ),
)  # fmt: skip
BENCHMARKS: Final = table_columns(
    Benchmark,
    "benchmarks",
    computed=(TableColumn("arm_count", "integer", meaning="Number of arms compared."),),
    first=(
        "benchmark_id",
        "name",
        "status",
        "arm_count",
        "scenario_count",
        "conversations_done",
        "conversations_total",
    ),
)
BENCHMARK_ARMS: Final = table_columns(
    ComparedArm,
    "benchmark_arms",
    first=("arm", "name", "prompt"),
    computed=(
        _PROMPT_IF_KNOWN,
        TableColumn("is_reference", "boolean", meaning="Whether the others are compared with this arm."),
        TableColumn(
            "acceptable",
            "boolean",
            meaning="Whether it is the reference, or a loss of the margin or more is excluded.",
        ),
        TableColumn("is_cheapest", "boolean", meaning="Whether it is the cheapest of the acceptable arms."),
        TableColumn(
            "cost_basis",
            "category",
            meaning="Criterion for the cheapest: ``price``, or ``tokens`` if an acceptable arm has no price.",
            categories=COST_BASES,
        ),
    ),
)
_BENCHMARK_CONVERSATION: Final = table_columns(BenchmarkConversation, "benchmark_conversations")
BENCHMARK_CONTENT: Final[Columns] = tuple(one for one in _BENCHMARK_CONVERSATION if one.name == "content")
BENCHMARK_CONVERSATIONS: Final[Columns] = tuple(
    one for one in _BENCHMARK_CONVERSATION if one not in BENCHMARK_CONTENT
)
SCENARIO_SETS: Final = table_columns(ScenarioSet, "scenario_sets")
SCENARIOS: Final = table_columns(FixedScenario, "scenarios")
JUDGES: Final = table_columns(Judge, "judges")
JUDGE_RUNS: Final = table_columns(
    JudgeRun, "judge_runs", first=("run_id", "kind", "judge_id", "judge", "judge_version", "status")
)
VERDICTS: Final = table_columns(
    JudgeVerdict,
    "verdicts",
    computed=(_PROMPT_IF_KNOWN,),
    first=("conversation_id", "prompt_id", "prompt", "status", "judge", "judge_version", "verdict", "reason"),
)

_PROMPT_ID: Final = TableColumn("prompt_id", "text", meaning="The prompt, or agent, that it belongs to.")
TOP_ISSUES: Final = table_columns(TopIssue, "top_issues", computed=(_PROMPT_ID,), first=("prompt_id",))
STEP_FAILURES: Final = table_columns(
    StepFailure, "step_failures", computed=(_PROMPT_ID,), first=("prompt_id",)
)
FLEET: Final = table_columns(FleetAgent, "fleet")

# Name of a table to all columns that can be requested.
TABLES: Final[dict[str, Columns]] = {
    "prompts": PROMPTS,
    "conversations": (*CONVERSATIONS, *CONTENT, *INSIGHT_VALUES),
    "issues": ISSUES,
    "topics": TOPICS,
    "messages": MESSAGES,
    "optimizations": OPTIMIZATIONS,
    "variants": VARIANTS,
    "simulations": (*SIMULATIONS, *SIMULATION_CONTENT),
    "targets": TARGETS,
    "edits": EDITS,
    "personas": PERSONAS,
    "versions": VERSIONS,
    "production_metrics": PRODUCTION_METRICS,
    "actions": ACTIONS,
    "review": REVIEW,
    "labels": LABELS,
    "events": EVENTS,
    "webhooks": WEBHOOKS,
    "deliveries": DELIVERIES,
    "benchmarks": BENCHMARKS,
    "benchmark_arms": BENCHMARK_ARMS,
    "benchmark_conversations": (*BENCHMARK_CONVERSATIONS, *BENCHMARK_CONTENT),
    "scenario_sets": SCENARIO_SETS,
    "scenarios": SCENARIOS,
    "judges": JUDGES,
    "judge_runs": JUDGE_RUNS,
    "verdicts": VERDICTS,
    "usage": USAGE,
    "top_issues": TOP_ISSUES,
    "step_failures": STEP_FAILURES,
    "fleet": FLEET,
}


_RUN: Final = "lift.optimizations[optimization_id]"
_BENCHMARK: Final = "lift.benchmarks[benchmark_id]"
# How tables are read whose call is not `lift.NAME()`.
_CALLS: Final = {
    "conversations": "lift.conversations(prompt_id=…, insights=True)",
    "issues": "frames.issues_table(conversations)",
    "topics": "frames.topics_table(conversations)",
    "variants": "lift.variants(optimization_id)",
    "edits": "lift.edits(optimization_id)",
    "simulations": f"{_RUN}.simulations()",
    "targets": f"{_RUN}.targets()",
    "production_metrics": f"{_RUN}.production_metrics()",
    "review": f"{_RUN}.review()",
    "benchmark_arms": f"{_BENCHMARK}.arms()",
    "benchmark_conversations": f"{_BENCHMARK}.conversations()",
    "scenario_sets": "lift.scenarios()",
    "scenarios": "lift.scenarios(scenario_set_id)",
    "judge_runs": "lift.judges.runs()",
    "verdicts": "lift.judges.verdicts(judge)",
    "deliveries": "lift.webhooks.deliveries(webhook_id)",
    "versions": "lift.versions(prompt_id)",
    "top_issues": "lift.top_issues(prompt_id)",
    "step_failures": "lift.step_failures(prompt_id)",
}


def call_of(table: str) -> str:
    """Return the call that reads a table."""
    return _CALLS.get(table, f"lift.{table}()")


def describe_columns() -> pd.DataFrame:
    """List the columns of every table.

    Returns
    -------
    DataFrame
        One row per column, in the order of the tables: ``table``, ``column``, ``dtype``, ``unit`` (empty for
        texts, times, flags and counts) and ``meaning``.

    Examples
    --------
    >>> columns = describe_columns()
    >>> columns[columns["column"] == "quality"][["table", "dtype", "unit"]].to_dict("records")
    [{'table': 'variants', 'dtype': 'float64', 'unit': '0 to 100'}, {'table': 'simulations', 'dtype': 'float64', 'unit': '0 to 100'}]
    """
    rows = [
        (table, column.name, str(dtype_of(column)), column.unit, column.meaning)
        for table, columns in TABLES.items()
        for column in columns
    ]
    return pd.DataFrame(rows, columns=["table", "column", "dtype", "unit", "meaning"], dtype="str")
