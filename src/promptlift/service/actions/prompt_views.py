"""What the service says about a prompt from its conversations: status, insights, failing steps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptlift.schema.limits import STEP_FAILURE_DAYS
from promptlift.service import clock
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.organization import Organization
from promptlift.service.insights.priorities import what_matters_first
from promptlift.service.store import accounts, aggregates, judging, optimizations
from promptlift.service.store.conversation_counts import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.aggregates import IssueCount, Totals
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow

TOP_ISSUES = 10
RECOMMENDATIONS = 3
REASONS = 5


def status_view(database: Database, prompt: AnyRow, *, waits_because: str | None = None) -> dict[str, Any]:
    """Return the status view of a prompt, over all its conversations.

    Parameters
    ----------
    waits_because
        Why no conversation is judged now, where something keeps the model from it.
    """
    with database.read() as connection:
        figures = aggregates.totals(connection, prompt.account_id, prompt.id)
        troubles = judging.troubles(connection, prompt.account_id, prompt.id)
        open_ones = optimizations.open_of_prompt(connection, prompt.account_id, prompt.id)
        last = optimizations.last_completed(connection, prompt.account_id, prompt.id)
    # unspecified: values of optimizationState beside idle. Those of the optimization that is furthest.
    states = {row.status for row in open_ones}
    state = "running" if "running" in states else "queued" if states else "idle"
    return {
        "id": prompt.id,
        "name": prompt.name,
        "status": prompt.status,
        "optimizationState": state,
        "metrics": {
            "conversationCount": figures.total,
            "taskCompletionRate": _percent(figures.task_completed, figures.judged),
            "avgSentiment": figures.sentiment,
        },
        "insights": _insight_counts(figures, troubles, waits_because),
        "lastOptimized": clock.iso(last),
    }


def _insight_counts(figures: Totals, troubles: Sequence[AnyRow], waits_because: str | None) -> dict[str, Any]:
    """Count the conversations that have insights, wait for them or failed, with the reasons."""
    reasons = Counter[str]()
    for row in troubles:
        reasons[row.judge_problem] += row.n
    failed = sum(row.n for row in troubles if row.judging == "failed")
    if waits_because is not None:
        reasons[waits_because] += figures.total - figures.scored - reasons.total()
    listed = [{"reason": reason, "count": count} for reason, count in reasons.most_common(REASONS) if count]
    waiting = figures.total - figures.scored - failed
    return {"ready": figures.scored, "waiting": waiting, "failed": failed, "reasons": listed}


def insights_view(database: Database, prompt: AnyRow, days: str, *, link: str) -> dict[str, Any]:
    """Return the insights view of a prompt for the last days, or for all time."""
    with database.read() as connection:
        period = _read_period(connection, prompt, days)
    return _insights(prompt, period, link=link)


def agent_insights_view(database: Database, agent: AnyRow, days: str) -> dict[str, Any]:
    """Return the insights view in the agent scheme, with fleet intelligence, business impact and issues."""
    # unspecified: the response of aggregated agent insights beyond these three names.
    with database.read() as connection:
        period = _read_period(connection, agent, days)
        fleet = aggregates.completion_by_prompt(connection, agent.account_id, since=period.since)
    view = _insights(agent, period, link="agentId")
    figures = period.figures
    rates = {name: done / count for name, (count, done) in fleet.items()}
    judged, done = sum(count for count, _ in fleet.values()), sum(done for _, done in fleet.values())
    failed = figures.judged - figures.task_completed
    view["fleetIntelligence"] = {
        "agents": len(rates),
        "rank": 1 + sum(rate > rates[agent.id] for rate in rates.values()) if agent.id in rates else None,
        "taskCompletionRate": _percent(done, judged),
    }
    view["businessImpact"] = {
        "failedConversations": failed,
        "failedRate": _percent(failed, figures.judged),
        "abandonedConversations": figures.abandoned,
    }
    view["issues"] = [{**_issue(issue), "failedConversations": issue.failed} for issue in period.issues]
    return view


@dataclass(frozen=True, slots=True)
class _Period:
    """The aggregates of a view; ``since`` is ``None`` for all time."""

    since: int | None
    start: int
    now: int
    figures: Totals
    issues: list[IssueCount]
    organization: Organization
    trend: str | None


def _read_period(connection: Connection, prompt: AnyRow, days: str) -> _Period:
    now = clock.now()
    since = None if days == "all" else now - int(days) * clock.DAY
    figures = aggregates.totals(connection, prompt.account_id, prompt.id, since=since)
    general = accounts.settings(connection, prompt.account_id)["general"]
    organization, exclusions = Organization.of(general), read_exclusions(general["excludedDataAndTopics"])
    # Insights that are older than the setting may name what is excluded now.
    issues = [
        issue
        for issue in aggregates.issues(
            connection, prompt.account_id, prompt.id, since=since, limit=TOP_ISSUES
        )
        if not exclusions.found_in(issue.title)
    ]
    if since is None:
        # unspecified: the period of "all". From the first conversation, else from when the prompt was made.
        first = aggregates.first(connection, prompt.account_id, prompt.id)
        return _Period(
            None, prompt.created_at if first is None else first, now, figures, issues, organization, None
        )
    longer = aggregates.totals(connection, prompt.account_id, prompt.id, since=2 * since - now)
    return _Period(since, since, now, figures, issues, organization, _trend(figures, longer))


def _insights(prompt: AnyRow, period: _Period, *, link: str) -> dict[str, Any]:
    figures = period.figures
    return {
        link: prompt.id,
        "period": {
            "days": _days(period.start, period.now),
            "from": clock.iso(period.start),
            "to": clock.iso(period.now),
        },
        "summary": {
            "totalConversations": figures.total,
            "completedConversations": figures.completed,
            "abandonedConversations": figures.abandoned,
            "completionRate": _percent(figures.completed, figures.completed + figures.abandoned),
        },
        "metrics": {
            "taskCompletion": {
                "rate": _percent(figures.task_completed, figures.judged),
                "trend": period.trend,
            },
            "sentiment": {
                "average": figures.sentiment,
                "distribution": {
                    "positive": figures.positive,
                    "neutral": figures.neutral,
                    "negative": figures.negative,
                },
            },
            "avgResponseTime": figures.response_seconds,
            "avgConversationLength": figures.message_count,
        },
        "topIssues": [_issue(issue) for issue in period.issues],
        "recommendations": _recommendations(period.issues, figures.scored, period.organization),
    }


def step_failures(database: Database, agent: AnyRow, *, link: str) -> dict[str, Any]:
    """Count the user turns after which conversations fail their task, over the last 30 days.

    A step is a user turn. ``reached`` counts conversations that came that far, ``failures`` those that ended at it
    with the task not completed.
    """
    # unspecified: the response of step-failures.
    now = clock.now()
    since = now - STEP_FAILURE_DAYS * clock.DAY
    with database.read() as connection:
        rows = aggregates.failures_by_turns(connection, agent.account_id, agent.id, since=since)
    reached = sum(count for _, count, _ in rows)
    steps = []
    for turns, count, failed in rows:
        steps.append(
            {"step": turns, "reached": reached, "failures": failed, "failureRate": _percent(failed, reached)}
        )
        reached -= count
    return {
        link: agent.id,
        "period": {"days": STEP_FAILURE_DAYS, "from": clock.iso(since), "to": clock.iso(now)},
        "totalFailures": sum(failed for _, _, failed in rows),
        "steps": steps,
    }


def _days(start: int, end: int) -> int:
    """Return the days of a span, the last one counted whole."""
    return max(1, -((start - end) // clock.DAY))


def _percent(part: int, whole: int) -> float | None:
    return 100.0 * part / whole if whole else None


def _trend(figures: Totals, longer: Totals) -> str | None:
    """Return the change of task completion against the span before, in percentage points.

    ``longer`` are the figures of both spans together.
    """
    # unspecified: what the percent text compares.
    judged, done = longer.judged - figures.judged, longer.task_completed - figures.task_completed
    if not (figures.judged and judged):
        return None
    change = 100.0 * (figures.task_completed / figures.judged - done / judged)
    return f"{change:+.1f}%"


def _issue(issue: IssueCount) -> dict[str, Any]:
    return {
        "issue": issue.title,
        "frequency": issue.frequency,
        # unspecified: values of impact but "high". The severity that most of its conversations have, the graver of two.
        "impact": max(SEVERITIES, key=lambda severity: issue.severities.get(severity, 0)),
    }


def _recommendations(issues: list[IssueCount], judged: int, organization: Organization) -> list[str]:
    """Say what to look at: first what the owner wants to know about, then what is frequent."""
    ordered = what_matters_first(issues, lambda issue: issue.title, organization)
    return [
        f'Look at "{issue.title}": {issue.frequency} of {judged} conversations had it, '
        f"and {issue.failed} of these did not complete their task."
        + (f" It concerns {concern}." if concern is not None else "")
        for issue, concern in ordered[:RECOMMENDATIONS]
    ]
