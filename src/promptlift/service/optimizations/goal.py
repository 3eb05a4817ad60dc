"""The goal of an optimization: task completion and the owner's targets, weighted for choosing, and each measured.

The goal guides the choice of candidates but never declares a winner: a search rejects a candidate that loses
completion, and the confirmation tests task completion alone, so a variant that loses completion does not win,
however well it meets the rest.

The judge decides for every conversation whether it met each target. Original and finalist are then compared
on the same cells as for task completion, with the interval that stays valid at every look. With several
targets each gets its share of the error (Bonferroni): all intervals hold simultaneously at the level of the
lift's interval.

No direction of change can be read from a sentence, so a hypothesis is compared with the measurements: it held
if every target improved, or task completion if no target was named. It did not if any got worse, or an
interval rules out an improvement of more than a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from promptlift.schema.results import HypothesisResult, TargetResult
from promptlift.schema.simulations import Criterion
from promptlift.service.errors import invalid
from promptlift.service.store import runs
from promptlift.stats import analyse_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from promptlift.schema.optimizations import OptimizationCreate
    from promptlift.service.store.tables.runs import SimulationRow
    from promptlift.stats.pairs import PairAnalysis

COMPLETION: Final = "taskCompletion"


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of one optimization.

    Attributes
    ----------
    weights
        Weights of task completion, then of each target in the judge's order; empty without a goal.
    """

    weights: tuple[float, ...] = ()

    @classmethod
    def of(cls, parts: Sequence[Mapping[str, Any]] | None, targets: Sequence[str]) -> Self:
        """Read the goal from the settings of an optimization."""
        if not parts:
            return cls()
        weights = {one["measure"]: one["weight"] for one in parts}
        return cls(tuple(weights.get(name, 0.0) for name in (COMPLETION, *targets)))

    def score(self, row: SimulationRow) -> float | None:
        """Return how far one conversation met the goal, 0 to 1; ``None`` without a goal, or if the judge left it open."""
        met = (row.task_completed, *(row.criteria or ()))
        if not self.weights or row.task_completed is None or len(met) != len(self.weights):
            return None
        reached = sum(weight for weight, one in zip(self.weights, met, strict=True) if one)
        return reached / sum(self.weights)

    @property
    def of_completion(self) -> float:
        """Share of task completion; 1 without a goal."""
        return self.weights[0] / sum(self.weights) if self.weights else 1.0

    def unmet(self, row: SimulationRow, targets: Sequence[str]) -> tuple[str, ...]:
        """Return the targets of the goal that one conversation did not meet; empty if ``score`` returns ``None``."""
        if self.score(row) is None or not targets:
            return ()
        asked = zip(targets, self.weights[1:], row.criteria or (), strict=True)
        return tuple(target for target, weight, met in asked if weight and not met)


def goal_of(body: OptimizationCreate) -> dict[str, Any]:
    """Return the goal of a request in the form stored with the settings of the run.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` for a measure that is given twice, or is not a target of the intent.
    """
    if body.goal is None:
        return {}
    targets = targets_of({} if body.intent is None else body.intent.to_wire())
    problems: dict[str, str] = {}
    seen: set[str] = set()
    parts = []
    for at, one in enumerate(body.goal):
        measure = one.measure.strip()
        if measure in seen:
            problems[f"goal[{at}].measure"] = "is given twice"
        elif measure != COMPLETION and measure not in targets:
            problems[f"goal[{at}].measure"] = f"must be {COMPLETION} or one of intent.targetImprovements"
        seen.add(measure)
        parts.append({"measure": measure, "weight": one.weight})
    if problems:
        raise invalid(problems)
    return {"goal": parts}


LEVEL: Final = 0.90
# An improvement too small to matter.
NO_IMPROVEMENT_POINTS: Final = 1.0

Change = Literal["improved", "worse", "unchanged", "unclear"]


def targets_of(intent: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the targets of an intent, without duplicates and blanks."""
    given = intent.get("targetImprovements") or ()
    return tuple(dict.fromkeys(text.strip() for text in given if text.strip()))


def intent_results(
    intent: Mapping[str, Any],
    rows: Iterable[SimulationRow],
    *,
    finalist: int | None,
    analysis: PairAnalysis | None,
) -> dict[str, Any]:
    """Return the results of the targets and the hypothesis; empty without an intent.

    Parameters
    ----------
    rows
        Conversations of the confirmation.
    finalist
        Number of the confirmed variant, if any.
    analysis
        Task completion of the same pairs.
    """
    targets = targets_of(intent)
    hypothesis = str(intent.get("hypothesis") or "").strip()
    confirmed = None if finalist is None else analysis
    pairs = [] if finalist is None else _pairs(rows, finalist, len(targets))
    measured = [_target(text, at, pairs, confirmed, len(targets)) for at, text in enumerate(targets)]
    found: dict[str, Any] = {"targets": measured} if targets else {}
    if hypothesis:
        found["hypothesis"] = HypothesisResult(
            text=hypothesis,
            held=_held([one.change for one in measured] or [_change(confirmed)]),
            measured_by="targets" if targets else COMPLETION,
        )
    return found


def criteria_of(targets: Sequence[str], met: Sequence[bool] | None) -> list[Criterion]:
    """Return whether one conversation met each target; empty if the judge did not decide."""
    if met is None or len(met) != len(targets):
        return []
    return [Criterion(target=target, met=one) for target, one in zip(targets, met, strict=True)]


def _pairs(rows: Iterable[SimulationRow], finalist: int, count: int) -> list[tuple[list[bool], list[bool]]]:
    """Return the criteria of variant and original in every cell in which both have all of them."""
    found = runs.by_cell(row for row in rows if row.criteria and len(row.criteria) == count)
    sides = [(arms[finalist], arms[0]) for arms in found.values() if finalist in arms and 0 in arms]
    return [(one.criteria or [], other.criteria or []) for one, other in sides]


def _target(
    text: str,
    at: int,
    pairs: Sequence[tuple[list[bool], list[bool]]],
    completion: PairAnalysis | None,
    count: int,
) -> TargetResult:
    table = [(variant[at], original[at]) for variant, original in pairs]
    n11, n10, n01, n00 = (
        table.count(one) for one in ((True, True), (True, False), (False, True), (False, False))
    )
    level = 1.0 - (1.0 - LEVEL) / count
    looks = (1, 1) if completion is None else (completion.look, completion.max_looks)
    analysis = analyse_pairs(n11, n10, n01, n00, look=looks[0], max_looks=looks[1], level=level)
    return TargetResult(
        target=text,
        change=_change(analysis),
        original=percent(analysis.p0),
        variant=percent(analysis.p1),
        points=analysis.lift_points,
        points_low=analysis.lift_points_low,
        points_high=analysis.lift_points_high,
        interval_level=analysis.interval_level,
        n=analysis.n,
    )


def _change(analysis: PairAnalysis | None) -> Change:
    if analysis is None or analysis.lift_points_low is None or analysis.lift_points_high is None:
        return "unclear"
    if analysis.lift_points_low > 0:
        return "improved"
    if analysis.lift_points_high < 0:
        return "worse"
    return "unchanged" if analysis.lift_points_high < NO_IMPROVEMENT_POINTS else "unclear"


def _held(changes: Sequence[str | None]) -> bool | None:
    if all(change == "improved" for change in changes):
        return True
    return False if any(change in ("worse", "unchanged") for change in changes) else None


def percent(fraction: float | None) -> float | None:
    """Return a fraction in percent."""
    return None if fraction is None else 100.0 * fraction
