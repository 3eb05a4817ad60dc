"""The tables of insights, prompts and usage: decoded JSON in, DataFrames out.

No model objects are created for rows, so that ten thousand rows are fast. Unknown fields are not in the
tables; the client's models keep them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.frames.columns import read_table
from promptlift.frames.layouts import TABLES
from promptlift.frames.variants import is_rehearsal
from promptlift.schema.basis import basis_of_analyser, weakest
from promptlift.schema.events import reduction_warning
from promptlift.schema.naming import link_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptlift.schema.basis import Basis

Row = dict[str, Any]


def _of_prompts(rows: Sequence[Row]) -> dict[str, list[Any]]:
    # A text that is only a placeholder is missing.
    return {"content": [None if row.get("contentKnown") is False else row.get("content") for row in rows]}


def _of_optimizations(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {**_linked(rows), "rehearsal": [is_rehearsal(row) for row in rows]}


def _of_actions(rows: Sequence[Row]) -> dict[str, list[Any]]:
    undone = [row.get("undoneBy") is not None for row in rows]
    return {"undone": undone, "outcome": [row.get("outcome", "done") for row in rows]}


def _of_events(rows: Sequence[Row]) -> dict[str, list[Any]]:
    payloads = [row["data"] if isinstance(row.get("data"), dict) else {} for row in rows]
    return {
        "prompt_id": [link_of(payload) for payload in payloads],
        "warnings": [reduction_warning(payload) for payload in payloads],
    }


def _of_targets(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {"optimization_id": [row["optimizationId"] for row in rows]}


def _of_benchmarks(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {"arm_count": [len(row.get("arms") or []) for row in rows]}


def _linked(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {"prompt": [link_of(row) for row in rows]}


# Columns that are not fields of the rows.
_COMPUTED: Final[Mapping[str, Callable[[Sequence[Row]], dict[str, list[Any]]]]] = {
    "actions": _of_actions,
    "benchmarks": _of_benchmarks,
    "events": _of_events,
    "optimizations": _of_optimizations,
    "prompts": _of_prompts,
    "targets": _of_targets,
    "verdicts": _linked,
}
# Tables whose column ``content`` is only there when it is asked for.
_WITH_CONTENT: Final = ("simulations", "benchmark_conversations")


def make_table(
    name: str, rows: Sequence[Row], *, content: bool = False, **same: Any
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make a table, one row each.

    Parameters
    ----------
    name
        Of the table, as in ``layouts.TABLES``.
    rows
        Decoded JSON.
    content
        Whether simulated conversations have their content.
    **same
        Values of columns that are the same in all rows.

    Returns
    -------
    tuple
        The table, and counts of unusable values by column.
    """
    computed = _COMPUTED[name](rows) if name in _COMPUTED else {}
    computed |= {column: [value] * len(rows) for column, value in same.items()}
    left_out = "content" if name in _WITH_CONTENT and not content else None
    return read_table([column for column in TABLES[name] if column.name != left_out], rows, **computed)


def usage_table(rows: Sequence[Row]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of usage, one row per resource; ``limit`` is missing if unlimited."""
    usage = rows[0]
    names = [name for name in usage if name != "period" and isinstance(usage[name], dict)]
    period = usage.get("period") or {}
    return read_table(TABLES["usage"], [period | usage[name] for name in names], resource=names)


def with_prompt_names(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Replace ids by names in the column ``prompt``; prompts without a name keep their id."""
    if names and "prompt" in frame:
        frame["prompt"] = prompt_names(frame["prompt"], names)
    return frame


def prompt_names(ids: pd.Series[Any], names: Mapping[str, str]) -> pd.Series[Any]:
    """Return the name of each prompt, or its id if it has none."""
    codes, different = pd.factorize(ids)
    labels = pd.array([names.get(one, one) for one in different], dtype="str")
    named: pd.Series[Any] = pd.Series(labels.take(codes, allow_fill=True), index=ids.index)
    return named


def analyser_of(frame: pd.DataFrame) -> str | None:
    """Return which analyser judged a table's conversations: ``lexicon``, ``llm``, ``mixed``, or None."""
    if "analyser" not in frame:
        return None
    kinds = {str(name).split(":", 1)[0] for name in frame["analyser"].unique() if not pd.isna(name)}
    return kinds.pop() if len(kinds) == 1 else "mixed" if kinds else None


def basis_of(frame: pd.DataFrame) -> Basis | None:
    """Return the basis of a table's verdicts, the weakest of several; None if unknown."""
    if "basis" in frame and (found := weakest(frame["basis"].dropna().unique())):
        return found
    return basis_of_analyser(analyser_of(frame))


def insights_errors(frame: pd.DataFrame) -> dict[str, int]:
    """Count why conversations of a table have no insights, the most frequent reason first.

    Only conversations for which the service gives a reason are counted.
    """
    if "insights_error" not in frame:
        return {}
    said = frame["insights_error"]
    if said.isna().all():
        return {}
    if "has_insights" in frame:
        said = said[~frame["has_insights"].astype("boolean").fillna(value=False)]
    return {str(reason): int(count) for reason, count in said.dropna().value_counts().items()}
