"""Tables of people's actions and of their reviews of variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.frames.columns import read_table
from promptlift.frames.layouts import ACTIONS, REVIEW

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    Row = dict[str, Any]
    Table = tuple[pd.DataFrame, dict[str, int]]


def actions_table(rows: Sequence[Row]) -> Table:
    """Make the table of actions, one row each.

    Returns
    -------
    tuple
        The table, and counts of unusable values by column.
    """
    undone = [row.get("undoneBy") is not None for row in rows]
    outcomes = [row.get("outcome", "done") for row in rows]
    return read_table(ACTIONS, rows, undone=undone, outcome=outcomes)


def review_table(rows: Sequence[Row]) -> Table:
    """Make the table of people's reviews, one row a variant."""
    return read_table(REVIEW, rows)
