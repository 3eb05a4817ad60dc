"""The tables of insights, prompts and usage: decoded JSON in, DataFrames out.

No model objects are created for rows, so that ten thousand rows are fast. Unknown fields are not in the
tables; the client's models keep them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from promptlift.frames.columns import read_table
from promptlift.frames.layouts import (
    FLEET,
    PROMPTS,
    STEP_FAILURES,
    TOP_ISSUES,
    USAGE,
)
from promptlift.schema.basis import basis_of_analyser, weakest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.schema.basis import Basis

Row = dict[str, Any]


def prompts_table(rows: Sequence[Row]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of prompts, one row each; ``content`` is missing if it is only a placeholder."""
    texts = [None if row.get("contentKnown") is False else row.get("content") for row in rows]
    return read_table(PROMPTS, rows, content=texts)


def usage_table(rows: Sequence[Row]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of usage, one row per resource; ``limit`` is missing if unlimited."""
    usage = rows[0]
    names = [name for name in usage if name != "period" and isinstance(usage[name], dict)]
    period = usage.get("period") or {}
    return read_table(USAGE, [period | usage[name] for name in names], resource=names)


def top_issues_table(rows: Sequence[Row], *, prompt_id: str) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of the grouped issues of a prompt, one row per group."""
    return read_table(TOP_ISSUES, rows, prompt_id=[prompt_id] * len(rows))


def step_failures_table(rows: Sequence[Row], *, prompt_id: str) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of the steps of an agent, one row per step."""
    return read_table(STEP_FAILURES, rows, prompt_id=[prompt_id] * len(rows))


def fleet_table(rows: Sequence[Row]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of the agents of an account, one row each."""
    return read_table(FLEET, rows)


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
