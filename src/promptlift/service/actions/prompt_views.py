"""What the service says about a prompt from its conversations: status, insights, failing steps."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import orjson

from promptlift.schema.limits import STEP_FAILURE_DAYS
from promptlift.service import moment
from promptlift.service.store import aggregates, judging, optimizations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow

TOP_ISSUES = 10
RECOMMENDATIONS = 3
REASONS = 5


def status_view(database: Database, prompt: AnyRow, *, waits_because: str | None = None) -> dict[str, Any]:
    """The prompt status view, over all its conversations.

    Parameters
    ----------
    waits_because
        Why no conversation is judged now, where something keeps the model from it.
    """
    with database.read() as connection:
        figures = aggregates.totals(connection, prompt.account_id, prompt_id=prompt.id)
        judged = judging.counts(connection, prompt.account_id, prompt.id)
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
        "insights": _insight_counts(judged, waits_because),
        "lastOptimized": moment.wire(last),
    }


def _insight_counts(rows: Sequence[AnyRow], waits_because: str | None) -> dict[str, Any]:
    """How many conversations have insights, wait for them or failed, and why."""
    counts = Counter[str]()
    reasons = Counter[str]()
    for row in rows:
        state = "ready" if row.has_insights else "failed" if row.judging == "failed" else "waiting"
        counts[state] += row.n
        why = row.judge_problem or (waits_because if state == "waiting" else None)
        if state != "ready" and why:
            reasons[why] += row.n
    told = [{"reason": reason, "count": count} for reason, count in reasons.most_common(REASONS)]
    return {**{name: counts[name] for name in ("ready", "waiting", "failed")}, "reasons": told}


def insights_view(database: Database, prompt: AnyRow, days: str, *, link: str) -> dict[str, Any]:
    """The prompt insights view of the last days, or of all time."""
    now = moment.now()
    with database.read() as connection:
        since, until = _span(days, now)
        figures = aggregates.totals(
            connection, prompt.account_id, prompt_id=prompt.id, since=since, until=until
        )
        issues = _issues(connection, prompt, since, until)
        trend = _trend(connection, prompt, figures, since)
    ended = figures.completed + figures.abandoned
    # unspecified: the period of "all". From the first conversation, else from when the prompt was made.
    whole = prompt.created_at if figures.first is None else figures.first
    start = whole if since is None else since
    return {
        link: prompt.id,
        "period": {
            "days": _days(start, now) if since is None else int(days),
            "from": moment.wire(start),
            "to": moment.wire(now),
        },
        "summary": {
            "totalConversations": figures.total,
            "completedConversations": figures.completed,
            "abandonedConversations": figures.abandoned,
            "completionRate": _percent(figures.completed, ended),
        },
        "metrics": {
            "taskCompletion": {"rate": _percent(figures.task_completed, figures.judged), "trend": trend},
            "sentiment": {
                "average": figures.sentiment,
                "distribution": {
                    "positive": figures.positive,
                    "neutral": figures.neutral,
                    "negative": figures.negative,
                },
            },
            "avgResponseTime": figures.response_seconds,
            "avgConversationLength": None if figures.message_count is None else float(figures.message_count),
        },
        "topIssues": [
            {key: issue[key] for key in ("issue", "frequency", "impact")} for issue in issues[:TOP_ISSUES]
        ],
        "recommendations": _recommendations(issues, figures.scored),
    }


def agent_insights_view(database: Database, agent: AnyRow, days: str) -> dict[str, Any]:
    """The same for the agent scheme, with fleet intelligence, business impact and issues."""
    # unspecified: the response of aggregated agent insights beyond these three names.
    view = insights_view(database, agent, days, link="agentId")
    since, until = _span(days, moment.now())
    with database.read() as connection:
        fleet = aggregates.completion_by_prompt(connection, agent.account_id, since=since)
        figures = aggregates.totals(
            connection, agent.account_id, prompt_id=agent.id, since=since, until=until
        )
        issues = _issues(connection, agent, since, until)
    rates = {name: done / count for name, (count, done) in fleet.items() if count}
    judged, done = sum(count for count, _ in fleet.values()), sum(done for _, done in fleet.values())
    failed = figures.judged - int(figures.task_completed or 0)
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
    view["issues"] = issues[:TOP_ISSUES]
    return view


def step_failures(database: Database, agent: AnyRow, *, link: str) -> dict[str, Any]:
    """After how many user turns conversations fail their task, over the last 30 days.

    A step is a user turn. ``reached`` counts conversations that came that far, ``failures`` those that ended at it
    with the task not completed.
    """
    # unspecified: the response of step-failures.
    now = moment.now()
    since = now - STEP_FAILURE_DAYS * moment.DAY
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
        "period": {"days": STEP_FAILURE_DAYS, "from": moment.wire(since), "to": moment.wire(now)},
        "totalFailures": sum(failed for _, _, failed in rows),
        "steps": steps,
    }


def _span(days: str, now: int) -> tuple[int | None, int | None]:
    return (None, None) if days == "all" else (now - int(days) * moment.DAY, None)


def _days(start: int, end: int) -> int:
    """Days of a span, the last one counted whole."""
    return max(1, -((start - end) // moment.DAY))


def _percent(part: int | None, whole: int) -> float | None:
    return 100.0 * (part or 0) / whole if whole else None


def _trend(connection: Connection, prompt: AnyRow, figures: AnyRow, since: int | None) -> str | None:
    """Task completion against the span before, in percentage points."""
    # unspecified: what the percent text compares.
    if since is None or not figures.judged:
        return None
    before = aggregates.totals(
        connection, prompt.account_id, prompt_id=prompt.id, since=2 * since - moment.now(), until=since
    )
    if not before.judged:
        return None
    change = 100.0 * (figures.task_completed / figures.judged - before.task_completed / before.judged)
    return f"{change:+.1f}%"


def _issues(
    connection: Connection, prompt: AnyRow, since: int | None, until: int | None
) -> list[dict[str, Any]]:
    seen: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    severities: defaultdict[str, Counter[str]] = defaultdict(Counter)
    documents = aggregates.judged_documents(
        connection, prompt.account_id, prompt.id, since=since, until=until
    )
    for document, completed in documents:
        for title, severity in {i["title"]: i["severity"] for i in orjson.loads(document)["issues"]}.items():
            seen[title] += 1
            failed[title] += not completed
            severities[title][severity] += 1
    ordered = sorted(seen.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        {
            "issue": title,
            "frequency": count,
            # unspecified: values of impact but "high". The severity that most of its conversations have.
            "impact": severities[title].most_common(1)[0][0],
            "failedConversations": failed[title],
        }
        for title, count in ordered
    ]


def _recommendations(issues: list[dict[str, Any]], judged: int) -> list[str]:
    return [
        f'Look at "{issue["issue"]}": {issue["frequency"]} of {judged} conversations had it, '
        f"and {issue['failedConversations']} of these did not complete their task."
        for issue in issues[:RECOMMENDATIONS]
    ]
