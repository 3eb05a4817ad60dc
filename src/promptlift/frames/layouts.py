"""The columns of every table, in order: those of the API's models, and computed ones."""

from __future__ import annotations

from typing import Any, Final

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
from promptlift.schema.columns import Kind, TableColumn, table_columns
from promptlift.schema.conversations import Conversation
from promptlift.schema.deployments import ProductionMetric
from promptlift.schema.events import EventRecord
from promptlift.schema.experiments import CalibrationPair, LiveArm
from promptlift.schema.insights import SEVERITIES, FleetAgent
from promptlift.schema.judges import Judge, JudgeRun, JudgeVerdict, Label
from promptlift.schema.optimizations import Optimization, Variant, VariantReview
from promptlift.schema.prompts import Action, Prompt, PromptVersion
from promptlift.schema.results import TargetResult
from promptlift.schema.search import Edit
from promptlift.schema.simulations import Persona, Simulation
from promptlift.schema.transcript import Message
from promptlift.schema.webhooks import Delivery, Webhook

Columns = tuple[TableColumn, ...]


def _column(name: str, meaning: str, kind: Kind = "text", **more: Any) -> TableColumn:
    return TableColumn(name, kind, described=meaning, **more)


def _content_last(columns: Columns) -> Columns:
    return tuple(sorted(columns, key=lambda column: column.name == "content"))


def _named(columns: Columns, *names: str) -> Columns:
    return tuple(column for name in names for column in columns if column.name == name)


_PROMPT: Final = _column(
    "prompt",
    "The prompt's name; with the beginning of its id if two share the name, and with the version if the rows contain several.",
)
_PROMPT_IF_KNOWN: Final = _column(
    "prompt",
    "The prompt's name if the workspace already knows it, as after ``lift.prompts()``; otherwise its id.",
)
_CONVERSATION: Final = table_columns(
    Conversation,
    "conversations",
    computed=(
        _PROMPT,
        _column("duration_s", "From the first to the last message; missing without two times of messages.", "float", unit="s"),
        _column("tokens", "Tokens that the model read and wrote; missing if either is unknown.", "integer", unit="tokens"),
    ),
    first=(
        "prompt", "started_at", "status", "task_completed", "sentiment", "summary", "title", "issues", "topics",
        "n_turns", "duration_s", "cost", "latency_ms", "tokens", "quality", "sentiment_score", "input_tokens", "output_tokens",
        "tool_calls", "tool_errors", "llm_model", "company_name", "content",
    ),
)  # fmt: skip
IDS: Final = ("conversation_id", "prompt_id", "source_id")
INSIGHT_VALUES: Final[Columns] = tuple(column for column in _CONVERSATION if column.path[:1] == ("insights",))


def conversation_columns(*, insights: bool, content: bool) -> Columns:
    """Return the columns of conversations: first what one looks at, ids last."""
    wanted = (
        column
        for column in _CONVERSATION
        if (content or column.name != "content") and (insights or column not in INSIGHT_VALUES)
    )
    return tuple(sorted(wanted, key=lambda column: column.name in IDS))


CONVERSATIONS: Final = conversation_columns(insights=False, content=False)
_MENTIONED_IN: Final = _named(CONVERSATIONS, "conversation_id", "prompt_id", "prompt", "started_at")
ISSUES: Final[Columns] = (
    *_MENTIONED_IN,
    _column("kind", "The kind of issue, if the service has one; ours puts it in the title."),
    _column("title", "Description of the problem."),
    _column("severity", "``low``, ``medium`` or ``high``.", "category", categories=SEVERITIES),
    _column("quote", "A quotation that shows it."),
)
TOPICS: Final[Columns] = (*_MENTIONED_IN, _column("topic", "The topic."))
MESSAGES: Final = table_columns(
    Message,
    "messages",
    computed=(
        _column("conversation_id", "The conversation's id."),
        _PROMPT_IF_KNOWN,
        _column("turn", "Index of the message in its conversation, from 0.", "integer"),
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
        _column("optimization_id", "The optimization that it belongs to."),
        _PROMPT_IF_KNOWN,
        _column("n_variants_tested", "Variants that the optimization tested.", "integer"),
        _column("lift_basis", "Kind of lift according to the two rates: relative to the original, points, or unknown.", "category", categories=LIFT_BASES),
        _column("uncertainty_source", "``service`` if the service sent an interval, otherwise ``none``.", "category", categories=("service", "none")),
    ),
    first=(
        "optimization_id", "prompt", "variant_id", "name", "is_original", "is_winner", "stage", "task_completion", "sentiment",
        "quality", "lift", "lift_points", "lift_low", "lift_high", "interval_level", "lift_expected", "confidence",
        "n", "n_pairs", "n_dropped", "n11", "n10", "n01", "n00", "look", "max_looks", "n_variants_tested",
        "lift_basis", "uncertainty_source", "warnings", "content", "number", "original_task_completion", "rehearsal",
    ),
)  # fmt: skip
ACTIONS: Final = table_columns(
    Action,
    "actions",
    computed=(
        _column("undone", "Whether another action undid this one.", "boolean"),
        _column("outcome", "``unknown`` without an answer, when it is not known whether it was done.", "category", categories=("done", "unknown")),
    ),
    first=(
        "action_id", "kind", "acted_at", "prompt_id", "optimization_id", "variant_id", "from_version_id",
        "to_version_id", "note", "undoes", "undone",
    ),
)  # fmt: skip
EDITS: Final = table_columns(
    Edit,
    "edits",
    computed=(
        _column("optimization_id", "The optimization whose search wrote it."),
        _column("variant_id", "The first variant that was made with it."),
        _column("variant", "Name of that variant."),
        _column("generation", "Generation of that variant, from 1.", "integer"),
        _column("variant_ids", "Every variant that was made with it, the oldest first.", "texts"),
        _column("in_winner", "Whether the text of the winner has it.", "boolean"),
        _column("n_evidence", "Number of places in conversations from which it was written.", "integer"),
        _column("conversation_ids", "The conversations of these places.", "texts"),
        _column("quotes", "The words of these places, in the same order.", "texts"),
    ),
    first=(
        "edit_id", "optimization_id", "generation", "variant_id", "variant", "operation", "symptom", "cause", "anchor", "text",
        "won", "lost", "tied", "effect", "effect_low", "effect_high", "state", "reason", "in_winner",
    ),
)  # fmt: skip
LABELS: Final = table_columns(
    Label,
    "labels",
    first=(
        "conversation_id", "prompt_id", "question", "value", "labeller", "labelled_at", "chance", "draw_id",
        "optimization_id", "label_id",
    ),
)  # fmt: skip
BENCHMARK_ARMS: Final = table_columns(
    ComparedArm,
    "benchmark_arms",
    first=("arm", "name", "prompt"),
    computed=(
        _PROMPT_IF_KNOWN,
        _column("is_reference", "Whether the others are compared with this arm.", "boolean"),
        _column(
            "acceptable",
            "Whether it is the reference, or a loss of the margin or more is excluded.",
            "boolean",
        ),
        _column("is_cheapest", "Whether it is the cheapest of the acceptable arms.", "boolean"),
        _column(
            "cost_basis",
            "Criterion for the cheapest: ``price``, or ``tokens`` if an acceptable arm has no price.",
            "category",
            categories=COST_BASES,
        ),
    ),
)
JUDGES: Final = table_columns(Judge, "judges")
VERDICTS: Final = table_columns(
    JudgeVerdict,
    "verdicts",
    computed=(_PROMPT_IF_KNOWN,),
    first=("conversation_id", "prompt_id", "prompt", "status", "judge", "judge_version", "verdict", "reason"),
)


# Name of a table to all columns that can be requested.
TABLES: Final[dict[str, Columns]] = {
    "prompts": PROMPTS,
    "conversations": conversation_columns(insights=True, content=True),
    "issues": ISSUES,
    "topics": TOPICS,
    "messages": MESSAGES,
    "optimizations": OPTIMIZATIONS,
    "variants": VARIANTS,
    "simulations": _content_last(table_columns(Simulation, "simulations")),
    "targets": table_columns(
        TargetResult,
        "targets",
        computed=(_column("optimization_id", "The optimization that was to improve it."),),
        first=("optimization_id", "target", "change"),
    ),
    "edits": EDITS,
    "personas": table_columns(Persona, "personas", first=("persona_id",)),
    "versions": table_columns(PromptVersion, "versions", first=("version_id",)),
    "production_metrics": table_columns(ProductionMetric, "production_metrics", first=("metric",)),
    "actions": ACTIONS,
    "review": table_columns(VariantReview, "review"),
    "labels": LABELS,
    "events": table_columns(
        EventRecord,
        "events",
        computed=(
            _column("prompt_id", "The prompt, or agent, that it concerns."),
            _column("conversation_id", "The conversation that it concerns.", path=("data", "conversationId")),
            _column("optimization_id", "The optimization that it concerns.", path=("data", "optimizationId")),
            _column(
                "warnings",
                "Caveat about its numbers: a ``reductionPercent`` that is only the ratio of two counts.",
            ),
        ),
        first=("event_id", "type", "happened_at", "prompt_id", "conversation_id", "optimization_id", "data"),
    ),
    "webhooks": table_columns(Webhook, "webhooks"),
    "deliveries": table_columns(Delivery, "deliveries"),
    "benchmarks": table_columns(
        Benchmark,
        "benchmarks",
        computed=(_column("arm_count", "Number of arms compared.", "integer"),),
        first=(
            "benchmark_id",
            "name",
            "status",
            "arm_count",
            "scenario_count",
            "conversations_done",
            "conversations_total",
        ),
    ),
    "benchmark_arms": BENCHMARK_ARMS,
    "calibration": table_columns(CalibrationPair, "calibration"),
    "live": table_columns(LiveArm, "live"),
    "benchmark_conversations": _content_last(table_columns(BenchmarkConversation, "benchmark_conversations")),
    "scenario_sets": table_columns(ScenarioSet, "scenario_sets"),
    "scenarios": table_columns(FixedScenario, "scenarios"),
    "judges": JUDGES,
    "judge_runs": table_columns(
        JudgeRun, "judge_runs", first=("run_id", "kind", "judge_id", "judge", "judge_version", "status")
    ),
    "verdicts": VERDICTS,
    "usage": (
        _column("resource", "The resource: prompts, optimizations, conversations or tokens."),
        *table_columns(OptimizationsUsed, "usage"),
        *table_columns(BillingPeriod, "usage"),
    ),
    "fleet": table_columns(FleetAgent, "fleet"),
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
    "live": "lift.live(experiment_id).table",
    "benchmark_conversations": f"{_BENCHMARK}.conversations()",
    "scenario_sets": "lift.scenarios()",
    "scenarios": "lift.scenarios(scenario_set_id)",
    "judge_runs": "lift.judges.runs()",
    "verdicts": "lift.judges.verdicts(judge)",
    "deliveries": "lift.webhooks.deliveries(webhook_id)",
    "versions": "lift.versions(prompt_id)",
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
    >>> describe_columns().set_index(["table", "column"]).loc[("variants", "quality"), ["dtype", "unit"]].to_list()
    ['float64', '0 to 100']
    """
    rows = [
        (table, column.name, str(dtype_of(column)), column.unit, column.meaning)
        for table, columns in TABLES.items()
        for column in columns
    ]
    return pd.DataFrame(rows, columns=["table", "column", "dtype", "unit", "meaning"], dtype="str")
