"""The aggregated insights of a prompt, with recommendations based on the issues that cost completion."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, sqrt
from typing import TYPE_CHECKING, Final

from promptlift.schema import endpoints
from promptlift.schema.basis import basis_of_analyser, may_tell, may_weigh, weakest
from promptlift.schema.inert import shorten_middle
from promptlift.schema.insights import (
    ConversationCounts,
    InsightMetrics,
    Period,
    PromptInsightsView,
    SentimentSummary,
    TaskCompletion,
)
from promptlift.service import clock
from promptlift.service.actions.views.completion import percent, points
from promptlift.service.actions.views.issues import (
    EXAMPLES,
    costliest,
    effect,
    find_examples,
    find_issues,
    issue_view,
)
from promptlift.service.call import Call, answers
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.organization import Organization, what_matters_first
from promptlift.service.store import accounts, aggregates
from promptlift.stats.differences import score_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.schema.queries import InsightsQuery
    from promptlift.service.actions.views.issues import Example, IssueGroup
    from promptlift.service.store.aggregates import Totals
    from promptlift.service.store.tables.prompts import PromptRow

TOP_ISSUES: Final = 10
# Conversations that are searched for quotations.
READ_FOR_EXAMPLES: Final = 500
RECOMMENDATIONS: Final = 3
QUOTE_CHARS: Final = 120
# Fewer judged conversations support no conclusions.
FEW: Final = 30
# Below it, a variance is what rounding leaves of equal scores.
_EQUAL: Final = 1e-12


@answers(endpoints.PROMPTS_INSIGHTS)
def insights(call: Call[None, InsightsQuery]) -> PromptInsightsView:
    """Return the insights of a prompt for the last days, or for all time."""
    with call.read() as rows:
        prompt = call.prompt(rows)
        period = read_period(rows.core, prompt, call.query.days)
    return insights_view(prompt, period)


@dataclass(frozen=True, slots=True)
class PeriodFigures:
    """The aggregates of a view.

    Attributes
    ----------
    since
        ``None`` for all time.
    before
        Aggregates of the same number of days before; ``None`` for all time.
    examples
        Conversations by the name of the issue.
    organization
        The owner's settings.
    """

    since: int | None
    start: int
    now: int
    figures: Totals
    before: Totals | None
    issues: Sequence[IssueGroup]
    examples: Mapping[str, Sequence[Example]]
    organization: Organization


def read_period(connection: Connection, prompt: PromptRow, days: str) -> PeriodFigures:
    """Read the aggregates of the last days, or of all time."""
    now = clock.now()
    since = None if days == "all" else now - int(days) * clock.DAY
    ours = prompt.account_id, prompt.id
    figures = aggregates.totals(connection, *ours, since=since)
    sets = aggregates.issue_sets(connection, prompt.account_id, prompt_id=prompt.id, since=since)
    names = aggregates.names_of_issues(connection, prompt.account_id)
    general = accounts.general(connection, prompt.account_id)
    exclusions = read_exclusions(general["excludedDataAndTopics"])
    issues = find_issues(sets, names, exclusions)
    judged = (
        aggregates.newest_judged(connection, *ours, since=since, limit=READ_FOR_EXAMPLES) if issues else ()
    )
    examples = find_examples(issues, judged, exclusions)
    start, before = since, None
    if since is not None:
        before = aggregates.totals(connection, *ours, since=2 * since - now).less(figures)
    else:
        # unspecified: the period of "all". From the first conversation, or else from the creation of the
        # prompt.
        dated = aggregates.dated(connection, *ours)
        start = dated and dated[0]
    return PeriodFigures(
        since=since,
        start=clock.from_datetime(prompt.created_at) if start is None else start,
        now=now,
        figures=figures,
        before=before,
        issues=issues,
        examples=examples,
        organization=Organization.of(general),
    )


def insights_view(prompt: PromptRow, period: PeriodFigures) -> PromptInsightsView:
    """Return the insights of a period."""
    figures = period.figures
    return PromptInsightsView(
        prompt_id=prompt.id,
        period=Period(
            days=days_between(period.start, period.now),
            from_=clock.to_datetime(period.start),
            to=clock.to_datetime(period.now),
        ),
        summary=ConversationCounts(
            total_conversations=figures.total,
            completed_conversations=figures.completed,
            abandoned_conversations=figures.abandoned,
            completion_rate=percent(figures.completed, figures.completed + figures.abandoned),
        ),
        metrics=InsightMetrics(
            task_completion=_task_completion(figures, period.before),
            sentiment=_sentiment(figures, period.before),
            avg_response_time=figures.response_seconds,
            avg_conversation_length=figures.message_count,
        ),
        top_issues=[
            issue_view(issue, figures, period.examples.get(issue.name, ()))
            for issue in period.issues[:TOP_ISSUES]
        ],
        recommendations=recommendations(figures, period.issues, period.examples, period.organization),
        analyser=figures.analyser,
        basis=figures.basis,
    )


def days_between(start: int, end: int) -> int:
    """Return the number of days in a span, the last one counted in full."""
    return max(1, -((start - end) // clock.DAY))


def _task_completion(figures: Totals, before: Totals | None) -> TaskCompletion:
    """Return the completion of tasks, and its change from the same number of days before, in percentage points."""
    # unspecified: what the percentage compares.
    change = low = high = previous = None
    told = before is not None and may_tell(weakest((figures.basis, before.basis)))
    if before is not None and told and figures.judged and before.judged:
        previous = percent(before.task_completed, before.judged)
        change = points(figures.task_completed / figures.judged - before.task_completed / before.judged)
        ends = score_interval(figures.task_completed, figures.judged, before.task_completed, before.judged)
        low, high = map(points, ends)
    return TaskCompletion(
        rate=percent(figures.task_completed, figures.judged),
        trend=_signed(change or 0.0, 1) + "%",
        previous_rate=previous,
        trend_points=change,
        trend_points_low=low,
        trend_points_high=high,
    )


def _sentiment(figures: Totals, before: Totals | None) -> SentimentSummary:
    """Return the sentiment, and the change of its mean from the same number of days before, with Welch's interval.

    Scores of a word list rank conversations but are not comparable between periods, so they have no change.
    """
    change = half = previous = None
    told = before is not None and may_tell(
        weakest(map(basis_of_analyser, (figures.analyser, before.analyser)))
    )
    if before is not None and told and figures.sentiment is not None and before.sentiment is not None:
        previous = before.sentiment
        change, half = figures.sentiment - previous, _welch_half(figures, before)
    return SentimentSummary(
        average=figures.sentiment,
        distribution={name: getattr(figures, name) for name in ("positive", "neutral", "negative")},
        trend=_signed(change or 0.0, 2),
        previous_average=previous,
        trend_score=change,
        trend_score_low=None if change is None or half is None else change - half,
        trend_score_high=None if change is None or half is None else change + half,
    )


def _welch_half(one: Totals, other: Totals) -> float | None:
    """Return half the width of Welch's 95% interval of the difference of two means."""
    from scipy.special import stdtrit  # noqa: PLC0415 - loaded when the first interval is wanted

    if one.sentiment_sd is None or other.sentiment_sd is None:
        return None
    parts = [
        totals.sentiment_sd**2 / totals.scored for totals in (one, other) if totals.sentiment_sd is not None
    ]
    whole = sum(parts)
    if whole < _EQUAL:  # a few equal scores do not show that all others are equal
        return None
    freedom = whole**2 / sum(
        part**2 / (totals.scored - 1) for part, totals in zip(parts, (one, other), strict=True)
    )
    half = float(stdtrit(freedom, 0.975)) * sqrt(whole)
    return None if isnan(half) else half


def _signed(value: float, digits: int) -> str:
    """Format a number with its sign; a number that rounds to zero is never negative."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def recommendations(
    figures: Totals,
    issues: Sequence[IssueGroup],
    examples: Mapping[str, Sequence[Example]],
    organization: Organization,
) -> list[str]:
    """Return recommendations with evidence and next step: first the owner's concerns, then by possible gain.

    Parameters
    ----------
    figures
        Of the period.
    issues
        By frequency.
    examples
        Conversations by the name of the issue.
    organization
        The owner's settings: an issue that they mention comes first.
    """
    ordered = what_matters_first(costliest(issues, figures), lambda one: one[0].name, organization)
    said = [
        _mend(issue, figures, examples.get(issue.name, ())) + _concerning(concern)
        for (issue, _), concern in ordered[:RECOMMENDATIONS]
    ]
    if not said:
        first = what_matters_first(issues, lambda issue: issue.name, organization)
        said = [
            _look(issue, figures, examples.get(issue.name, ())) + _concerning(concern)
            for issue, concern in first[:RECOMMENDATIONS]
        ]
    waiting = figures.total - figures.scored
    if figures.total and 2 * waiting > figures.total:
        said.append(
            f"{waiting:,} of {figures.total:,} conversations have no insights yet. Next: read why in the prompt's status, "
            "before anything here is acted on."
        )
    elif said and figures.judged and not may_weigh(figures.basis):
        said.append(
            "Their cost is unknown: the judge that found them also decided which conversations failed. Next: "
            "use an outcome of the logs as the verdict (the prompt's outcome)."
        )
    elif 0 < figures.judged < FEW and said:
        said.append(
            f"All this rests on {figures.judged} judged conversations. Next: log more, {FEW} at least, and look again."
        )
    return said


def _concerning(concern: str | None) -> str:
    return "" if concern is None else f" It concerns {concern}."


def _mend(issue: IssueGroup, figures: Totals, examples: Sequence[Example]) -> str:
    found = effect(issue, figures)
    assert found is not None  # noqa: S101 - an issue that costs something can be compared
    sure = "" if found.high < 0.0 else ", which may be chance"
    return (
        f'Address "{issue.name}": {issue.frequency:,} of {figures.scored:,} conversations had it, and '
        f"{found.with_it:.0f}% of those that ended completed their task against {found.without:.0f}% of the others "
        f"({found.change:+.0f} points with the same model and topic, {found.low:+.0f} to "
        f"{found.high:+.0f}{sure}). They go together; only a test can show whether one causes the "
        f"other.{_evidence(examples)} Next: {_next(issue, examples)}"
    )


def _look(issue: IssueGroup, figures: Totals, examples: Sequence[Example]) -> str:
    weighed = ""
    if may_weigh(figures.basis):
        weighed = ", but they completed their task no less often than the others as far as can be seen"
    return (
        f'Look at "{issue.name}": {issue.frequency:,} of {figures.scored:,} conversations had it{weighed}.'
        f"{_evidence(examples)} Next: {_read(examples)} and decide whether it matters."
    )


def _evidence(examples: Sequence[Example]) -> str:
    quote = next((one.quote for one in examples if one.quote), None)
    if quote is None:
        return ""
    return f" For example: “{shorten_middle(quote, QUOTE_CHARS)}”"


def _read(examples: Sequence[Example]) -> str:
    names = ", ".join(one.conversation_id for one in examples[:EXAMPLES])
    return f"read {names}" if names else "read conversations that have it"


def _next(issue: IssueGroup, examples: Sequence[Example]) -> str:
    return f'{_read(examples)}, then start an optimization with intent.targetImprovements ["{issue.name}"].'
