"""Insights, which the service derives from a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel, UtcTime

Sentiment = Literal["positive", "neutral", "negative"]
SENTIMENTS: tuple[Sentiment, ...] = ("negative", "neutral", "positive")
# Of issues, the least first.
SEVERITIES: tuple[str, ...] = ("low", "medium", "high")


class FailedStep(ApiModel):
    """The step of a conversation that first went wrong."""

    step: str
    kind: str
    """What went wrong, as in the answer of step-failures."""
    turn: int
    """Place of the message, from 0."""
    role: str
    quote: str


class Insights(ApiModel):
    """Insights of one conversation: the view of ``GET /conversations/:id/insights`` and the object inside a conversation."""

    conversation_id: str | None = None
    sentiment: Annotated[str | None, Column(categories=SENTIMENTS)] = None
    """``negative``, ``neutral`` or ``positive``."""
    sentiment_score: Annotated[float | None, Column(unit="-1 to 1")] = None
    """Sentiment of the user, -1 to 1."""
    task_completed: Annotated[bool | None, Column()] = None
    """Whether the conversation did what the user came for."""
    quality: Annotated[float | None, Column(unit="0 to 100")] = None
    """How good the answers were, 0 to 100. Our service gives it, others may not."""
    topics: Annotated[list[str], Column()] = Field(default_factory=list)
    """What the conversation was about."""
    summary: Annotated[str | None, Column()] = None
    """The conversation in a sentence or two."""
    # unspecified: the shape of an issue. Ours has title, severity and evidence; any JSON is kept.
    issues: Annotated[list[Any], Column()] = Field(default_factory=list)
    """What went wrong, one record each."""
    steps: list[str] = Field(default_factory=list)
    """The steps that the conversation came to: phases, and ``tool:`` with the name of a tool. Our service gives it."""
    failed_step: FailedStep | None = None
    """Where the conversation first went wrong; ``None`` where the task was completed. Our service gives it."""
    analyser: Annotated[str | None, Column()] = None
    """``lexicon`` or ``llm:`` and a model name. Our service gives it, others may not."""
    created_at: Annotated[UtcTime | None, Column(name="insights_at")] = None
    """When the conversation was judged."""


class RegenerateAnswer(ApiModel):
    """Answer of the two regenerate endpoints."""

    # unspecified: body and response.
    success: bool
    message: str | None = None
    queued: int | None = None
    """Conversations that will be judged again."""


def issue_record(issue: Any) -> dict[str, str | None]:
    """Return kind, title, severity and quote of an issue of any shape: the API leaves it open."""
    if not isinstance(issue, Mapping):
        return {"kind": "issue", "title": str(issue), "severity": None, "quote": None}
    severity = (_first(issue, "severity", "impact") or "").lower()
    return {
        "kind": _first(issue, "kind", "type", "category") or "issue",
        "title": _first(issue, "title", "issue", "name", "description"),
        "severity": "high" if severity == "critical" else severity or None,
        "quote": _first(issue, "evidence", "quote"),
    }


def _first(issue: Mapping[str, Any], *names: str) -> str | None:
    return next((str(issue[name]) for name in names if issue.get(name)), None)
