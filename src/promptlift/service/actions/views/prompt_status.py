"""The status view of a prompt: its figures over all time, and the state of its insights."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.schema.prompts import InsightCounts, MissingReason, PromptStatusView, StatusMetrics
from promptlift.service import clock
from promptlift.service.actions.views.completion import percent
from promptlift.service.call import Call, answers
from promptlift.service.store import aggregates, judging, optimizations, prompts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.store.aggregates import Totals
    from promptlift.service.store.judging import Trouble

REASONS = 5


@answers(endpoints.PROMPTS_STATUS)
def status(call: Call) -> PromptStatusView:
    """Return the status of a prompt, over all its conversations."""
    with call.read() as rows:
        prompt, connection = prompts.found(rows, call.account_id, call.id, call.scheme.noun), rows.core
        figures = aggregates.totals(connection, prompt.account_id, prompt.id)
        troubles = judging.troubles(connection, prompt.account_id, prompt.id)
        open_ones = optimizations.open_of_prompt(connection, prompt.account_id, prompt.id)
        last = optimizations.last_completed(connection, prompt.account_id, prompt.id)
    # unspecified: values of optimizationState beside idle. Those of the optimization that is furthest.
    states = {row.status for row in open_ones}
    return PromptStatusView(
        id=prompt.id,
        name=prompt.name,
        status=prompt.status,
        optimization_state="running" if "running" in states else "queued" if states else "idle",
        metrics=StatusMetrics(
            conversation_count=figures.total,
            task_completion_rate=percent(figures.task_completed, figures.judged),
            avg_sentiment=figures.sentiment,
        ),
        insights=_insight_counts(figures, troubles, call.context.jobs.waits_because),
        last_optimized=None if last is None else clock.to_datetime(last),
    )


def _insight_counts(figures: Totals, troubles: Sequence[Trouble], waits_because: str | None) -> InsightCounts:
    """Count the conversations that have insights, wait for them or failed, with the reasons."""
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
        reasons=[
            MissingReason(reason=reason, count=count)
            for reason, count in reasons.most_common(REASONS)
            if count
        ],
    )
