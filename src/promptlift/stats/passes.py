"""One pass of an experiment: the cells to run, and the outcomes that come back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from promptlift.stats.tally import Measured

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Cell", "Outcome", "Pass", "Stage", "table_of_outcomes"]

Stage = Literal["screen", "confirm", "verify"]

_AS_COMPLETED: Final[dict[object, bool | None]] = {True: True, False: False, None: None}
_WITHOUT_METRICS: Final = {answer: Measured(answer) for answer in (True, False, None)}


class Cell(NamedTuple):
    """One persona and one scenario, in which every arm of the pass holds one conversation.

    Attributes
    ----------
    number
        Number of the cell in the experiment; never used twice.
    persona, scenario
        Numbers of the draws. A number that was not seen before is a fresh draw.
    order
        The arms in the order in which they run here.
    """

    number: int
    persona: int
    scenario: int
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pass:
    """The next conversations to simulate: every arm on every cell.

    Attributes
    ----------
    number
        From 1, over both stages.
    stage
        ``screen``, ``confirm`` or ``verify``.
    arms
        The original (0) first, then the variants that are still in it.
    cells
        Persona by persona.
    """

    number: int
    stage: Stage
    arms: tuple[int, ...]
    cells: tuple[Cell, ...]


class Outcome(NamedTuple):
    """The outcome of one arm on one cell.

    Attributes
    ----------
    cell, arm
        ``Cell.number`` and the number of the arm.
    completed
        Whether the task was completed. ``None`` after an infrastructure error: the pair is dropped. Running
        out of turns, a refusal or wrong tool use is ``False``.
    sentiment, quality
        -1 to 1, and 0 to 100; ``None`` where not judged.
    goal
        How far the conversation met what its owner wants, 0 to 1; finalists are then chosen by it. ``None`` without a goal.
    persona
        The persona, where two draws can be the same persona; by default the draw of the cell.
    """

    cell: int
    arm: int
    completed: bool | None
    sentiment: float | None = None
    quality: float | None = None
    persona: int | str | None = None
    goal: float | None = None


def table_of_outcomes(
    step: Pass, outcomes: Iterable[Outcome]
) -> tuple[list[list[Measured]], list[int | str]]:
    """Sort outcomes into rows (cells) and columns (arms), beside the persona of each cell.

    Raises
    ------
    ValueError
        When an outcome is missing, double, not of this pass, or no outcome.
    """
    given: dict[tuple[int, int], Measured] = {}
    places = {(cell.number, arm) for cell in step.cells for arm in step.arms}
    persona_of: dict[int, int | str] = {}
    for outcome in outcomes:
        place = (outcome.cell, outcome.arm)
        if place not in places or place in given:
            raise ValueError(
                f"cell {outcome.cell}, arm {outcome.arm} is not in pass {step.number}, or is given twice."
            )
        given[place] = _measured(outcome.completed, outcome.sentiment, outcome.quality, outcome.goal)
        if outcome.persona is not None:
            persona_of[outcome.cell] = outcome.persona
    if len(given) < len(places):
        cell, arm = min(places - given.keys())
        raise ValueError(
            f"{len(places) - len(given)} outcomes of pass {step.number} are missing, the first of cell {cell}, "
            f"arm {arm}. Give completed=None where an infrastructure error prevented the conversation."
        )
    table = [[given[cell.number, arm] for arm in step.arms] for cell in step.cells]
    return table, [persona_of.get(cell.number, cell.persona) for cell in step.cells]


def _measured(
    completed: object,
    sentiment: float | None = None,
    quality: float | None = None,
    goal: float | None = None,
) -> Measured:
    """Check one outcome: true, false or nothing; metrics that are numbers."""
    try:
        answer = _AS_COMPLETED[completed]
    except (KeyError, TypeError):
        raise ValueError(f"completed must be True, False or None, not {completed!r}.") from None
    if sentiment is None and quality is None and goal is None:
        return _WITHOUT_METRICS[answer]
    for name, value in (("sentiment", sentiment), ("quality", quality), ("goal", goal)):
        if value is not None and not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number or None, not {value!r}.")
    return Measured(
        answer,
        None if sentiment is None else float(sentiment),
        None if quality is None else float(quality),
        None if goal is None else float(goal),
    )
