"""What an optimization would cost and what it could find, before it spends anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from promptlift.display.static_html import element, facts, paragraph, root
from promptlift.schema.inert import one_line
from promptlift.schema.search import CIRCULAR

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.stats.budget import PlannedSpending

__all__ = ["CIRCULAR", "OptimizationPlan", "sentence_of"]

_FEW: Final = 20


@dataclass(frozen=True)
class OptimizationPlan:
    """What an optimization would cost and what it could find.

    Attributes
    ----------
    mode, confidence_mode, variants, search
        What is planned; ``search`` is ``on`` or ``off``.
    spending
        The most conversations of ``search`` (the screening, where there is no search), ``confirmation`` and
        ``verification``, which comes on top and only after a win; ``pairs`` of the confirmation.
    points_findable
        The smallest gain in points that the confirmation finds with 80 %; ``None`` where it finds none.
    points, points_low, points_high
        How many points more often conversations in which nothing went wrong complete than all, with their interval; ``None`` without judged
        conversations.
    enough
        Whether the gain may be as large as what can be found: whether its one-sided upper bound of 90 % is. ``None`` where too
        little is known.
    sentence
        The same in words.
    headroom
        The table of ``analysis.headroom``: how conversations with each issue end.
    """

    mode: str
    confidence_mode: str
    variants: int
    search: Literal["on", "off"]
    spending: PlannedSpending
    points_findable: float | None
    points: float | None
    points_low: float | None
    points_high: float | None
    enough: bool | None
    sentence: str
    headroom: pd.DataFrame = field(repr=False)

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        first = "search" if self.search == "on" else "screening"
        rows = [
            (first, f"at most {self.spending.search:,} conversations"),
            ("confirmation", f"at most {self.spending.confirmation:,} conversations"),
            ("verification, after a win", f"{self.spending.verification:,} conversations"),
        ]
        return str(root(paragraph(element("b", one_line(self.sentence, 1_000))), facts(rows)))


def sentence_of(
    spending: PlannedSpending,
    *,
    mode: str,
    findable: float | None,
    gain: tuple[float, float, float] | None,
    enough: bool | None,
    judged: int,
    circular: bool = False,
) -> str:
    """Return what an optimization would cost and find, in words.

    Parameters
    ----------
    findable
        The smallest gain that it finds with 80 %, in points.
    gain
        The points of `OptimizationPlan`, with their interval; ``None`` where nothing was counted.
    enough
        Whether that may be as large as what is found.
    judged
        Logged conversations that this rests on.
    circular
        Whether one judgement gave both their issues and their failures.
    """
    parts = (
        [f"{spending.search:,} for the {'search' if spending.searches else 'screening'}"]
        if spending.search
        else []
    )
    parts.append(f"{spending.confirmation:,} for the confirmation")
    cost = f"{mode.capitalize()}: at most {spending.most:,} conversations ({' and '.join(parts)})"
    if spending.verification:
        cost += f", after a win {spending.verification:,} more that verify the lift"
    finds = (
        "Whatever the gain, this is too little to find it with 80 %"
        if findable is None
        else f"A gain of {_points(findable)} or more is found with 80 %"
    )
    too_little = findable is not None and enough is False
    could = CIRCULAR if circular and judged else _headroom(gain, judged, too_little=too_little)
    return f"{cost}. {finds}. {could}"


def _headroom(gain: tuple[float, float, float] | None, judged: int, *, too_little: bool) -> str:
    if gain is None:
        return "No logged conversations were judged, so what could be gained is not known."
    points, low, high = gain
    of = f"By {judged:,} judged conversation{'' if judged == 1 else 's'}"
    most = (
        f"those in which nothing went wrong complete {points:.1f} points ({low:.1f} to {high:.1f}) more often than all, "
        "and more is not to be expected"
    ).replace("-", "−")
    if too_little:
        return (
            f"{of}, {most}: most likely below what this budget can find, so a run will hardly name a winner."
        )
    few = "; these are few, so it says little" if judged < _FEW else ""
    return f"{of}, {most}{few}."


def _points(value: float) -> str:
    return f"{value:.1f} point{'' if value == 1 else 's'}"
