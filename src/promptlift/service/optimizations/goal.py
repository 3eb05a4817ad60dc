"""What candidates are chosen by: task completion and the owner's targets, weighted.

The goal chooses, and never names: a search rejects a candidate that loses completion, and the confirmation asks for task
completion alone, so such a variant is not named a winner, however well it meets the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from promptlift.service.errors import invalid
from promptlift.service.optimizations.targets import targets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.optimizations import OptimizationCreate
    from promptlift.service.store.tables import AnyRow

__all__ = ["COMPLETION", "Goal", "goal_of"]

COMPLETION: Final = "taskCompletion"


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of one optimization.

    Attributes
    ----------
    weights
        Of task completion, then of each target in the order in which the judge answers them; nothing without a goal.
    """

    weights: tuple[float, ...] = ()

    @classmethod
    def of(cls, row: AnyRow, targets: Sequence[str]) -> Self:
        """Read the goal of an optimization."""
        parts = orjson.loads(row.settings).get("goal")
        if not parts:
            return cls()
        weights = {one["measure"]: one["weight"] for one in parts}
        return cls(tuple(weights.get(name, 0.0) for name in (COMPLETION, *targets)))

    def score(self, row: AnyRow) -> float | None:
        """Return how far one conversation met the goal, 0 to 1; ``None`` without a goal, and where the judge left it open.

        Parameters
        ----------
        row
            ``task_completed``, and ``criteria`` as they are stored.
        """
        if not self.weights or row.task_completed is None:
            return None
        met = orjson.loads(row.criteria) if row.criteria else []
        if len(met) != len(self.weights) - 1:
            return None
        reached = sum(
            weight for weight, one in zip(self.weights, (row.task_completed, *met), strict=True) if one
        )
        return reached / sum(self.weights)

    @property
    def of_completion(self) -> float:
        """Share of task completion; 1 without a goal."""
        return self.weights[0] / sum(self.weights) if self.weights else 1.0

    def unmet(self, row: AnyRow, targets: Sequence[str]) -> tuple[str, ...]:
        """Return the targets of the goal that one conversation did not meet; none where ``score`` returns ``None``."""
        if self.score(row) is None or not targets:
            return ()
        asked = zip(targets, self.weights[1:], orjson.loads(row.criteria), strict=True)
        return tuple(target for target, weight, met in asked if weight and not met)


def goal_of(body: OptimizationCreate) -> dict[str, Any]:
    """Return what a request says of its goal, as it is kept with the settings of the run.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` for a measure that is given twice, or is no target of the intent.
    """
    if body.goal is None:
        return {}
    targets = targets_of(None if body.intent is None else body.intent.to_wire())
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
