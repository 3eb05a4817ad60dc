"""Prompts (agents in the agent scheme): their status view, the versions of their text, and what people did to them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, Field, field_validator

from promptlift.schema import limits
from promptlift.schema.columns import Column
from promptlift.schema.model import (
    ApiModel,
    Identifier,
    LinkedModel,
    LongText,
    ModelName,
    Name,
    PromptText,
    RequestModel,
    Tag,
    UtcTime,
    not_null,
)
from promptlift.schema.outcomes import parse_rule

PromptStatus = Literal["active", "draft", "archived"]


class CompletionOfWeek(ApiModel):
    """Task completion of a prompt in seven days. Ours."""

    from_: Annotated[UtcTime, Field(alias="from")]
    """When the seven days began."""
    judged: int
    """Judged conversations that have ended."""
    completed: int
    """Those of them with a completed task."""


class PromptCompletion(ApiModel):
    """Conversations and task completion of a prompt. Ours."""

    conversations: int
    """All conversations."""
    with_insights: int
    """Those that have insights."""
    judged: int
    """Those that have insights and have ended."""
    completed: int
    """Those of the judged with a completed task."""
    rate: float | None
    """Percent of the judged; ``None`` when there are none."""
    rate_low: float | None
    """Lower end of its 95 % interval, by Wilson's method."""
    rate_high: float | None
    """Upper end of it."""
    weeks: list[CompletionOfWeek]
    """The last eight times seven days, the oldest first. All prompts of a page have the same ones: they end with the day
    of the latest conversation of any of them. None when there are no conversations."""


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
    """Sampling temperature; ``None`` where none was given (unspecified)."""
    max_tokens: Annotated[int | None, Column(unit="tokens")] = None
    """Limit on the length of an answer, in tokens; ``None`` where none was given (unspecified)."""
    objective: Annotated[str | None, Column()] = None
    """What counts as success."""
    outcome: str | None = None
    """The rule by which the metadata of a conversation say that it succeeded, such as ``score.reward >= 1``; without one the
    analyser's verdict counts. A field of ours, absent where there is none."""
    status: Annotated[str, Column(categories=get_args(PromptStatus))]
    """``active``, ``draft`` or ``archived``."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When the prompt was created."""
    updated_at: Annotated[UtcTime | None, Column()] = None
    """When the prompt was last changed."""
    completion: PromptCompletion | None = None
    """In lists, where ``includeCompletion`` asks for it. A field of ours."""


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


def _rule(text: str) -> str:
    return str(parse_rule(text))


# An empty text takes the outcome away.
Outcome = Annotated[LongText, AfterValidator(lambda text: _rule(text) if text.strip() else "")]
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
    outcome: Outcome | None = None
    """A field of ours, see ``Prompt``."""


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
    outcome: Outcome | None = None
    """Judge by this rule; ``null`` or an empty text returns to the analyser's verdict. A field of ours."""
    # unspecified: how a prompt changes its status. A field of the update does it.
    status: PromptStatus | None = None

    _not_null = field_validator("name", "content", "llm_model", "status", mode="before")(not_null)


# unspecified: rates and averages of nothing. The specification types them as numbers, and no number would be true of no
# conversation, so they are null; counts of nothing are 0.


class StatusMetrics(ApiModel):
    """Figures of the status view, over all conversations of the prompt."""

    conversation_count: int
    task_completion_rate: float | None
    """Percent of judged conversations that have ended; ``None`` when there are none (unspecified)."""
    avg_sentiment: float | None
    """Mean sentiment score, -1 to 1; ``None`` when there are none (unspecified)."""


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
    again: int | None = None
    """Ready, and waiting to be judged again or for another verdict."""
    reasons: list[MissingReason] = Field(default_factory=list)
    """Why conversations wait or failed, where it is known, the most frequent first."""


OPTIMIZATION_STATES: Final = ("running", "queued", "testing", "staged", "idle")


class PromptStatusView(ApiModel):
    """Answer of ``GET /prompts/:id/status``."""

    id: str
    name: str
    status: str
    optimization_state: str
    """``idle``; ours beside it: ``running`` and ``queued`` of an optimization, ``testing`` while a variant's regression test
    runs, ``staged`` while one waits for approval."""
    metrics: StatusMetrics
    insights: InsightCounts | None = None
    """Beyond the specification: our service gives it, others may not."""
    last_optimized: UtcTime | None = None


VERSION_ORIGINS: Final = ("created", "updated", "applied", "auto_deployed", "rolled_back", "restored")


class PromptVersion(ApiModel):
    """One text of a prompt."""

    id: Annotated[str, Column(name="version_id")]
    """The version's id."""
    number: Annotated[int, Column(meaning="Number of the version; 1 is the first text.")]
    """1 is the first text."""
    content: Annotated[str | None, Column(meaning="The text; missing where it is not known.")] = None
    """``None`` where the text is not known."""
    origin: Annotated[str | None, Column(categories=VERSION_ORIGINS)] = None
    """``created``, ``updated``, ``applied``, ``auto_deployed``, ``rolled_back`` or ``restored``."""
    optimization_id: Annotated[str | None, Column()] = None
    """The optimization that it comes from."""
    variant_id: Annotated[str | None, Column()] = None
    """The variant that it comes from."""
    is_live: Annotated[bool | None, Column()] = None
    """Whether it is the prompt's current text."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """Since when it has been in use."""


class RestoreRequest(RequestModel):
    """Body of ``POST /prompts/:id/restore``."""

    version_id: Identifier
    if_version_id: str | None = None
    """Restore only while this version is live, so that no change by others is overwritten unseen."""
    note: LongText | None = None
    """Kept with the action in ``GET /actions``."""


class TextChange(LinkedModel):
    """Answer of what makes another text of a prompt current. Other services may leave out all but ``success``."""

    success: bool
    message: str | None = None
    version_id: str | None = None
    """The version that is live now; one that was restored has the former text, byte for byte."""
    previous_version_id: str | None = None
    """The version that was live before."""
    action_id: str | None = None
    """The action in ``GET /actions``; undoing it brings the text before back."""


class RestoreAnswer(TextChange):
    """Answer of ``POST /prompts/:id/restore``."""

    changed: bool | None = None
    """Whether the text changed; ``False`` when it was live already."""


ACTION_KINDS: Final = ("apply", "stop", "restore", "undo")


class Action(LinkedModel):
    """One action of a person."""

    id: Annotated[str, Column(name="action_id")]
    """The action's id."""
    kind: Annotated[str, Column(categories=ACTION_KINDS)]
    """``apply``, ``stop``, ``restore`` or ``undo``."""
    optimization_id: Annotated[str | None, Column()] = None
    """The optimization that it concerned."""
    variant_id: Annotated[str | None, Column()] = None
    """The variant that it concerned."""
    from_version_id: Annotated[str | None, Column()] = None
    """The version that was live before; ``None`` for a stop."""
    to_version_id: Annotated[str | None, Column()] = None
    """The version that was live after it."""
    note: Annotated[str | None, Column()] = None
    """What the person noted."""
    undoes: Annotated[str | None, Column()] = None
    """The action that this one undid."""
    undone_by: Annotated[str | None, Column()] = None
    """The action that undid this one."""
    undone_at: Annotated[UtcTime | None, Column()] = None
    """When it was undone."""
    created_at: Annotated[UtcTime | None, Column(name="acted_at")] = None
    """When it was done."""


class UndoRequest(RequestModel):
    """Body of ``POST /actions/:id/undo``."""

    note: LongText | None = None


class UndoAnswer(TextChange):
    """Answer of ``POST /actions/:id/undo``; ``action_id`` is the undoing itself."""
