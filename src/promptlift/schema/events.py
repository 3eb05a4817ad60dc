"""Webhook events: the envelope, the twelve kinds of the specification and one of ours, their payloads, in one union."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_args

import orjson
from pydantic import ConfigDict, Field, TypeAdapter
from pydantic import ValidationError as PydanticError

from promptlift.errors import EventError
from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel, UtcTime

EventKind = Literal[
    "prompt.updated",
    "prompt.deleted",
    "optimization.started",
    "optimization.completed",
    "optimization.stopped",
    "regression_test.completed",
    "insights.generated",
    "conversation.created",
    "deployment.verified",
    "deployment.not_fixed",
    "deployment.regressed",
    "deployment.confounded",
    "quality.dropped",
]
EVENT_KINDS: tuple[EventKind, ...] = get_args(EventKind)

_RATIO_OF_COUNTS: Final = (
    "The reduction is only the ratio of the two counts of failures; it ignores how many conversations there were before and "
    "after."
)


class Expectation(ApiModel):
    """What to expect in production of the variant in an event. Ours; omitted if unknown."""

    expected_percentage: float | None = None
    """Lift to expect in percent of the original's task completion: ``liftExpected`` on the mix of conversations to quote."""
    expected_percentage_low: float | None = None
    """Lower end of its 90% interval."""
    expected_percentage_high: float | None = None


class PromptUpdated(Expectation):
    """Prompt content changed. Includes the expectation if a variant was applied."""

    prompt_id: str
    prompt_name: str | None = None
    update_type: str | None = None
    variant_id: str | None = None
    applied_at: UtcTime | None = None


class PromptDeleted(ApiModel):
    """Prompt deleted."""

    prompt_id: str
    deleted_at: UtcTime | None = None


class OptimizationStarted(ApiModel):
    """Optimization began."""

    optimization_id: str
    prompt_id: str
    status: str | None = None
    settings: dict[str, Any] | None = None
    started_at: UtcTime | None = None


class OptimizationCompleted(ApiModel):
    """Optimization finished."""

    optimization_id: str
    prompt_id: str
    results: dict[str, Any] | None = None
    """``winner`` and ``improvementPercentage``, what was measured. Ours: ``winnerSelected``, ``confidence``, ``reason``,
    ``rehearsal``, and the expectation for a winner: ``expectedPercentage`` with its 90% interval,
    ``expectedPercentageLow`` and ``expectedPercentageHigh``."""
    duration: float | None = None
    """Seconds."""
    completed_at: UtcTime | None = None


class OptimizationStopped(ApiModel):
    """Optimization stopped by a person."""

    optimization_id: str
    prompt_id: str
    reason: str | None = None
    stopped_at: UtcTime | None = None


class RegressionSummary(ApiModel):
    """Scenarios of a regression test, counted."""

    total: int
    passed: int
    regressed: int


class RegressionScenario(ApiModel):
    """One scenario of a regression test."""

    name: str
    passed: bool
    delta: float | None = None


class RegressionTestCompleted(Expectation):
    """Regression test finished."""

    optimization_id: str
    prompt_id: str
    variant_id: str | None = None
    passed: bool
    summary: RegressionSummary
    scenarios: list[RegressionScenario] = Field(default_factory=list)


class InsightsGenerated(ApiModel):
    """New insights available."""

    conversation_id: str
    prompt_id: str
    insights_id: str | None = None
    summary: str | None = None
    sentiment: str | None = None


class ConversationCreated(ApiModel):
    """New conversation logged."""

    conversation_id: str
    prompt_id: str
    status: str | None = None
    created_at: UtcTime | None = None


class DeploymentIssue(ApiModel):
    """One issue before and after a deployed fix."""

    issue_id: str
    title: str | None = None
    before_fail_count: int
    after_fail_count: int


class AnswerComparison(ApiModel):
    """One answer before and after a deployed fix."""

    before: str
    after: str


class Deployment(Expectation):
    """The verdict on a deployed fix. ``deployment.confounded`` has no reduction."""

    agent_id: str
    agent_name: str | None = None
    verification_status: str | None = None
    reduction_percent: float | None = None
    post_fix_conversation_count: int | None = None
    """Conversations in which the failures after the fix were counted."""
    pre_fix_conversation_count: int | None = None
    """Conversations before the fix. Ours: without it a lower failure rate cannot be distinguished from fewer conversations."""
    issues: list[DeploymentIssue] = Field(default_factory=list)
    answer_comparison: AnswerComparison | None = None

    @property
    def warning(self) -> str:
        """A warning when the reduction is only the ratio of two counts; empty otherwise."""
        return reduction_warning(self.to_wire())


class QualityDropped(ApiModel):
    """A prompt has fallen below the completion rate of its ``alertBelow``. Ours."""

    prompt_id: str
    prompt_name: str
    alert_below: float
    """The lowest completion rate that it should have, a fraction."""
    completion_rate: float
    """Completed share of the conversations since it most likely fell, a fraction."""
    conversations: int
    """Ended conversations with a verdict since then."""
    since: UtcTime
    """The day on which it most likely fell."""
    basis: str
    """The basis of the verdicts, the weakest of several."""


def reduction_warning(payload: dict[str, Any]) -> str:
    """Return a warning when the reduction in a payload is only the ratio of two counts.

    8 failures before and 3 after are 62.5% fewer, whether there were 400 conversations before and 40 after
    or the other way round. If the counts of conversations are known and equal, the ratio is correct.

    Parameters
    ----------
    payload
        Payload of a deployment event, as sent.
    """
    reduction, issues = payload.get("reductionPercent"), payload.get("issues")
    if not isinstance(reduction, int | float) or isinstance(reduction, bool) or not isinstance(issues, list):
        return ""
    counts = [
        (one.get("beforeFailCount"), one.get("afterFailCount")) for one in issues if isinstance(one, dict)
    ]
    if not counts or not all(isinstance(count, int) for pair in counts for count in pair):
        return ""
    before, after = (sum(side) for side in zip(*counts, strict=True))
    # If nothing failed afterwards, the rates also give 100 percent, whatever the number of conversations.
    if not before or not after or not Printed.of(reduction).meets(Printed.of(100.0 * (1.0 - after / before))):
        return ""
    was, now = payload.get("preFixConversationCount"), payload.get("postFixConversationCount")
    return "" if was is not None and was == now else _RATIO_OF_COUNTS


class _Envelope(ApiModel):
    id: str
    timestamp: UtcTime
    sequence: int | None = None
    """Number of the event among those of its webhook: 1, 2, 3 and so on without gaps, the same on every attempt. A failed event is sent again after later ones, so numbers may arrive out of order. Ours."""


class PromptUpdatedEvent(_Envelope):
    """``prompt.updated``."""

    type: Literal["prompt.updated"]
    data: PromptUpdated


class PromptDeletedEvent(_Envelope):
    """``prompt.deleted``."""

    type: Literal["prompt.deleted"]
    data: PromptDeleted


class OptimizationStartedEvent(_Envelope):
    """``optimization.started``."""

    type: Literal["optimization.started"]
    data: OptimizationStarted


class OptimizationCompletedEvent(_Envelope):
    """``optimization.completed``."""

    type: Literal["optimization.completed"]
    data: OptimizationCompleted


class OptimizationStoppedEvent(_Envelope):
    """``optimization.stopped``."""

    type: Literal["optimization.stopped"]
    data: OptimizationStopped


class RegressionTestCompletedEvent(_Envelope):
    """``regression_test.completed``."""

    type: Literal["regression_test.completed"]
    data: RegressionTestCompleted


class InsightsGeneratedEvent(_Envelope):
    """``insights.generated``."""

    type: Literal["insights.generated"]
    data: InsightsGenerated


class ConversationCreatedEvent(_Envelope):
    """``conversation.created``."""

    type: Literal["conversation.created"]
    data: ConversationCreated


class DeploymentEvent(_Envelope):
    """The four deployment kinds."""

    type: Literal[
        "deployment.verified",
        "deployment.not_fixed",
        "deployment.regressed",
        "deployment.confounded",
    ]
    data: Deployment


class QualityEvent(_Envelope):
    """``quality.dropped``. Ours."""

    type: Literal["quality.dropped"]
    data: QualityDropped


Event = Annotated[
    PromptUpdatedEvent
    | PromptDeletedEvent
    | OptimizationStartedEvent
    | OptimizationCompletedEvent
    | OptimizationStoppedEvent
    | RegressionTestCompletedEvent
    | InsightsGeneratedEvent
    | ConversationCreatedEvent
    | DeploymentEvent
    | QualityEvent,
    Field(discriminator="type"),
]
_EVENT: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))


class EventRecord(ApiModel):
    """An event in the list of ``GET /events``. Ours."""

    id: Annotated[str, Column(name="event_id")]
    """The event's id."""
    type: Annotated[str, Column(categories=EVENT_KINDS)]
    """Its kind."""
    timestamp: Annotated[UtcTime, Column(name="happened_at")]
    """When it happened."""
    data: Annotated[dict[str, Any], Column(kind="record")]
    """Its payload, as webhooks receive it."""


def read(body: bytes | str) -> Event:
    """Read an event without checking a signature.

    Raises
    ------
    EventError
        The body is not an event of the API.
    """
    try:
        return _EVENT.validate_python(orjson.loads(body))
    except (orjson.JSONDecodeError, PydanticError) as error:
        raise EventError(f"The body is not an event of the API: {error}") from error


@dataclass(frozen=True, slots=True)
class Printed:
    """The range of numbers that round to a printed number: 73.3 stands for 73.25 to 73.35."""

    low: float
    high: float

    @classmethod
    def of(cls, value: float) -> "Printed":
        """Return the range of a printed number."""
        half = _half_a_digit(value)
        return cls(value - half, value + half)

    def meets(self, other: "Printed") -> bool:
        """Return whether both may represent the same number."""
        return self.low <= other.high and other.low <= self.high


def _half_a_digit(value: float) -> float:
    mantissa, _, exponent = repr(float(value)).partition("e")
    decimals = len(mantissa.rpartition(".")[2]) if not mantissa.endswith(".0") else 0
    # Numbers with all digits are exact up to the rounding of arithmetic.
    return max(0.5 * 10.0 ** (int(exponent or 0) - decimals), 1e-9 * max(1.0, abs(value)))
