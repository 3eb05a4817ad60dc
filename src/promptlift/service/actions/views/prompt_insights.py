"""The aggregated insights of a prompt, and of an agent among all agents of its account."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, sqrt
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema import endpoints
from promptlift.schema.prompt_insights import AgentInsightsView, PromptInsightsView
from promptlift.service import clock
from promptlift.service.actions.views.fleet import fleet_view
from promptlift.service.actions.views.impact import impact_view
from promptlift.service.actions.views.issues import costliest, find_examples, find_issues, issue_view
from promptlift.service.actions.views.percent import percent, points
from promptlift.service.actions.views.recommendations import recommendations
from promptlift.service.call import Call, answers
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.organization import Organization
from promptlift.service.store import accounts, aggregates, issue_names, prompts
from promptlift.stats.differences import score_interval

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.queries import InsightsQuery
    from promptlift.service.actions.views.issues import Example, Issue
    from promptlift.service.store.aggregates import Totals
    from promptlift.service.store.tables.prompts import PromptRow

TOP_ISSUES: Final = 10
# Conversations in which quotations are looked for.
READ_FOR_EXAMPLES: Final = 500


@answers(endpoints.PROMPTS_INSIGHTS)
def insights(call: Call[None, InsightsQuery]) -> PromptInsightsView:
    """Return the insights of a prompt for the last days, or for all time."""
    with call.read() as rows:
        prompt = prompts.found(rows, call.account_id, call.id, call.scheme.noun)
        period = _read_period(rows.core, prompt, call.query.days)
    return PromptInsightsView.from_wire(_insights(prompt, period))


@answers(endpoints.AGENTS_INSIGHTS)
def agent_insights(call: Call[None, InsightsQuery]) -> AgentInsightsView:
    """Return the insights in the agent scheme, with fleet intelligence, business impact and issues."""
    # unspecified: the response of aggregated agent insights beyond these three names.
    with call.read() as rows:
        agent, connection = prompts.found(rows, call.account_id, call.id, call.scheme.noun), rows.core
        period = _read_period(connection, agent, call.query.days)
        counts = aggregates.completion_by_prompt(connection, agent.account_id, since=period.since)
        sets = aggregates.issue_sets(connection, agent.account_id, prompt_id=None, since=period.since)
        agents = prompts.names(connection, agent.account_id)
        grouped = issue_names.read(connection, agent.account_id)
        first = aggregates.first(connection, agent.account_id, agent.id)
        settings = accounts.settings(connection, agent.account_id)
    exclusions = read_exclusions(settings["general"]["excludedDataAndTopics"])
    view = _insights(agent, period)
    view["fleetIntelligence"] = fleet_view(agent.id, counts, find_issues(sets, grouped, exclusions), agents)
    view["businessImpact"] = impact_view(
        period.figures,
        costliest(period.issues, period.figures),
        days=_days(max(period.start, period.start if first is None else first), period.now),
        business=settings.get("business", {}),
    )
    view["issues"] = [{**issue, "failedConversations": issue["failed"]} for issue in view["topIssues"]]
    return AgentInsightsView.from_wire(view)


@dataclass(frozen=True, slots=True)
class _Period:
    """The aggregates of a view; ``since`` and ``before`` are ``None`` for all time."""

    since: int | None
    start: int
    now: int
    figures: Totals
    before: Totals | None
    issues: list[Issue]
    examples: dict[str, list[Example]]
    organization: Organization


def _read_period(connection: Connection, prompt: PromptRow, days: str) -> _Period:
    now = clock.now()
    since = None if days == "all" else now - int(days) * clock.DAY
    ours = prompt.account_id, prompt.id
    figures = aggregates.totals(connection, *ours, since=since)
    sets = aggregates.issue_sets(connection, prompt.account_id, prompt_id=prompt.id, since=since)
    names = issue_names.read(connection, prompt.account_id)
    general = accounts.settings(connection, prompt.account_id)["general"]
    exclusions = read_exclusions(general["excludedDataAndTopics"])
    issues = find_issues(sets, names, exclusions)
    rows = aggregates.newest_judged(connection, *ours, since=since, limit=READ_FOR_EXAMPLES) if issues else ()
    examples = find_examples(issues, rows, exclusions)
    if since is None:
        # unspecified: the period of "all". From the first conversation, else from when the prompt was made.
        first = aggregates.first(connection, *ours)
        start = clock.from_datetime(prompt.created_at) if first is None else first
        return _Period(None, start, now, figures, None, issues, examples, Organization.of(general))
    longer = aggregates.totals(connection, *ours, since=2 * since - now)
    return _Period(
        since, since, now, figures, longer.less(figures), issues, examples, Organization.of(general)
    )


def _insights(prompt: PromptRow, period: _Period) -> dict[str, Any]:
    figures = period.figures
    top = period.issues[:TOP_ISSUES]
    return {
        "promptId": prompt.id,
        "period": {
            "days": _days(period.start, period.now),
            "from": clock.iso(period.start),
            "to": clock.iso(period.now),
        },
        "summary": {
            "totalConversations": figures.total,
            "completedConversations": figures.completed,
            "abandonedConversations": figures.abandoned,
            "completionRate": percent(figures.completed, figures.completed + figures.abandoned),
        },
        "metrics": {
            "taskCompletion": {
                "rate": percent(figures.task_completed, figures.judged),
                **_completion_trend(figures, period.before),
            },
            "sentiment": {
                "average": figures.sentiment,
                "distribution": {
                    "positive": figures.positive,
                    "neutral": figures.neutral,
                    "negative": figures.negative,
                },
                **_sentiment_trend(figures, period.before),
            },
            "avgResponseTime": figures.response_seconds,
            "avgConversationLength": figures.message_count,
        },
        "topIssues": [issue_view(issue, figures, period.examples.get(issue.name, ())) for issue in top],
        "recommendations": recommendations(
            period.issues,
            costliest(period.issues, figures),
            figures,
            period.examples,
            organization=period.organization,
        ),
    }


def _days(start: int, end: int) -> int:
    """Return the days of a span, the last one counted whole."""
    return max(1, -((start - end) // clock.DAY))


def _completion_trend(figures: Totals, before: Totals | None) -> dict[str, Any]:
    """Return the change of task completion against as many days before, in percentage points."""
    # unspecified: what the percent text compares.
    names = ("previousRate", "trendPoints", "trendPointsLow", "trendPointsHigh")
    if before is None or not (figures.judged and before.judged):
        return {"trend": "+0.0%", **dict.fromkeys(names)}
    change = figures.task_completed / figures.judged - before.task_completed / before.judged
    low, high = score_interval(figures.task_completed, figures.judged, before.task_completed, before.judged)
    values = (percent(before.task_completed, before.judged), points(change), points(low), points(high))
    return {"trend": _signed(points(change), 1) + "%", **dict(zip(names, values, strict=True))}


def _sentiment_trend(figures: Totals, before: Totals | None) -> dict[str, Any]:
    """Return the change of the mean sentiment score against as many days before, with Welch's interval."""
    names = ("previousAverage", "trendScore", "trendScoreLow", "trendScoreHigh")
    if before is None or figures.sentiment is None or before.sentiment is None:
        return {"trend": "+0.00", **dict.fromkeys(names)}
    change = figures.sentiment - before.sentiment
    half = _welch_half(figures, before)
    ends = (None, None) if half is None else (change - half, change + half)
    return {
        "trend": _signed(change, 2),
        **dict(zip(names, (before.sentiment, change, *ends), strict=True)),
    }


def _welch_half(one: Totals, other: Totals) -> float | None:
    """Return half the width of Welch's 95 % interval of the difference of two means."""
    from scipy.special import stdtrit  # noqa: PLC0415 - loaded when the first interval is wanted

    if one.sentiment_sd is None or other.sentiment_sd is None:
        return None
    parts = [
        totals.sentiment_sd**2 / totals.scored for totals in (one, other) if totals.sentiment_sd is not None
    ]
    whole = sum(parts)
    if not whole:
        return 0.0
    freedom = whole**2 / sum(
        part**2 / (totals.scored - 1) for part, totals in zip(parts, (one, other), strict=True)
    )
    half = float(stdtrit(freedom, 0.975)) * sqrt(whole)
    return None if isnan(half) else half


def _signed(value: float, digits: int) -> str:
    """Write a number with its sign; what rounds to zero is never negative."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"
