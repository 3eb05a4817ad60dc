"""Insights, which the service derives from conversations: those of one, and of all of a prompt or agent.

Fields that the specification does not have are ours; another service may leave them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from promptlift.schema.basis import BASES
from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel, LinkedModel, UtcTime

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
    basis: Annotated[str | None, Column(categories=BASES)] = None
    """What ``task_completed`` rests on: ``outcome``, ``label``, ``model``, ``learned`` or ``words``. Our service gives it, others may
    not."""
    judged_completed: bool | None = None
    """The analyser's own verdict, where an outcome of the log or a learned judge is the one that counts."""
    completion_chance: Annotated[float | None, Column(unit="fraction")] = None
    """How likely the task was completed, where a judge that learned from labels decided it."""
    completed_by: str | None = None
    """``learned:`` with the prompt and ``@`` the version of that judge."""
    created_at: Annotated[UtcTime | None, Column(name="insights_at")] = None
    """When the conversation was judged."""

    @property
    def first_verdict(self) -> bool | None:
        """The analyser's own verdict, also where another one counts."""
        return self.task_completed if self.judged_completed is None else self.judged_completed


class RegenerateAnswer(ApiModel):
    """Answer of the two regenerate endpoints."""

    # unspecified: body and response.
    success: bool
    message: str | None = None
    queued: int | None = None
    """Conversations that will be judged again."""


# A count, which other services may give as a fraction: a whole number stays one.
Number = Annotated[int | float, WithJsonSchema({"type": "number"})]


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
    """Percent; ``None`` when no conversation ended (unspecified)."""


class TaskCompletion(ApiModel):
    """Task completion of the period."""

    rate: float | None
    """Percent of judged conversations that have ended; ``None`` when there are none (unspecified)."""
    trend: str | None
    """Signed percent text, as the service says it. Ours is the change in percentage points against as many days before,
    and ``+0.0%`` where there is nothing to compare with."""
    previous_rate: float | None = None
    """Percent in as many days before; ``None`` where there is no earlier period."""
    trend_points: float | None = None
    """The change in percentage points; ``None`` where there is no earlier period."""
    trend_points_low: float | None = None
    """Lower end of the 95 % interval of the change, by Miettinen and Nurminen's method."""
    trend_points_high: float | None = None
    """Upper end of it."""


class SentimentSummary(ApiModel):
    """Sentiment of the period."""

    average: float | None
    """Mean sentiment score, -1 to 1; ``None`` when nothing is judged (unspecified)."""
    distribution: dict[str, Number]
    """Counts of ``positive``, ``neutral`` and ``negative``."""
    trend: str | None = None
    """The change of the mean score as signed text, such as ``+0.05``; ``+0.00`` where there is nothing to compare with, and where
    a word list gave the scores, as all that follows is ``None`` then."""
    previous_average: float | None = None
    """The mean score of as many days before; ``None`` where there is no earlier period."""
    trend_score: float | None = None
    """The change of the mean score; ``None`` where there is no earlier period."""
    trend_score_low: float | None = None
    """Lower end of the 95 % interval of the change, by Welch's method."""
    trend_score_high: float | None = None
    """Upper end of it."""


class InsightMetrics(ApiModel):
    """Metrics of the insights view."""

    task_completion: TaskCompletion
    sentiment: SentimentSummary
    avg_response_time: float | None = None
    """Seconds between a user message and the answer to it; ``None`` when messages have no times (unspecified)."""
    avg_conversation_length: float | None = None
    """Messages a conversation; ``None`` when there are no conversations (unspecified)."""


class TopIssue(ApiModel):
    """Issues of one meaning, and how conversations with one of them end."""

    issue: Annotated[str, Column()]
    """The group's most frequent title, or the name that the model gave it."""
    frequency: Annotated[Number, Column(name="n", kind="integer")]
    """Conversations that had it."""
    impact: Annotated[str | None, Column(categories=SEVERITIES[::-1])] = None
    """``high``: completion is at least 20 points lower with the issue, ``medium``: at least 5, by ``impact_points``; else
    ``low``. One less where the interval reaches zero. Where nothing can be compared, and where one judgement gave both the issue and
    the failures, the severity that most have."""
    titles: Annotated[list[str], Column()] = Field(default_factory=list)
    """The titles that judges gave it, the most frequent first."""
    share: Annotated[float | None, Column(name="share_pct", unit="percent")] = None
    """Share of the judged conversations that had it."""
    judged: Annotated[int | None, Column(name="n_rated")] = None
    """Conversations with it that have ended."""
    failed: Annotated[int | None, Column()] = None
    """Those of them that did not complete their task."""
    completion_with: Annotated[float | None, Column(name="completion_with_pct", unit="percent")] = None
    """Completed tasks among them."""
    completion_without: Annotated[float | None, Column(name="completion_without_pct", unit="percent")] = None
    """Completed tasks among all other judged conversations."""
    impact_points: Annotated[float | None, Column(unit="percentage points")] = None
    """Completion with the issue less completion without it, among conversations of the same prompt, model and topic. Observed, not
    caused: hard tasks have more issues."""
    impact_points_low: Annotated[float | None, Column(unit="percentage points")] = None
    """Lower end of its 95 % interval, by Mantel and Haenszel's method."""
    impact_points_high: Annotated[float | None, Column(unit="percentage points")] = None
    """Upper end of it."""
    quote: Annotated[str | None, Column()] = None
    """What was said in one of its conversations."""
    conversation_ids: Annotated[list[str], Column()] = Field(default_factory=list)
    """Recent conversations that had it, failed ones first."""


class PromptInsightsView(LinkedModel):
    """Answer of ``GET /prompts/:id/insights``."""

    period: Period
    summary: ConversationCounts
    metrics: InsightMetrics
    top_issues: list[TopIssue] = Field(default_factory=list)
    recommendations: list[str] = Field(default_factory=list)
    analyser: str | None = None
    """Who found issues and sentiment: ``lexicon``, ``llm`` or ``mixed``. Ours, as what follows."""
    basis: str | None = None
    """What the verdicts of "task completed" rest on, the weakest of several."""


class FleetAgent(ApiModel):
    """One agent among all agents of the account."""

    id: Annotated[str, Column(name="prompt_id")]
    """The agent."""
    name: Annotated[str | None, Column()] = None
    """Its name."""
    rank: Annotated[int | None, Column()] = None
    """Place by task completion, 1 is the best; equal rates have equal places."""
    rank_low: Annotated[int | None, Column()] = None
    """The best place that the data allow: one more than the agents that are significantly better."""
    rank_high: Annotated[int | None, Column()] = None
    """The worst place that they allow. Holm's method over all other agents keeps both ends right in 95 %."""
    task_completion_rate: Annotated[float | None, Column(name="completion_pct", unit="percent")] = None
    """Completed tasks among its judged conversations that have ended."""
    task_completion_low: Annotated[float | None, Column(name="completion_low_pct", unit="percent")] = None
    """Lower end of its 95 % interval, by Wilson's method."""
    task_completion_high: Annotated[float | None, Column(name="completion_high_pct", unit="percent")] = None
    """Upper end of it."""
    conversations: Annotated[int | None, Column(name="n")] = None
    """Its judged conversations that have ended."""
    failed: Annotated[int | None, Column()] = None
    """Those that did not complete their task."""


class SharedIssue(ApiModel):
    """An issue that this agent and others have."""

    issue: str
    agents: int
    """Agents that have it, this one included."""
    agent_names: list[str] = Field(default_factory=list)
    """Their names, the most affected first, ten at most."""
    conversations: int
    """Conversations of all agents that had it."""
    own_conversations: int
    """Those of this agent."""


class FleetIntelligence(ApiModel):
    """An agent among all agents of the account."""

    agents: int
    """Agents with judged conversations."""
    rank: int | None = None
    """Place by task completion, 1 is the best."""
    rank_low: int | None = None
    """The best place that the data allow, see ``ranking``."""
    rank_high: int | None = None
    """The worst place that they allow."""
    task_completion_rate: float | None = None
    """Percent, over all agents."""
    conversation_share: float | None = None
    """Percent of the judged conversations of all agents that are this agent's."""
    failure_share: float | None = None
    """Percent of the failed conversations of all agents that are this agent's."""
    ranking: list[FleetAgent] = Field(default_factory=list)
    """The agents with judged conversations, the best first; a hundred at most, and this one."""
    shared_issues: list[SharedIssue] = Field(default_factory=list)
    """Issues of this agent that others have too, those of the most conversations first."""


class FirstIssue(ApiModel):
    """The issue that the most failures go with, and how conversations without it end that have the same model and topic.

    A contrast, not a cause: what makes a task hard also makes issues.
    """

    issue: str
    conversations: int
    """Conversations that had it."""
    completion_without: float | None = None
    """Percent that complete their task where those with it end as those without it do."""
    points: float | None = None
    """How many percentage points that is above what was seen."""
    points_low: float | None = None
    """Lower end of its 95 % interval."""
    points_high: float | None = None
    """Upper end of it."""
    excess_failures_per_week: float | None = None
    """Failures a week more than where those with it end as those without it do."""
    excess_cost_per_week: float | None = None
    """Their cost, where a value per conversation is set."""


class BusinessImpact(ApiModel):
    """Failed and abandoned conversations of the period, and what they cost."""

    failed_conversations: int
    failed_rate: float | None = None
    """Percent of judged conversations that have ended."""
    abandoned_conversations: int
    failures_per_week: float | None = None
    """Failed conversations a week, over the part of the period since the first conversation."""
    undated: str | None = None
    """Why no figure a week is given: all conversations of the period start within one day, as without dates of their own."""
    value_per_conversation: float | None = None
    """What a completed conversation is worth, from the setting ``business.valuePerConversation``."""
    currency: str | None = None
    """From the setting ``business.currency``."""
    cost_per_week: float | None = None
    """Failures a week times the value per conversation; ``None`` where no value is set."""
    cost: float | None = None
    """The same for the failures of the period."""
    first_issue: FirstIssue | None = None
    """The issue that the most failures go with; ``None`` where no issue does, or whoever found them also said what failed."""


class AgentIssue(TopIssue):
    """An issue and how many of its conversations failed."""

    failed_conversations: int


class AgentInsightsView(PromptInsightsView):
    """Answer of ``GET /agents/:id/insights``."""

    # unspecified: the answer beyond these three names.
    fleet_intelligence: FleetIntelligence | None = None
    business_impact: BusinessImpact | None = None
    issues: list[AgentIssue] = Field(default_factory=list)


class StepQuote(ApiModel):
    """What was said where a conversation failed."""

    conversation_id: str
    turn: int
    """Place of the message in its conversation, from 0, as in the table of messages."""
    role: str
    """``user``, ``assistant``, or ``tool`` for a call and its result."""
    kind: str
    """What went wrong there, as in ``kinds``."""
    quote: str


class StepFailure(ApiModel):
    """A step of an agent's conversations, and how often it is the first to fail."""

    step: Annotated[str, Column()]
    """``opening``, ``clarification``, ``answer``, ``closing``, or ``tool:`` and the name of the tool."""
    reached: Annotated[int, Column(name="n")]
    """Conversations that came to it."""
    failures: Annotated[int, Column(name="failed")]
    """Conversations that did not complete their task and first went wrong in it."""
    failure_rate: Annotated[float | None, Column(name="failure_pct", unit="percent")] = None
    """Failures among the conversations that came to it."""
    failure_rate_low: Annotated[float | None, Column(name="failure_low_pct", unit="percent")] = None
    """Lower end of its 95 % interval, by Wilson's method."""
    failure_rate_high: Annotated[float | None, Column(name="failure_high_pct", unit="percent")] = None
    """Upper end of it."""
    kinds: Annotated[dict[str, int], Column(kind="record")] = Field(default_factory=dict)
    """Failures by what went wrong: ``tool_error``, ``refusal``, ``reported_failure``, ``not_helped``, ``repeat``,
    ``asked_for_person``, ``hand_over``, ``gave_up``, ``unanswered``; ``no_sign`` where nothing in the text shows it."""
    median_turn: Annotated[float | None, Column()] = None
    """The middle place of the failing messages in their conversations, from 0."""
    quotes: Annotated[list[StepQuote], Column(kind="records")] = Field(default_factory=list)
    """What was said there in recent conversations; nothing where no text shows the failure."""


class TurnFailure(ApiModel):
    """Conversations that ended after a number of user turns with the task not completed."""

    turn: int
    """Number of user turns."""
    reached: int
    """Conversations that came so far."""
    failures: int
    """Those that ended here and failed."""
    failure_rate: float | None = None
    """Percent."""


class StepFailures(LinkedModel):
    """Answer of ``GET /agents/:id/step-failures``."""

    # unspecified: the answer.
    period: Period | None = None
    conversations: int | None = None
    """Conversations that have ended and were judged."""
    total_failures: int | None = None
    """Those that did not complete their task."""
    analysed: int | None = None
    """Those of the conversations whose steps are counted: the newest, where there are very many, and none that were
    judged before the service knew steps (judge them again)."""
    steps: list[StepFailure] = Field(default_factory=list)
    """The steps, those with the most failures first."""
    turns: list[TurnFailure] = Field(default_factory=list)
    """Failures by the number of user turns."""
    analyser: str | None = None
    """Who found the steps: ``lexicon``, ``llm`` or ``mixed``."""
    basis: str | None = None
    """What the verdicts of "task completed" rest on, the weakest of several."""


def records_of(view: PromptInsightsView | StepFailures, name: str) -> list[dict[str, Any]]:
    """Return the records of a list of a view as decoded JSON."""
    return [one.to_wire() for one in getattr(view, name)]


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
