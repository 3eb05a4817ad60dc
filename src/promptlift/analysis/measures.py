"""What conversations measure beside their outcome: cost, latency, tokens, length, tools, quality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS, count_by, finite_number, named, open_table
from promptlift.analysis.reading import (
    By,
    Groups,
    group_rows,
    names_of,
    one_group_column,
    require,
    with_provenance,
)
from promptlift.frames.layouts import TABLES
from promptlift.stats.intervals import check_level, mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

MEASURES: Final = (
    "n_turns", "duration_s", "tokens", "cost", "latency_ms", "tool_calls", "tool_errors", "quality", "sentiment_score",
)  # fmt: skip
_UNITS: Final = {column.name: column.unit for column in TABLES["conversations"]}
_NUMBERS: Final = ("n", "mean", "mean_low", "mean_high", "median", "p95", "total", "n_missing")
_COLUMNS: Final = ("measure", "unit", *_NUMBERS)


def measures(
    conversations: Any, *, of: str | Sequence[str] | None = None, by: By = None, level: float = 0.95
) -> pd.DataFrame:
    """Compute what conversations cost, how long they take, and other numbers of them.

    Parameters
    ----------
    conversations
        Table with some of the columns of numbers.
    of
        Columns of numbers, such as ``["cost", "latency_ms"]``; by default those of n_turns, duration_s, tokens, cost,
        latency_ms, tool_calls, tool_errors, quality and sentiment_score that have any value.
    by
        Column that names groups, such as ``"prompt"``, or a list of columns that name them together.
    level
        Coverage of the interval of the mean.

    Returns
    -------
    DataFrame
        One row per measure (and group, then ``by`` comes first): ``measure``, ``unit``, ``n`` conversations with a value,
        ``mean`` with its t interval ``mean_low`` and ``mean_high`` (few, very skewed values are covered
        less often), ``median``, ``p95`` (95% of the values are no larger), ``total``, ``n_missing``. NaN where there
        is nothing to compute.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When a column of ``of`` holds no numbers, or ``by`` or ``level`` cannot be used.

    Examples
    --------
    >>> table = pd.DataFrame({"prompt": ["a", "a", "b"], "cost": [0.01, 0.03, None]})
    >>> measures(table, of="cost", by="prompt")[["prompt", "n", "mean", "total"]].to_dict("records")
    [{'prompt': 'a', 'n': 2, 'mean': 0.02, 'total': 0.04}, {'prompt': 'b', 'n': 0, 'mean': nan, 'total': 0.0}]
    """
    level = check_level(level)
    conversations, by = one_group_column(conversations, by)
    wanted = [of] if isinstance(of, str) else list(of) if of is not None else _present(conversations)
    require(conversations, wanted, by=by, taken=_COLUMNS)
    groups, found = _measured(open_table(conversations), wanted, by)
    if of is None:
        found = {name: rows for name, rows in found.items() if any(row["n"] for row in rows)}
    rows = [
        {"measure": name, "unit": _UNITS.get(name, ""), **_row(rows[group], level)}
        for group in range(groups.count)
        for name, rows in found.items()
    ]
    result = pd.DataFrame(rows, columns=list(_COLUMNS)).astype(
        {
            **dict.fromkeys(_NUMBERS, "float64"),
            **dict.fromkeys(("n", "n_missing"), "int64"),
            **dict.fromkeys(("measure", "unit"), "str"),
        }
    )
    if found:
        groups.name_rows(result, each=len(found))
    elif groups.names is not None:
        result.insert(0, str(groups.names.name), groups.names.head(0))
    return with_provenance(result, conversations, "measures", by=by, level=level)


def _present(table: Any) -> list[str]:
    present = names_of(table)
    return [name for name in MEASURES if name in present]


def _measured(
    table: nw.LazyFrame[Any], wanted: Sequence[str], by: str | None
) -> tuple[Groups, dict[str, list[dict[str, float]]]]:
    """Describe columns of numbers by group, one column at a time."""
    keys = [] if by is None else [by]
    schema = table.collect_schema()
    groups = group_rows(count_by(table, keys) if keys else pd.DataFrame(), by)
    found: dict[str, list[dict[str, float]]] = {}
    for name in wanted:
        kind = schema[named(name)]
        if not (kind.is_numeric() or kind == nw.Object):
            raise ValueError(f"Column {name} holds {kind}, not numbers.")
        value = nw.col("_v")
        described = count_by(
            table.with_columns(_v=finite_number(named(name))), keys, n=value.count(), mean=value.mean(),
            sd=value.std(ddof=1), total=value.sum(), median=value.quantile(0.5, "linear"),
            p95=value.quantile(0.95, "linear"),
        )  # fmt: skip
        described = described.assign(
            n_missing=described[ROWS] - described["n"], total=described["total"].fillna(0.0)
        )
        order = np.argsort(group_rows(described, by).codes)
        numbers: list[Any] = described.iloc[order].drop(columns=[ROWS, *keys]).to_dict("records")
        found[name] = numbers
    return groups, found


def _row(described: dict[str, float], level: float) -> dict[str, Any]:
    n, sd = int(described["n"]), described["sd"]
    low, high = mean_interval(described["mean"], sd if n > 1 else np.nan, n, level=level)
    ends = {"n": n, "mean_low": float(low), "mean_high": float(high)}
    row: dict[str, Any] = described | ends
    return {name: row[name] for name in _NUMBERS}
