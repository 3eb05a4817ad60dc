"""Prompts (agents in the agent scheme), their status view and their aggregated insights."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, Field, field_validator

from promptlift.schema import limits
from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel, LinkedModel, RequestModel, UtcTime, not_null
from promptlift.schema.texts import LongText, ModelName, Name, PromptText, Tag

PromptStatus = Literal["active", "draft", "archived"]
PROMPT_STATUSES: Final[tuple[PromptStatus, ...]] = get_args(PromptStatus)


class Prompt(ApiModel):
    """A named block of instruction text, bound to a target model."""

    id: Annotated[str, Column(name="prompt_id")]
    """The prompt's id."""
    name: Annotated[str, Column()]
    """The prompt's name."""
    content: Annotated[str, Column(meaning="The prompt's text; missing where it is not known yet.")]
    """The prompt's text, or a placeholder for it."""
    content_known: bool | None = None
    """Whether ``content`` is the prompt's text; ``False`` where it is a placeholder. A field of ours."""
    llm_model: Annotated[str | None, Column()] = None
    """The model that the prompt is written for."""
    description: Annotated[str | None, Column()] = None
    """What the prompt is for."""
    tags: Annotated[list[str], Column()] = Field(default_factory=list)
    """Labels for grouping and filtering."""
    temperature: Annotated[float | None, Column()] = None
    """Sampling temperature."""
    max_tokens: Annotated[int | None, Column(unit="tokens")] = None
    """Limit on the length of an answer, in tokens."""
    objective: Annotated[str | None, Column()] = None
    """What counts as success."""
    status: Annotated[str, Column(categories=PROMPT_STATUSES)]
    """``active``, ``draft`` or ``archived``."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When the prompt was created."""
    updated_at: Annotated[UtcTime | None, Column()] = None
    """When the prompt was last changed."""


class PromptChange(ApiModel):
    """Answer of ``PATCH /prompts/:id``."""

    id: str
    name: str | None = None
    content: str | None = None
    updated_at: UtcTime | None = None


def _past(time: datetime) -> datetime:
    if time > datetime.now(UTC):
        raise ValueError("must not be in the future")
    return time


PastTime = Annotated[UtcTime, AfterValidator(_past)]


Tags = Annotated[list[Tag], Field(max_length=limits.TAGS)]
Temperature = Annotated[float, Field(ge=limits.TEMPERATURE_MIN, le=limits.TEMPERATURE_MAX)]
MaxTokens = Annotated[int, Field(ge=1, le=limits.MAX_TOKENS_MAX)]


class PromptCreate(RequestModel):
    """Body of ``POST /prompts``."""

    name: Name
    content: PromptText
    content_known: bool | None = None
    """``False`` where ``content`` is a placeholder for a text that is not known yet. A field of ours."""
    live_from: PastTime | None = None
    """Since when this text is in use; now when it is left out. A field of ours."""
    llm_model: ModelName
    description: LongText | None = None
    tags: Tags | None = None
    temperature: Temperature | None = None
    max_tokens: MaxTokens | None = None
    objective: LongText | None = None


class PromptUpdate(RequestModel):
    """Body of ``PATCH /prompts/:id``: any subset of the prompt input fields, and ``status``."""

    name: Name | None = None
    content: PromptText | None = None
    live_from: PastTime | None = None
    """Since when this text is in use, not before the one that it follows; now when it is left out. A field of ours."""
    llm_model: ModelName | None = None
    description: LongText | None = None
    tags: Tags | None = None
    temperature: Temperature | None = None
    max_tokens: MaxTokens | None = None
    objective: LongText | None = None
    # unspecified: how a prompt changes its status. A field of the update does it.
    status: PromptStatus | None = None

    _not_null = field_validator("name", "content", "llm_model", "status", mode="before")(not_null)


class StatusMetrics(ApiModel):
    """Figures of the status view, over all conversations of the prompt."""

    conversation_count: int
    task_completion_rate: float | None
    """Percent of judged conversations that have ended; ``None`` when there are none."""
    avg_sentiment: float | None
    """Mean sentiment score, -1 to 1; ``None`` when there are none."""


class MissingReason(ApiModel):
    """A reason for missing insights, and the number of conversations that it concerns."""

    reason: str
    count: int


class InsightCounts(ApiModel):
    """Counts of a prompt's conversations by the state of their insights."""

    ready: int
    waiting: int
    """Still without insights: to be judged, or to fail."""
    failed: int
    """Could not be judged in any attempt; they can be requested again."""
    reasons: list[MissingReason] = Field(default_factory=list)
    """Why conversations wait or failed, where it is known, the most frequent first."""


class PromptStatusView(ApiModel):
    """Answer of ``GET /prompts/:id/status``."""

    id: str
    name: str
    status: str
    optimization_state: str
    metrics: StatusMetrics
    insights: InsightCounts | None = None
    """Beyond the specification: our service gives it, others may not."""
    last_optimized: UtcTime | None = None


class Period(ApiModel):
    """Days that a view covers."""

    days: int | str | None = None
    """Number of days; ``all`` when the view covers everything."""
    from_: UtcTime | None = Field(default=None, alias="from")
    to: UtcTime | None = None


class ConversationCounts(ApiModel):
    """Conversations of the period."""

    total_conversations: int
    completed_conversations: int
    abandoned_conversations: int
    completion_rate: float | None
    """Percent; ``None`` when no conversation ended."""


class TaskCompletion(ApiModel):
    """Task completion of the period."""

    rate: float | None
    """Percent of judged conversations that have ended."""
    trend: str | None
    """Signed percent text, as the service says it."""


class SentimentSummary(ApiModel):
    """Sentiment of the period."""

    average: float | None
    distribution: dict[str, float]
    """Counts of ``positive``, ``neutral`` and ``negative``."""


class InsightMetrics(ApiModel):
    """Metrics of the insights view."""

    task_completion: TaskCompletion
    sentiment: SentimentSummary
    avg_response_time: float | None = None
    """Seconds between a user message and the answer to it."""
    avg_conversation_length: float | None = None
    """Messages a conversation."""


class TopIssue(ApiModel):
    """One issue and how often it came up."""

    issue: str
    frequency: float
    """Conversations that had it."""
    impact: str | None = None


class PromptInsightsView(LinkedModel):
    """Answer of ``GET /prompts/:id/insights``."""

    period: Period
    summary: ConversationCounts
    metrics: InsightMetrics
    top_issues: list[TopIssue] = Field(default_factory=list)
    recommendations: list[str] = Field(default_factory=list)


class FleetIntelligence(ApiModel):
    """An agent among all agents of the account."""

    agents: int
    """Agents with judged conversations."""
    rank: int | None = None
    """Place by task completion, 1 is the best."""
    task_completion_rate: float | None = None
    """Percent, over all agents."""


class BusinessImpact(ApiModel):
    """Failed and abandoned conversations of the period."""

    failed_conversations: int
    failed_rate: float | None = None
    """Percent of judged conversations that have ended."""
    abandoned_conversations: int


class AgentIssue(TopIssue):
    """An issue and how many of its conversations failed."""

    failed_conversations: int


class AgentInsightsView(PromptInsightsView):
    """Answer of ``GET /agents/:id/insights``."""

    # unspecified: the answer beyond these three names.
    fleet_intelligence: FleetIntelligence | None = None
    business_impact: BusinessImpact | None = None
    issues: list[AgentIssue] = Field(default_factory=list)


class StepFailures(LinkedModel):
    """Answer of ``GET /agents/:id/step-failures``."""

    period: Period | None = None
    total_failures: int | None = None
    # unspecified: the shape of the answer. One record a turn number at which conversations failed.
    steps: list[dict[str, Any]] = Field(default_factory=list)
