"""Insights, which the service derives from conversations: of one conversation, and of all of a prompt or agent.

Fields beyond the specification are ours; another service may omit them.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_args

from pydantic import Field, WithJsonSchema

from promptlift.schema.basis import BASES
from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel, LinkedModel, UtcTime

Sentiment = Literal["positive", "neutral", "negative"]
Severity = Literal["low", "medium", "high"]
SENTIMENTS: tuple[Sentiment, ...] = ("negative", "neutral", "positive")
# Severities of issues, lowest first.
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


class Issue(TypedDict):
    """An issue in the insights of our service."""

    title: str
    """Short and reusable, so that equal issues of many conversations can be counted."""
    severity: Severity
    evidence: NotRequired[str | None]
    """A quotation from the conversation: hostile text."""


def worst_first(issues: Iterable[Issue]) -> list[Issue]:
    """Sort issues by their severity."""
    return sorted(issues, key=lambda one: -SEVERITIES.index(one["severity"]))


class FailedStep(ApiModel):
    """The step of a conversation that first went wrong."""

    step: str
    kind: str
    """The kind of failure, as in the answer of step-failures."""
    turn: int
    """Index of the message, from 0."""
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
    """Whether the conversation completed the user's task."""
    quality: Annotated[float | None, Column(unit="0 to 100")] = None
    """Quality of the answers, 0 to 100. Our service provides it, others may not."""
    topics: Annotated[list[str], Column()] = Field(default_factory=list)
    """Topics of the conversation."""
    summary: Annotated[str | None, Column()] = None
    """A summary in a sentence or two."""
    # unspecified: the shape of an issue. Ours has title, severity and evidence; any JSON is kept.
    issues: Annotated[list[Any], Column()] = Field(default_factory=list)
    """Issues, one record each."""
    steps: list[str] = Field(default_factory=list)
    """The steps of the conversation: phases, and ``tool:`` with the name of a tool. Our service provides it."""
    failed_step: FailedStep | None = None
    """Where the conversation first went wrong; ``None`` if the task was completed. Our service provides it."""
    analyser: Annotated[str | None, Column()] = None
    """``lexicon`` or ``llm:`` and a model name. Our service provides it, others may not."""
    basis: Annotated[str | None, Column(categories=BASES)] = None
    """The basis of ``task_completed``: ``outcome``, ``label``, ``model``, ``learned`` or ``words``. Our service provides it, others may not."""
    judged_completed: bool | None = None
    """The analyser's own verdict, if an outcome of the log or a learned judge takes precedence."""
    completion_chance: Annotated[float | None, Column(unit="fraction")] = None
    """Probability that the task was completed, if a judge that learned from labels decided it."""
    completed_by: str | None = None
    """``learned:``, the prompt, ``@`` and the version of that judge."""
    created_at: Annotated[UtcTime | None, Column(name="insights_at")] = None
    """When the conversation was judged."""

    @property
    def first_verdict(self) -> bool | None:
        """The analyser's own verdict, even if another one takes precedence."""
        return self.task_completed if self.judged_completed is None else self.judged_completed


class RegenerateAnswer(ApiModel):
    """Answer of the two regenerate endpoints."""

    # unspecified: body and response.
    success: bool
    message: str | None = None
    queued: int | None = None
    """Conversations that will be judged again."""


# A count, which other services may send as a float: an integer stays an integer.
Number = Annotated[int | float, WithJsonSchema({"type": "number"})]


class Period(ApiModel):
    """Days that a view covers."""

    days: int | str | None = None
    """Number of days; ``all`` if the view covers everything."""
    from_: UtcTime | None = Field(default=None, alias="from")
    to: UtcTime | None = None


class ConversationCounts(ApiModel):
    """Conversations in the period."""

    total_conversations: int
    completed_conversations: int
    abandoned_conversations: int
    completion_rate: float | None
    """Percent; ``None`` when no conversation ended (unspecified)."""


class TaskCompletion(ApiModel):
    """Task completion of the period."""

    rate: float | None
    """Percent of judged conversations that have ended; ``None`` if there are none (unspecified)."""
    trend: str | None
    """Signed percent text from the service. Ours is the change in percentage points from the same number of days before, and ``+0.0%`` if there is nothing to compare with."""
    previous_rate: float | None = None
    """Percent in the same number of days before; ``None`` if there is no earlier period."""
    trend_points: float | None = None
    """The change in percentage points; ``None`` if there is no earlier period."""
    trend_points_low: float | None = None
    """Lower end of the 95% interval of the change, by Miettinen and Nurminen's method."""
    trend_points_high: float | None = None
    """Upper end of it."""


class SentimentSummary(ApiModel):
    """Sentiment of the period."""

    average: float | None
    """Mean sentiment score, -1 to 1; ``None`` when nothing is judged (unspecified)."""
    distribution: dict[str, Number]
    """Counts of ``positive``, ``neutral`` and ``negative``."""
    trend: str | None = None
    """The change of the mean score as signed text, such as ``+0.05``; ``+0.00`` if there is nothing to compare with, or if the scores are from a word list; then the following fields are ``None``."""
    previous_average: float | None = None
    """The mean score in the same number of days before; ``None`` if there is no earlier period."""
    trend_score: float | None = None
    """The change of the mean score; ``None`` if there is no earlier period."""
    trend_score_low: float | None = None
    """Lower end of the 95% interval of the change, by Welch's method."""
    trend_score_high: float | None = None
    """Upper end of it."""


class InsightMetrics(ApiModel):
    """Metrics of the insights view."""

    task_completion: TaskCompletion
    sentiment: SentimentSummary
    avg_response_time: float | None = None
    """Seconds between a user message and the answer to it; ``None`` when messages have no times (unspecified)."""
    avg_conversation_length: float | None = None
    """Messages per conversation; ``None`` when there are no conversations (unspecified)."""


class TopIssue(ApiModel):
    """Issues of one meaning, and how conversations with one of them end."""

    issue: str
    """The group's most frequent title, or the model's name for it."""
    frequency: Number
    """Conversations that had it."""
    impact: str | None = None
    """``high``: completion is at least 20 points lower with the issue, ``medium``: at least 5, by ``impact_points``; otherwise ``low``. One level lower if the interval includes zero. If nothing can be compared, or the same judgement gave both the issue and the failures, the most frequent severity."""
    titles: list[str] = Field(default_factory=list)
    """The judges' titles for it, most frequent first."""
    share: float | None = None
    """Share of the judged conversations that had it."""
    judged: int | None = None
    """Ended conversations with it."""
    failed: int | None = None
    """Those of them that did not complete their task."""
    completion_with: float | None = None
    """Completed tasks among them."""
    completion_without: float | None = None
    """Completed tasks among all other judged conversations."""
    impact_points: float | None = None
    """Completion with the issue minus completion without it, among conversations of the same prompt, model and topic. Observed, not
    caused: hard tasks have more issues."""
    impact_points_low: float | None = None
    """Lower end of its 95% interval, by Mantel and Haenszel's method."""
    impact_points_high: float | None = None
    """Upper end of it."""
    quote: str | None = None
    """A quotation from one of its conversations."""
    conversation_ids: list[str] = Field(default_factory=list)
    """Recent conversations that had it, failed ones first."""


class PromptInsightsView(LinkedModel):
    """Answer of ``GET /prompts/:id/insights``."""

    period: Period
    summary: ConversationCounts
    metrics: InsightMetrics
    top_issues: list[TopIssue] = Field(default_factory=list)
    recommendations: list[str] = Field(default_factory=list)
    analyser: str | None = None
    """The source of issues and sentiment: ``lexicon``, ``llm`` or ``mixed``. Ours, like the following fields."""
    basis: str | None = None
    """The basis of the verdicts of "task completed", the weakest of several."""


class FleetAgent(ApiModel):
    """One agent among all agents of the account."""

    id: Annotated[str, Column(name="prompt_id")]
    """The agent."""
    name: Annotated[str | None, Column()] = None
    """Its name."""
    rank: Annotated[int | None, Column()] = None
    """Rank by task completion, 1 is the best; equal rates have equal ranks."""
    rank_low: Annotated[int | None, Column()] = None
    """The best rank that the data allow: one more than the number of significantly better agents."""
    rank_high: Annotated[int | None, Column()] = None
    """The worst rank that the data allow. Holm's method over all other agents gives both ends a joint coverage of 95%."""
    task_completion_rate: Annotated[float | None, Column(name="completion_pct", unit="percent")] = None
    """Completed tasks among its judged conversations that have ended."""
    task_completion_low: Annotated[float | None, Column(name="completion_low_pct", unit="percent")] = None
    """Lower end of its 95% interval, by Wilson's method."""
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
    """Number of agents with it, including this one."""
    agent_names: list[str] = Field(default_factory=list)
    """Their names, the most affected first, ten at most."""
    conversations: int
    """Conversations of all agents with it."""
    own_conversations: int
    """Those of this agent."""


class FleetIntelligence(ApiModel):
    """An agent among all agents of the account."""

    agents: int
    """Agents with judged conversations."""
    rank: int | None = None
    """Rank by task completion, 1 is the best."""
    rank_low: int | None = None
    """The best rank that the data allow, see ``ranking``."""
    rank_high: int | None = None
    """The worst rank that the data allow."""
    task_completion_rate: float | None = None
    """Percent, over all agents."""
    conversation_share: float | None = None
    """Percent of the judged conversations of all agents that are this agent's."""
    failure_share: float | None = None
    """Percent of the failed conversations of all agents that are this agent's."""
    ranking: list[FleetAgent] = Field(default_factory=list)
    """The agents with judged conversations, the best first; a hundred at most, and this one."""
    shared_issues: list[SharedIssue] = Field(default_factory=list)
    """Issues that this agent shares with others, in descending order of conversations."""


class FirstIssue(ApiModel):
    """The issue associated with the most failures, and the outcomes without it for the same model and topic.

    A contrast, not a cause: whatever makes a task hard also causes issues.
    """

    issue: str
    conversations: int
    """Conversations that had it."""
    completion_without: float | None = None
    """Percent that would complete their task if those with it ended like those without it."""
    points: float | None = None
    """By how many percentage points that exceeds the observed completion."""
    points_low: float | None = None
    """Lower end of its 95% interval."""
    points_high: float | None = None
    """Upper end of it."""
    excess_failures_per_week: float | None = None
    """Weekly failures in excess of those if conversations with it ended like those without it."""
    excess_cost_per_week: float | None = None
    """Their cost, if a value per conversation is set."""


class BusinessImpact(ApiModel):
    """Failed and abandoned conversations of the period, and their cost."""

    failed_conversations: int
    failed_rate: float | None = None
    """Percent of judged conversations that have ended."""
    abandoned_conversations: int
    failures_per_week: float | None = None
    """Failed conversations per week, over the part of the period since the first conversation."""
    undated: str | None = None
    """Why there are no weekly figures: all conversations of the period start within one day, as without dates of their own."""
    value_per_conversation: float | None = None
    """The value of a completed conversation, from the setting ``business.valuePerConversation``."""
    currency: str | None = None
    """From the setting ``business.currency``."""
    cost_per_week: float | None = None
    """Weekly failures times the value per conversation; ``None`` if no value is set."""
    cost: float | None = None
    """The same for the failures of the period."""
    first_issue: FirstIssue | None = None
    """The issue associated with the most failures; ``None`` if there is none, or if the same judge found the issues and decided the failures."""


class AgentIssue(TopIssue):
    """An issue and how many of its conversations failed."""

    failed_conversations: int


class AgentInsightsView(PromptInsightsView):
    """Answer of ``GET /agents/:id/insights``."""

    # unspecified: the answer beyond these three fields.
    fleet_intelligence: FleetIntelligence | None = None
    business_impact: BusinessImpact | None = None
    issues: list[AgentIssue] = Field(default_factory=list)


class StepQuote(ApiModel):
    """A quotation from where a conversation failed."""

    conversation_id: str
    turn: int
    """Index of the message in its conversation, from 0, as in the table of messages."""
    role: str
    """``user``, ``assistant``, or ``tool`` for a call and its result."""
    kind: str
    """The kind of failure there, as in ``kinds``."""
    quote: str


class StepFailure(ApiModel):
    """A step of an agent's conversations, and how often it is the first to fail."""

    step: str
    """``opening``, ``clarification``, ``answer``, ``closing``, or ``tool:`` and the name of the tool."""
    reached: int
    """Conversations that reached it."""
    failures: int
    """Conversations that did not complete their task and first went wrong in it."""
    failure_rate: float | None = None
    """Share of failures among the conversations that reached it."""
    failure_rate_low: float | None = None
    """Lower end of its 95% interval, by Wilson's method."""
    failure_rate_high: float | None = None
    """Upper end of it."""
    kinds: dict[str, int] = Field(default_factory=dict)
    """Failures by kind: ``tool_error``, ``refusal``, ``reported_failure``, ``not_helped``, ``repeat``,
    ``asked_for_person``, ``hand_over``, ``gave_up``, ``unanswered``; ``no_sign`` if nothing in the text shows
    it."""
    median_turn: float | None = None
    """The median index of the failing messages in their conversations, from 0."""
    quotes: list[StepQuote] = Field(default_factory=list)
    """Quotations from recent conversations; empty if no text shows the failure."""


class TurnFailure(ApiModel):
    """Conversations that ended after a number of user turns without completing the task."""

    turn: int
    """Number of user turns."""
    reached: int
    """Conversations that reached this turn."""
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
    """Conversations whose steps are counted: the newest, if there are very many, without those judged before the service knew steps (judge them again)."""
    steps: list[StepFailure] = Field(default_factory=list)
    """The steps, those with the most failures first."""
    turns: list[TurnFailure] = Field(default_factory=list)
    """Failures by the number of user turns."""
    analyser: str | None = None
    """The source of the steps: ``lexicon``, ``llm`` or ``mixed``."""
    basis: str | None = None
    """The basis of the verdicts of "task completed", the weakest of several."""


def issue_record(issue: Any) -> dict[str, str | None]:
    """Return kind, title, severity and quote of an issue of any shape, which the API leaves open."""
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
