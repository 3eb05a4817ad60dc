"""What the service derives from one conversation."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from promptlift.schema.model import ApiModel, UtcTime

Sentiment = Literal["positive", "neutral", "negative"]
SENTIMENTS: tuple[Sentiment, ...] = ("negative", "neutral", "positive")


class Insights(ApiModel):
    """Insights of one conversation: the view of ``GET /conversations/:id/insights`` and the object inside a conversation."""

    conversation_id: str | None = None
    sentiment: str | None = None
    sentiment_score: float | None = None
    """-1 to 1."""
    task_completed: bool | None = None
    quality: float | None = None
    """0 to 100. Our service gives it, others may not."""
    topics: list[str] = Field(default_factory=list)
    summary: str | None = None
    # unspecified: the shape of an issue. Ours has title, severity and evidence; any JSON is kept.
    issues: list[Any] = Field(default_factory=list)
    analyser: str | None = None
    """``lexicon`` or ``llm:`` and a model name. Our service gives it, others may not."""
    created_at: UtcTime | None = None


class RegenerateAnswer(ApiModel):
    """Answer of the two regenerate endpoints."""

    # unspecified: body and response.
    success: bool
    message: str | None = None
    queued: int | None = None
    """Conversations that will be judged again."""
