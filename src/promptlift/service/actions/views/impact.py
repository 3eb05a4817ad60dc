"""What the failures of an agent cost, and what would change if its costliest issue vanished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.service.actions.views.percent import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.actions.views.issues import Issue
    from promptlift.service.store.aggregates import Totals


def impact_view(
    figures: Totals,
    costliest: Sequence[tuple[Issue, tuple[float, float, float]]],
    *,
    days: int,
    business: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the business impact of the failures of a period.

    Parameters
    ----------
    costliest
        Issues that go with failures, the most points of completion first.
    days
        Days of the period since the first conversation, the last one counted whole.
    business
        The settings of the group ``business``, as far as they are set.
    """
    failed = figures.judged - figures.task_completed
    weeks = days / 7
    value = business.get("valuePerConversation")
    view = {
        "failedConversations": failed,
        "failedRate": percent(failed, figures.judged),
        "abandonedConversations": figures.abandoned,
        "failuresPerWeek": failed / weeks,
        "valuePerConversation": value,
        "currency": business.get("currency"),
        "costPerWeek": None if value is None else value * failed / weeks,
        "cost": None if value is None else value * failed,
        "firstIssue": None,
    }
    if costliest:
        issue, (points, low, high) = costliest[0]
        rate = 100.0 * figures.task_completed / figures.judged
        avoided = points / 100.0 * figures.judged / weeks
        view["firstIssue"] = {
            "issue": issue.name,
            "conversations": issue.frequency,
            "completionIfGone": rate + points,
            "liftPoints": points,
            "liftPointsLow": low,
            "liftPointsHigh": high,
            "lift": 100.0 * points / rate if rate else None,
            "failuresAvoidedPerWeek": avoided,
            "valuePerWeek": None if value is None else value * avoided,
        }
    return view
