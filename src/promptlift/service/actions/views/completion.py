"""Performance of prompts: the status of one, the completion of many over all time and by week, and shares in percent."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from promptlift.schema import endpoints
from promptlift.schema.prompts import (
    OPTIMIZATION_STATES,
    CompletionOfWeek,
    InsightCounts,
    MissingReason,
    PromptCompletion,
    PromptStatusView,
    StatusMetrics,
)
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.store import aggregates, deployments, judging, optimizations
from promptlift.stats.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike
    from sqlalchemy import Connection

    from promptlift.service.store.aggregates import Totals
    from promptlift.service.store.judging import Trouble

WEEKS: Final = 8
_DAYS: Final = 7
REASONS: Final = 5


def completion_views(
    connection: Connection, account_id: str, prompt_ids: Sequence[str]
) -> dict[str, PromptCompletion]:
    """Return the completion of each prompt by its id.

    The weeks end with the day of the latest conversation of any of the prompts, so that logs of last year have weeks
    too. Conversations that are dated in the future count over all time only.
    """
    today = clock.now() // clock.DAY * clock.DAY
    last, counts = aggregates.completion_by_day(
        connection, account_id, prompt_ids, days=WEEKS * _DAYS, today=today
    )
    nothing = aggregates.Completion(0, 0, 0, 0, None, {})
    optimizing = optimizations.open_by_prompt(connection, account_id)
    return {one: _view(counts.get(one, nothing), last, optimizing.get(one, [])) for one in prompt_ids}


def _view(counts: aggregates.Completion, last: int | None, optimizing: list[str]) -> PromptCompletion:
    low, high = percent_interval(counts.completed, counts.judged)
    return PromptCompletion(
        conversations=counts.total,
        with_insights=counts.scored,
        judged=counts.judged,
        completed=counts.completed,
        rate=percent(counts.completed, counts.judged),
        rate_low=low,
        rate_high=high,
        basis=counts.basis,
        optimizing=optimizing,
        weeks=[] if last is None else [_week(counts, last, ago) for ago in range(WEEKS - 1, -1, -1)],
    )


def _week(counts: aggregates.Completion, last: int, ago: int) -> CompletionOfWeek:
    first = last - ((ago + 1) * _DAYS - 1) * clock.DAY
    days = [counts.days.get(first + day * clock.DAY, (0, 0)) for day in range(_DAYS)]
    return CompletionOfWeek(
        from_=clock.to_datetime(first),
        judged=sum(judged for judged, _ in days),
        completed=sum(completed for _, completed in days),
    )


def percent(part: int, whole: int) -> float | None:
    """Return a share in percent, ``None`` for an empty total."""
    return 100.0 * part / whole if whole else None


def percent_interval(part: int, whole: int) -> tuple[float | None, float | None]:
    """Return the ends of the 95% interval of a share in percent."""
    if not whole:
        return None, None
    low, high = wilson(part, whole)
    return points(low), points(high)


def points(fraction: ArrayLike) -> float:
    """Return a fraction as percentage points."""
    return 100.0 * float(fraction)  # type: ignore[arg-type]  # one number


@answers(endpoints.PROMPTS_STATUS)
def status(call: Call) -> PromptStatusView:
    """Return the status of a prompt, over all its conversations."""
    with call.read() as rows:
        prompt, connection = call.prompt(rows), rows.core
        figures = aggregates.totals(connection, prompt.account_id, prompt.id)
        troubles = judging.troubles(connection, prompt.account_id, prompt.id)
        again = judging.judged_again(connection, prompt.account_id, prompt.id)
        open_ones = optimizations.open_of_prompt(connection, prompt.account_id, prompt.id)
        waiting = deployments.of_prompt(connection, prompt, *deployments.WAITING)
        last = optimizations.last_completed(connection, prompt.account_id, prompt.id)
    # unspecified: values of optimizationState beside idle. A running optimization takes precedence over one
    # awaiting a person.
    states = {row.status for row in open_ones} | {row.state for row in waiting}
    return PromptStatusView(
        id=prompt.id,
        name=prompt.name,
        status=prompt.status,
        optimization_state=next((one for one in OPTIMIZATION_STATES if one in states), "idle"),
        metrics=StatusMetrics(
            conversation_count=figures.total,
            task_completion_rate=percent(figures.task_completed, figures.judged),
            avg_sentiment=figures.sentiment,
        ),
        insights=_insight_counts(figures, troubles, call.context.jobs.waits_because, again),
        last_optimized=last,
    )


def _insight_counts(
    figures: Totals, troubles: Sequence[Trouble], waits_because: str | None, again: int
) -> InsightCounts:
    """Count the conversations with insights, pending and failed, with the reasons."""
    reasons = Counter[str]()
    for row in troubles:
        reasons[row.judge_problem] += row.conversations
    failed = sum(row.conversations for row in troubles if row.judging == "failed")
    if waits_because is not None:
        reasons[waits_because] += figures.total - figures.scored - reasons.total()
    return InsightCounts(
        ready=figures.scored,
        waiting=figures.total - figures.scored - failed,
        failed=failed,
        again=again,
        reasons=[
            MissingReason(reason=reason, count=count)
            for reason, count in reasons.most_common(REASONS)
            if count
        ],
    )
