"""Recommendations from what conversations of a prompt lose: each names its evidence and the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.schema.inert import shorten_middle
from promptlift.service.actions.views.issues import EXAMPLES, effect
from promptlift.service.insights.organization import what_matters_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.actions.views.issues import Example, IssueGroup
    from promptlift.service.insights.organization import Organization
    from promptlift.service.store.aggregates import Totals

MOST: Final = 3
QUOTE_CHARS: Final = 120
# Fewer judged conversations say little about anything.
FEW: Final = 30


def recommendations(
    issues: Sequence[IssueGroup],
    costliest: Sequence[tuple[IssueGroup, tuple[float, float, float]]],
    figures: Totals,
    examples: Mapping[str, Sequence[Example]],
    *,
    organization: Organization,
) -> list[str]:
    """Return what to do: first what the owner wants to know about, then what there is most to gain from.

    Parameters
    ----------
    issues
        By frequency.
    costliest
        Those that go with failures, with what each costs.
    figures
        Of the period.
    examples
        Conversations by the name of the issue.
    organization
        What the owner said of it: an issue that it is about comes first.
    """
    ordered = what_matters_first(costliest, lambda one: one[0].name, organization)
    said = [
        _mend(issue, lost, figures, examples.get(issue.name, ())) + _concerning(concern)
        for (issue, lost), concern in ordered[:MOST]
    ]
    if not said:
        first = what_matters_first(issues, lambda issue: issue.name, organization)
        said = [
            _look(issue, figures, examples.get(issue.name, ())) + _concerning(concern)
            for issue, concern in first[:MOST]
        ]
    waiting = figures.total - figures.scored
    if figures.total and 2 * waiting > figures.total:
        said.append(
            f"{waiting:,} of {figures.total:,} conversations have no insights yet. Next: read why in the prompt's status, "
            "before anything here is acted on."
        )
    elif 0 < figures.judged < FEW and said:
        said.append(
            f"All this rests on {figures.judged} judged conversations. Next: log more, {FEW} at least, and look again."
        )
    return said


def _concerning(concern: str | None) -> str:
    return "" if concern is None else f" It concerns {concern}."


def _mend(
    issue: IssueGroup, lost: tuple[float, float, float], figures: Totals, examples: Sequence[Example]
) -> str:
    found = effect(issue, figures)
    assert found is not None  # noqa: S101 - an issue that costs something can be compared
    sure = "" if found.high < 0.0 else ", which may be chance"
    return (
        f'Address "{issue.name}": {issue.frequency:,} of {figures.scored:,} conversations had it, and '
        f"{found.with_it:.0f}% of those that ended completed their task against {found.without:.0f}% of the others "
        f"({found.change:+.0f} points, {found.low:+.0f} to {found.high:+.0f}{sure}); without it completion could rise by up "
        f"to {lost[0]:.1f} points.{_evidence(examples)} Next: {_next(issue, examples)}"
    )


def _look(issue: IssueGroup, figures: Totals, examples: Sequence[Example]) -> str:
    return (
        f'Look at "{issue.name}": {issue.frequency:,} of {figures.scored:,} conversations had it, but they completed their '
        f"task no less often than the others as far as can be seen.{_evidence(examples)} Next: {_read(examples)} and decide "
        "whether it matters."
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
