"""One pass of an experiment: the cells to run, their outcomes, and the running counts of each variant."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self

from promptlift.stats.effect import CompletedInCluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Measured(NamedTuple):
    """The outcome of one simulated conversation; ``completed`` is ``None`` after an infrastructure error.

    Attributes
    ----------
    goal
        How far it met the goal, 0 to 1; ``None`` without a goal.
    """

    completed: bool | None
    sentiment: float | None = None
    quality: float | None = None
    goal: float | None = None


@dataclass(slots=True)
class _MetricSums:
    """A second metric over the pairs in which both arms have it."""

    n: int = 0
    variant: float = 0.0
    original: float = 0.0

    def means(self) -> tuple[float | None, float | None]:
        if not self.n:
            return None, None
        return self.variant / self.n, self.original / self.n


@dataclass(slots=True)
class PairTally:
    """Counts of one variant against the original in one stage.

    Attributes
    ----------
    n11, n10, n01, n00
        Pairs in which both, only the variant, only the original, or neither completed the task.
    dropped_variant, dropped_original, dropped_both
        Pairs lost to an infrastructure error of the variant's side only, the original's only, both.
    sentiment, quality, goal
        Sums of the second metrics.
    personas
        By persona: pairs, completed by variant, by original; pairs and sum of differences of sentiment; the
        same of quality.
    """

    n11: int = 0
    n10: int = 0
    n01: int = 0
    n00: int = 0
    dropped_variant: int = 0
    dropped_original: int = 0
    dropped_both: int = 0
    sentiment: _MetricSums = field(default_factory=_MetricSums)
    quality: _MetricSums = field(default_factory=_MetricSums)
    goal: _MetricSums = field(default_factory=_MetricSums)
    personas: dict[int | str, list[float]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Pairs that count."""
        return self.n11 + self.n10 + self.n01 + self.n00

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The pair table, in the order of `analyse_pairs`."""
        return self.n11, self.n10, self.n01, self.n00

    @property
    def dropped(self) -> int:
        """Pairs lost to infrastructure errors."""
        return self.dropped_variant + self.dropped_original + self.dropped_both

    @property
    def mean_difference(self) -> float:
        """Paired difference of completion, a fraction; minus infinity without pairs, so that it ranks last."""
        n = self.n
        return (self.n10 - self.n01) / n if n else -math.inf

    @property
    def goal_difference(self) -> float | None:
        """Paired difference of the goal, a fraction; ``None`` without a goal."""
        variant, original = self.goal.means()
        return None if variant is None or original is None else variant - original

    @property
    def merit(self) -> float:
        """The criterion for finalists: the difference of the goal, or without a goal that of completion."""
        goal = self.goal_difference
        return self.mean_difference if goal is None else goal

    def add(self, persona: int | str, variant: Measured, original: Measured) -> None:
        """Count one pair."""
        won, lost = variant.completed, original.completed
        if won is None or lost is None:
            self._drop(variant_lost=won is None, original_lost=lost is None)
            return
        if won:
            if lost:
                self.n11 += 1
            else:
                self.n10 += 1
        elif lost:
            self.n01 += 1
        else:
            self.n00 += 1
        if variant.goal is not None and original.goal is not None:
            self.goal.n += 1
            self.goal.variant += variant.goal
            self.goal.original += original.goal
        sums = self.personas.get(persona)
        if sums is None:
            sums = self.personas[persona] = [0, 0, 0, 0, 0.0, 0, 0.0]
        sums[0] += 1
        sums[1] += won
        sums[2] += lost
        if variant.sentiment is not None and original.sentiment is not None:
            _add_metric(self.sentiment, sums, 3, variant.sentiment, original.sentiment)
        if variant.quality is not None and original.quality is not None:
            _add_metric(self.quality, sums, 5, variant.quality, original.quality)

    def _drop(self, *, variant_lost: bool, original_lost: bool) -> None:
        if variant_lost and original_lost:
            self.dropped_both += 1
        elif variant_lost:
            self.dropped_variant += 1
        else:
            self.dropped_original += 1

    def completed_by_persona(self) -> Iterator[CompletedInCluster]:
        """Return pairs and completions of each persona, for the clustered covariance."""
        return (CompletedInCluster(int(s[0]), int(s[1]), int(s[2])) for s in self.personas.values())

    def differences_by_persona(self, metric: str) -> Iterator[tuple[int, float]]:
        """Return pairs and summed differences of ``sentiment`` or ``quality`` of each persona."""
        at = {"sentiment": 3, "quality": 5}[metric]
        return ((int(s[at]), s[at + 1]) for s in self.personas.values())

    def to_state(self) -> dict[str, Any]:
        """Return the tally as plain JSON."""
        # A list and not an object: JSON would turn persona numbers into text.
        return {**asdict(self), "personas": [[persona, *sums] for persona, sums in self.personas.items()]}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> PairTally:
        """Rebuild a tally from `to_state`."""
        metrics = {name: _MetricSums(**state[name]) for name in ("sentiment", "quality", "goal")}
        return cls(**{**state, **metrics, "personas": {who: sums for who, *sums in state["personas"]}})


def _add_metric(sums: _MetricSums, persona: list[float], at: int, variant: float, original: float) -> None:
    sums.n += 1
    sums.variant += variant
    sums.original += original
    persona[at] += 1
    persona[at + 1] += variant - original


Stage = Literal["screen", "confirm", "verify"]

_AS_COMPLETED: Final[dict[object, bool | None]] = {True: True, False: False, None: None}


class Cell(NamedTuple):
    """One persona and one scenario, in which every arm of the pass has one conversation.

    Attributes
    ----------
    number
        Number of the cell in the experiment; never used twice.
    persona
        Number of the draw. A new number is a fresh draw; the scenario is new in every cell.
    order
        The arms in the order in which they run here.
    """

    number: int
    persona: int
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
        The original (0) first, then the remaining variants.
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
        -1 to 1, and 0 to 100; ``None`` if not judged.
    goal
        How far the conversation met the goal, 0 to 1; finalists are then chosen by it. ``None`` without a
        goal.
    persona
        The persona, if two draws can be the same persona; by default the draw of the cell.
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
    """Sort outcomes into rows (cells) and columns (arms), and return the persona of each cell.

    Raises
    ------
    ValueError
        If an outcome is missing, duplicate, not of this pass, or invalid.
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
        given[place] = _measured(outcome)
        if outcome.persona is not None:
            persona_of[outcome.cell] = outcome.persona
    if len(given) < len(places):
        cell, arm = min(places - given.keys())
        raise ValueError(
            f"{len(places) - len(given)} outcomes of pass {step.number} are missing, the first of cell {cell}, "
            f"arm {arm}. Pass completed=None if an infrastructure error prevented the conversation."
        )
    table = [[given[cell.number, arm] for arm in step.arms] for cell in step.cells]
    return table, [persona_of.get(cell.number, cell.persona) for cell in step.cells]


def _measured(outcome: Outcome) -> Measured:
    """Validate one outcome: true, false or None; numeric metrics."""
    try:
        answer = _AS_COMPLETED[outcome.completed]
    except (KeyError, TypeError):
        raise ValueError(f"completed must be True, False or None, not {outcome.completed!r}.") from None
    metrics = {"sentiment": outcome.sentiment, "quality": outcome.quality, "goal": outcome.goal}
    for name, value in metrics.items():
        if value is not None and not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number or None, not {value!r}.")
    return Measured(answer, *(None if value is None else float(value) for value in metrics.values()))


@dataclass(frozen=True, slots=True)
class Searched:
    """A search that has ended, or is still running. Its conversations never enter the confirmation.

    Attributes
    ----------
    finalist
        Number of the candidate to confirm; ``None`` while the search is running.
    passes, cells, conversations
        Its usage.
    confirm_passes
        Maximum passes of confirmation.
    conversations_max
        Maximum conversations of search and confirmation together.
    """

    finalist: int | None
    passes: int
    cells: int
    conversations: int
    confirm_passes: int
    conversations_max: int

    def most(self, *, pair_cells: int) -> int:
        """Return the maximum conversations of search and confirmation, as far as known."""
        if self.finalist is None:
            return self.conversations_max
        return self.conversations + 2 * pair_cells * self.confirm_passes

    def to_state(self) -> dict[str, Any]:
        """Return the search as plain JSON."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild a search from `to_state`."""
        return cls(**state)
