"""Prompts (agents in the agent scheme): their status view, versions, and people's actions."""

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
    """Task completion of a prompt over seven days. Ours."""

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
    """Judged ones with a completed task."""
    rate: float | None
    """Percent of the judged; ``None`` if there are none."""
    rate_low: float | None
    """Lower end of its 95% interval, by Wilson's method."""
    rate_high: float | None
    """Upper end of it."""
    basis: str | None = None
    """The basis of the verdicts, the weakest of several; ``None`` if there are none."""
    optimizing: list[str] = Field(default_factory=list)
    """Ids of the prompt's queued and running optimizations."""
    weeks: list[CompletionOfWeek]
    """The last eight periods of seven days, oldest first. They are the same for all prompts of a page and end with the day of the latest conversation of any of them. None if there are no conversations."""


class Prompt(ApiModel):
    """A named block of instruction text, bound to a target model."""

    id: Annotated[str, Column(name="prompt_id")]
    """The prompt's id."""
    name: Annotated[str, Column()]
    """The prompt's name."""
    content: Annotated[str, Column(meaning="The prompt's text; missing if not known yet.")]
    """The prompt's text, or a placeholder for it."""
    content_known: bool | None = None
    """Whether ``content`` is the prompt's text; ``False`` if it is a placeholder. A field of ours."""
    llm_model: Annotated[str | None, Column()] = None
    """The model for which the prompt is written."""
    description: Annotated[str | None, Column()] = None
    """The purpose of the prompt."""
    tags: Annotated[list[str], Column()] = Field(default_factory=list)
    """Labels for grouping and filtering."""
    temperature: Annotated[float | None, Column()] = None
    """Sampling temperature; ``None`` if not given (unspecified)."""
    max_tokens: Annotated[int | None, Column(unit="tokens")] = None
    """Limit on the length of an answer, in tokens; ``None`` if not given (unspecified)."""
    objective: Annotated[str | None, Column()] = None
    """The definition of success."""
    outcome: str | None = None
    """The rule by which the metadata of a conversation determine its success, such as ``score.reward >= 1``; without a rule the analyser's verdict counts. A field of ours, absent if there is none."""
    alert_below: float | None = None
    """The completion rate, a fraction, below which ``quality.dropped`` is emitted. A field of ours, ``None`` if there is none."""
    status: Annotated[str, Column(categories=get_args(PromptStatus))]
    """``active``, ``draft`` or ``archived``."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When the prompt was created."""
    updated_at: Annotated[UtcTime | None, Column()] = None
    """When the prompt was last changed."""
    completion: PromptCompletion | None = None
    """In lists, if requested by ``includeCompletion``. A field of ours."""


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


# An empty text removes the outcome.
Outcome = Annotated[LongText, AfterValidator(lambda text: str(parse_rule(text)) if text.strip() else "")]


def _line(rate: float) -> float:
    if not 0.0 <= rate < 1.0:
        raise ValueError("must be a rate below 1, such as 0.8, or 0 for none")
    return rate


AlertBelow = Annotated[float, AfterValidator(_line)]
Tags = Annotated[list[Tag], Field(max_length=limits.TAGS)]
Temperature = Annotated[float, Field(ge=limits.TEMPERATURE_MIN, le=limits.TEMPERATURE_MAX)]
MaxTokens = Annotated[int, Field(ge=1, le=limits.MAX_TOKENS_MAX)]


class PromptInput(RequestModel):
    """What may be said of a prompt besides its name, text and model."""

    live_from: PastTime | None = None
    """Since when this text has been in use, not before the previous one; by default now. A field of ours."""
    description: LongText | None = None
    tags: Tags | None = None
    temperature: Temperature | None = None
    max_tokens: MaxTokens | None = None
    objective: LongText | None = None
    outcome: Outcome | None = None
    """Judge by this rule; ``null`` or an empty text means the analyser's verdict. A field of ours."""
    alert_below: AlertBelow | None = None
    """Emit ``quality.dropped`` when the completion rate falls below this fraction; ``null`` or 0 for never. A field of ours."""


class PromptCreate(PromptInput):
    """Body of ``POST /prompts``."""

    name: Name
    content: PromptText
    content_known: bool | None = None
    """``False`` if ``content`` is a placeholder for an unknown text. A field of ours."""
    llm_model: ModelName


class PromptUpdate(PromptInput):
    """Body of ``PATCH /prompts/:id``: any subset of the prompt input fields, and ``status``."""

    name: Name | None = None
    content: PromptText | None = None
    llm_model: ModelName | None = None
    # unspecified: how a prompt changes its status. A field of the update does it.
    status: PromptStatus | None = None

    _not_null = field_validator("name", "content", "llm_model", "status", mode="before")(not_null)


# unspecified: rates and averages without data. The specification types them as numbers, but no number would
# be true without conversations, so they are null; counts are 0.


class StatusMetrics(ApiModel):
    """Figures of the status view, over all conversations of the prompt."""

    conversation_count: int
    task_completion_rate: float | None
    """Percent of judged conversations that have ended; ``None`` when there are none (unspecified)."""
    avg_sentiment: float | None
    """Mean sentiment score, -1 to 1; ``None`` when there are none (unspecified)."""


class MissingReason(ApiModel):
    """A reason for missing insights, and the number of conversations affected."""

    reason: str
    count: int


class InsightCounts(ApiModel):
    """Counts of a prompt's conversations by the state of their insights."""

    ready: int
    waiting: int
    """Still without insights: waiting to be judged."""
    failed: int
    """Could not be judged in any attempt; they can be requested again."""
    again: int | None = None
    """Ready, and waiting to be judged again or for a new verdict."""
    reasons: list[MissingReason] = Field(default_factory=list)
    """Why conversations wait or failed, if known, most frequent reason first."""


OPTIMIZATION_STATES: Final = ("running", "queued", "testing", "staged", "idle")


class PromptStatusView(ApiModel):
    """Answer of ``GET /prompts/:id/status``."""

    id: str
    name: str
    status: str
    optimization_state: str
    """``idle``; in addition, ours are ``running`` and ``queued`` for an optimization, ``testing`` while a variant's regression test
    runs, ``staged`` while a variant waits for approval."""
    metrics: StatusMetrics
    insights: InsightCounts | None = None
    """Beyond the specification: our service provides it, others may not."""
    last_optimized: UtcTime | None = None


VERSION_ORIGINS: Final = ("created", "updated", "applied", "auto_deployed", "rolled_back", "restored")


class PromptVersion(ApiModel):
    """One text of a prompt."""

    id: Annotated[str, Column(name="version_id")]
    """The version's id."""
    number: Annotated[int, Column(meaning="Number of the version; 1 is the first text.")]
    """1 is the first text."""
    content: Annotated[str | None, Column(meaning="The text; missing if unknown.")] = None
    """``None`` if the text is unknown."""
    origin: Annotated[str | None, Column(categories=VERSION_ORIGINS)] = None
    """``created``, ``updated``, ``applied``, ``auto_deployed``, ``rolled_back`` or ``restored``."""
    optimization_id: Annotated[str | None, Column()] = None
    """The optimization from which it comes."""
    variant_id: Annotated[str | None, Column()] = None
    """The variant from which it comes."""
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
    """Stored with the action in ``GET /actions``."""


class TextChange(LinkedModel):
    """Answer of actions that make another text of a prompt current. Other services may omit all but ``success``."""

    success: bool
    message: str | None = None
    version_id: str | None = None
    """The version that is live now; a restored version has the earlier text, byte for byte."""
    previous_version_id: str | None = None
    """The version that was live before."""
    action_id: str | None = None
    """The action in ``GET /actions``; undoing it restores the previous text."""


class RestoreAnswer(TextChange):
    """Answer of ``POST /prompts/:id/restore``."""

    changed: bool | None = None
    """Whether the text changed; ``False`` if it was already live."""


ACTION_KINDS: Final = ("apply", "stop", "restore", "undo")


class Action(LinkedModel):
    """One action of a person."""

    id: Annotated[str, Column(name="action_id")]
    """The action's id."""
    kind: Annotated[str, Column(categories=ACTION_KINDS)]
    """``apply``, ``stop``, ``restore`` or ``undo``."""
    optimization_id: Annotated[str | None, Column()] = None
    """The optimization concerned."""
    variant_id: Annotated[str | None, Column()] = None
    """The variant concerned."""
    from_version_id: Annotated[str | None, Column()] = None
    """The version that was live before; ``None`` for a stop."""
    to_version_id: Annotated[str | None, Column()] = None
    """The version that was live after it."""
    note: Annotated[str | None, Column()] = None
    """The person's note."""
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
