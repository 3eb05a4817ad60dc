"""The outcome of each conversation, and the rates of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.stats.intervals import rate_and_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OUTCOMES", "outcome_codes", "rate_columns"]

# The place of an outcome is its code.
OUTCOMES = ("in_progress", "unknown", "failed", "completed")
RATE_COLUMNS = ("n", "completed", "rate", "rate_low", "rate_high", "n_missing", "n_in_progress")


def outcome_codes(frame: pd.DataFrame) -> NDArray[np.int8]:
    """Return each row's outcome as its place in ``OUTCOMES``. Without a status, a conversation has ended."""
    task = frame["task_completed"]
    if task.dtype != bool:
        try:
            task = task.astype("boolean")
        except (TypeError, ValueError):
            raise ValueError(
                f"Column task_completed holds {task.dtype}, not true and false. Convert it to 'boolean' first."
            ) from None
    codes = task.to_numpy(dtype=bool, na_value=False).astype(np.int8)
    codes += 2
    codes[task.isna().to_numpy()] = 1
    if "status" in frame:
        codes[_equals(frame["status"], "in_progress")] = 0
    return codes


def _equals(column: pd.Series[Any], label: str) -> NDArray[np.bool_]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = list(column.cat.categories)
        if label not in categories:
            return np.zeros(len(column), bool)
        return np.asarray(column.cat.codes.to_numpy() == categories.index(label))
    return (column == label).to_numpy(dtype=bool, na_value=False)


def rate_columns(counts: NDArray[np.int64], level: float) -> dict[str, NDArray[Any]]:
    """Compute the columns of a rate table from counts, one row of outcomes each."""
    n, completed = counts[:, 2] + counts[:, 3], counts[:, 3]
    rates = rate_and_interval(completed, n, level=level)
    values = (n, completed, *rates, counts[:, 1], counts[:, 0])
    return dict(zip(RATE_COLUMNS, values, strict=True))
