"""The columns of every table, in order, with their dtypes and categories: what notebooks rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from promptlift import frames

if TYPE_CHECKING:
    import pandas as pd

TABLES = {
    "conversations": lambda: frames.conversations_table([], insights=True, content=True)[0],
    "insights": lambda: frames.insights_table([])[0],
    "messages": lambda: frames.messages_table([])[0],
    "prompts": lambda: frames.prompts_table([])[0],
    "usage": lambda: frames.usage_table({})[0],
    "optimizations": lambda: frames.optimizations_table([])[0],
    "simulations": lambda: frames.simulations_table([], content=True)[0],
    "personas": lambda: frames.personas_table([])[0],
    "versions": lambda: frames.versions_table([])[0],
    "production_metrics": lambda: frames.production_metrics_table([])[0],
    "variants": lambda: frames.variants_table([])[0],
    "actions": lambda: frames.actions_table([])[0],
    "reviews": lambda: frames.review_table([])[0],
}
LAYOUT = {
    "conversations": [
        "conversation_id: str",
        "prompt_id: str",
        "prompt: str",
        "status: completed|abandoned|in_progress",
        "has_insights: boolean",
        "created_at: datetime64[us, UTC]",
        "started_at: datetime64[us, UTC]",
        "title: str",
        "n_turns: Int64",
        "duration_s: float64",
        "tokens: Int64",
        "input_tokens: Int64",
        "output_tokens: Int64",
        "cost: float64",
        "latency_ms: float64",
        "tool_calls: Int64",
        "tool_errors: Int64",
        "llm_model: str",
        "company_name: str",
        "source_id: str",
        "insights_error: str",
        "content: str",
        "sentiment: negative|neutral|positive",
        "sentiment_score: float64",
        "task_completed: boolean",
        "quality: float64",
        "topics: object",
        "summary: str",
        "issues: object",
        "insights_at: datetime64[us, UTC]",
        "analyser: str",
    ],
    "insights": [
        "conversation_id: str",
        "prompt: str",
        "sentiment: negative|neutral|positive",
        "sentiment_score: float64",
        "task_completed: boolean",
        "quality: float64",
        "topics: object",
        "summary: str",
        "issues: object",
        "insights_at: datetime64[us, UTC]",
        "analyser: str",
    ],
    "messages": [
        "conversation_id: str",
        "prompt: str",
        "turn: Int64",
        "role: user|assistant|system",
        "content: str",
        "sent_at: datetime64[us, UTC]",
        "model: str",
        "tokens: Int64",
    ],
    "prompts": [
        "prompt_id: str",
        "name: str",
        "status: active|draft|archived",
        "llm_model: str",
        "description: str",
        "tags: object",
        "temperature: float64",
        "max_tokens: Int64",
        "objective: str",
        "content: str",
        "created_at: datetime64[us, UTC]",
        "updated_at: datetime64[us, UTC]",
    ],
    "usage": [
        "resource: str",
        "used: Int64",
        "limit: Int64",
        "running: Int64",
        "period_start: datetime64[us, UTC]",
        "period_end: datetime64[us, UTC]",
    ],
    "optimizations": [
        "optimization_id: str",
        "prompt_id: str",
        "prompt: str",
        "status: queued|running|completed|failed|stopped",
        "mode: exploratory|validation",
        "variant_count: Int64",
        "winner_selected: boolean",
        "winning_variant_id: str",
        "lift_pct: float64",
        "confidence: float64",
        "created_at: datetime64[us, UTC]",
        "completed_at: datetime64[us, UTC]",
        "started_at: datetime64[us, UTC]",
        "lift_low: float64",
        "lift_high: float64",
        "lift_expected: float64",
        "n_pairs: Int64",
        "reason: str",
        "rehearsal: boolean",
        "deployment_state: staged|testing|rejected|live|superseded|rolled_back",
    ],
    "simulations": [
        "simulation_id: str",
        "optimization_id: str",
        "variant_id: str",
        "variant_number: Int64",
        "is_original: boolean",
        "stage: screen|confirm|regression",
        "pass_number: Int64",
        "cell: Int64",
        "persona_id: str",
        "persona: str",
        "scenario: str",
        "opening: str",
        "goal: str",
        "scenario_source: conversation|model",
        "status: completed|dropped",
        "task_completed: boolean",
        "sentiment: negative|neutral|positive",
        "sentiment_score: float64",
        "quality: float64",
        "criteria: object",
        "turns: Int64",
        "ended_by: persona|turns",
        "error: str",
        "created_at: datetime64[us, UTC]",
        "content: str",
    ],
    "personas": [
        "persona_id: str",
        "name: str",
        "description: str",
        "built_in: boolean",
        "created_at: datetime64[us, UTC]",
    ],
    "production_metrics": [
        "metric: task_completion|sentiment|quality|abandonment|response_time|length",
        "before: float64",
        "after: float64",
        "conversations_before: Int64",
        "conversations: Int64",
        "p: float64",
        "level: float64",
        "regressed: boolean",
    ],
    "versions": [
        "version_id: str",
        "number: Int64",
        "content: str",
        "origin: created|updated|applied|auto_deployed|rolled_back|restored",
        "optimization_id: str",
        "variant_id: str",
        "is_live: boolean",
        "created_at: datetime64[us, UTC]",
    ],
    "variants": [
        "optimization_id: str",
        "prompt: str",
        "variant_id: str",
        "name: str",
        "is_original: boolean",
        "is_winner: boolean",
        "stage: screen|confirm",
        "task_completion: float64",
        "sentiment: float64",
        "quality: float64",
        "lift: float64",
        "lift_points: float64",
        "lift_low: float64",
        "lift_high: float64",
        "interval_level: float64",
        "lift_expected: float64",
        "confidence: float64",
        "n: Int64",
        "n_pairs: Int64",
        "n_dropped: Int64",
        "n11: Int64",
        "n10: Int64",
        "n01: Int64",
        "n00: Int64",
        "look: Int64",
        "max_looks: Int64",
        "n_variants_tested: Int64",
        "lift_basis: relative_completion|points_completion|unknown",
        "uncertainty_source: service|none",
        "warnings: str",
        "content: str",
        "number: Int64",
        "original_task_completion: float64",
        "rehearsal: boolean",
    ],
    "actions": [
        "action_id: str",
        "kind: apply|stop|restore|undo",
        "acted_at: datetime64[us, UTC]",
        "prompt_id: str",
        "optimization_id: str",
        "variant_id: str",
        "from_version_id: str",
        "to_version_id: str",
        "note: str",
        "undoes: str",
        "undone: boolean",
        "undone_by: str",
        "undone_at: datetime64[us, UTC]",
        "outcome: done|unknown",
    ],
    "reviews": [
        "variant_id: str",
        "verdict: keep|reject",
        "note: str",
        "updated_at: datetime64[us, UTC]",
    ],
}


def layout(table: pd.DataFrame) -> list[str]:
    return [
        f"{name}: {'|'.join(column.dtype.categories) if column.dtype == 'category' else column.dtype}"
        for name, column in table.items()
    ]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_its_columns_in_order_with_their_dtypes(name):
    table = TABLES[name]()
    assert layout(table) == LAYOUT[name]
    assert table.attrs == {}


def test_content_and_insights_are_added_only_when_asked_for():
    plain = frames.conversations_table([])[0]
    assert layout(plain) == LAYOUT["conversations"][:21]
    assert layout(frames.conversations_table([], content=True)[0]) == LAYOUT["conversations"][:22]
    assert layout(frames.simulations_table([])[0]) == LAYOUT["simulations"][:-1]


def test_the_table_of_variants_says_its_units():
    assert frames.variants_table([])[2]["units"] == {
        "task_completion": "fraction",
        "original_task_completion": "fraction",
        "sentiment": "-1 to 1",
        "quality": "0 to 100",
        "lift": "percent of the original's task completion",
        "lift_low": "percent",
        "lift_high": "percent",
        "lift_expected": "percent",
        "lift_points": "percentage points",
        "confidence": "0 to 1",
    }
