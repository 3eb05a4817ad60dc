"""The status view of a prompt: its figures over all time, and the state of its insights."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from promptlift.service import clock
from promptlift.service.actions.views.percent import percent
from promptlift.service.store import aggregates, judging, optimizations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.store.aggregates import Totals
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow

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
            "taskCompletionRate": percent(figures.task_completed, figures.judged),
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
