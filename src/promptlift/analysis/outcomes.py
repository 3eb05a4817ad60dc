"""The outcome of each conversation, and the rates of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.schema.metadata import SCORE_PREFIX, is_metadata_column, key_of_column
from promptlift.schema.outcomes import parse_rule, truth_of
from promptlift.stats.intervals import rate_and_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

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


COLUMNS: Final = ("column", "kind", "n", "share", "rule", "n_true", "values")
_TEXTS: Final = ("column", "kind", "rule", "values")
_VALUES_SHOWN: Final = 4
_KINDS: Final[Mapping[str, str]] = {"boolean": "true or false", "Int64": "number", "Float64": "number"}


def log_outcomes(conversations: pd.DataFrame) -> pd.DataFrame:
    """List the columns that say how conversations ended: scores, and metadata of true and false.

    Parameters
    ----------
    conversations
        Conversations with their columns ``score.…`` and ``metadata.…``.

    Returns
    -------
    DataFrame
        One row per column, those that most conversations have first: ``column``, ``kind`` (``true or false``, ``number``, ``text``), ``n``
        conversations that have it and their ``share``; the ``rule`` that reads it as an outcome, empty where none is evident, and
        ``n_true``, those that succeeded by it; the most frequent ``values``.
    """
    rows = [
        _row(conversations[name], str(name))
        for name in conversations.columns
        if is_metadata_column(str(name))
        and (str(name).startswith(SCORE_PREFIX) or conversations[name].dtype == "boolean")
    ]
    table = pd.DataFrame([row for row in rows if row["n"]], columns=list(COLUMNS))
    dtypes: dict[str, Any] = dict.fromkeys(_TEXTS, "str") | {
        "n": "int64",
        "share": "float64",
        "n_true": "Int64",
    }
    return table.astype(dtypes).sort_values(["n", "column"], ascending=[False, True], ignore_index=True)


def _row(column: pd.Series[Any], name: str) -> dict[str, Any]:
    there = column.dropna()
    rule = _rule(there, name)
    counts = there.astype("str").value_counts()
    shown = ", ".join(f"{value} ({count:,})" for value, count in counts.head(_VALUES_SHOWN).items())
    return {
        "column": name,
        "kind": _KINDS.get(str(column.dtype), "text"),
        "n": len(there),
        "share": len(there) / len(column) if len(column) else 0.0,
        "rule": rule,
        "n_true": _successes(there, name, rule) if rule else None,
        "values": f"{shown}, …" if len(counts) > _VALUES_SHOWN else shown,
    }


def _rule(there: pd.Series[Any], name: str) -> str:
    """Return the rule that reads a column as an outcome: itself where it holds true and false, a full score from 0 to 1."""
    if there.empty:
        return ""
    if pd.api.types.is_numeric_dtype(there.dtype) and there.dtype != "boolean":
        low, high = float(there.min()), float(there.max())
        return f"{name} >= 1" if low >= 0.0 and high == 1.0 else ""
    return name if all(truth_of(value) is not None for value in there.unique()) else ""


def _successes(there: pd.Series[Any], name: str, rule: str) -> int:
    read, key = parse_rule(rule), key_of_column(name)
    return sum(read.verdict({key: value}) is True for value in there.tolist())
