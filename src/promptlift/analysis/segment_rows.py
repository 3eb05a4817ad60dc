"""The rows that segments are made of, each standing for one conversation or for all that are alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS
from promptlift.analysis.outcomes import outcome_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Rows:
    """Conversations with a known outcome, each standing for ``weight`` of them (one each when it is None).

    Attributes
    ----------
    frame
        The columns to split by.
    code
        Of each row twice the number of its side, plus one where the outcome is true.
    sides
        How many sides there are; 1 where nothing is compared.
    weight
        How many conversations each row stands for.
    began
        When each began, in microseconds since 1970 UTC; None where no time is known or needed.
    task
        Number of the task of each row, ``tasks`` for those without one; None where the logs have no tasks.
    tasks
        How many tasks there are.
    edges
        Of a column of numbers that an engine has counted in bins: the borders of the bins, and the largest number of each row's bin.
    """

    frame: pd.DataFrame
    code: NDArray[np.intp]
    sides: int = 1
    weight: NDArray[np.int64] | None = None
    began: NDArray[np.int64] | None = None
    task: NDArray[np.intp] | None = None
    tasks: int = 0
    edges: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=dict)

    def count(self, members: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count rows by side and outcome: one row per side, those not completed before those completed."""
        weight = None if self.weight is None else self.weight[members]
        counts = np.bincount(self.code[members], weights=weight, minlength=2 * self.sides)
        return counts.astype(np.int64).reshape(self.sides, 2)

    def count_tasks(self, members: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """Count rows by task and outcome, those without a task last; None where the logs have no tasks."""
        if self.task is None:
            return None
        weight = None if self.weight is None else self.weight[members]
        place = 2 * self.task[members] + self.code[members] % 2
        counts = np.bincount(place, weights=weight, minlength=2 * (self.tasks + 1))
        return counts.astype(np.int64).reshape(-1, 2)


def judged_outcomes(frame: pd.DataFrame, outcome: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows have a known outcome, and which are true.

    Raises
    ------
    ValueError
        When the column does not hold true and false.
    """
    if outcome == "task_completed":
        codes = outcome_codes(frame)
        return np.asarray(codes >= 2), np.asarray(codes == 3)
    try:
        column = frame[outcome].astype("boolean")
    except (TypeError, ValueError):
        raise ValueError(
            f"Column {outcome} holds {frame[outcome].dtype}, not true and false. Segments compare rates: make a "
            f"column of true and false first, such as df[{outcome!r}] > df[{outcome!r}].median()."
        ) from None
    return column.notna().to_numpy(dtype=bool), column.to_numpy(dtype=bool, na_value=False)


def rows_of(
    frame: pd.DataFrame,
    outcome: str,
    *,
    side: tuple[str, Any] | None = None,
    began: Any = None,
    task: str | None = None,
) -> Rows:
    """Select the rows of a pandas table with a known outcome; see `Rows`."""
    judged, done = judged_outcomes(frame, outcome)
    code = done[judged].astype(np.intp)
    if side is not None:
        code = code + 2 * (frame[side[0]] == side[1]).to_numpy(dtype=bool, na_value=False)[judged]
    weight = frame[ROWS].to_numpy(np.int64)[judged] if ROWS in frame else None
    kept = None if began is None else began[judged]
    rows = Rows(frame[judged], code, 1 if side is None else 2, weight, kept)
    if task is None:
        return rows
    numbers, count = task_numbers(rows.frame[task])
    return replace(rows, task=numbers, tasks=count)


def task_numbers(column: pd.Series[Any]) -> tuple[NDArray[np.intp], int]:
    """Return the number of each row's task, and how many there are, which is the number of rows without one."""
    codes, names = pd.factorize(column.astype("str").where(column.notna()))
    return np.where(codes < 0, len(names), codes), len(names)
