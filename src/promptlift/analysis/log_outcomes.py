"""What the logs say of how conversations ended: the columns that a prompt's outcome can be read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.schema.metadata import SCORE_PREFIX, is_metadata_column, key_of_column
from promptlift.schema.outcomes import parse_rule, truth_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["log_outcomes"]

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
        One row a column, those that most conversations have first: ``column``, ``kind`` (``true or false``, ``number``, ``text``), ``n``
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
