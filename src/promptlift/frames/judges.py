"""Tables of custom judges, their runs and their verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.frames.columns import read_table
from promptlift.frames.layouts import JUDGE_RUNS, JUDGES, VERDICTS
from promptlift.schema.naming import link_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

Row = dict[str, Any]
Table = tuple["pd.DataFrame", dict[str, int]]


def judges_table(rows: Sequence[Row]) -> Table:
    """Make the table of judges or of their versions, one row each."""
    return read_table(JUDGES, rows)


def judge_runs_table(rows: Sequence[Row]) -> Table:
    """Make the table of backfills and alignments, one row each."""
    return read_table(JUDGE_RUNS, rows)


def verdicts_table(rows: Sequence[Row]) -> Table:
    """Make the table of verdicts, one row per conversation."""
    return read_table(VERDICTS, rows, prompt=[link_of(row) for row in rows])
