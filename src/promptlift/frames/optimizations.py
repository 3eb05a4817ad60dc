"""Tables of optimizations, simulated conversations, personas, versions of a prompt, actions and reviews."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.frames.columns import read_table
from promptlift.frames.layouts import (
    ACTIONS,
    LABELS,
    OPTIMIZATIONS,
    PERSONAS,
    PRODUCTION_METRICS,
    REVIEW,
    SIMULATION_CONTENT,
    SIMULATIONS,
    TARGETS,
    VERSIONS,
)
from promptlift.schema.naming import link_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

Row = dict[str, Any]
Table = tuple["pd.DataFrame", dict[str, int]]


def value_at(row: Any, path: str) -> Any:
    """Return the value at a dotted path in decoded JSON; ``None`` if there is none."""
    for name in path.split("."):
        row = row.get(name) if isinstance(row, dict) else None
    return row


def is_rehearsal(row: Row) -> bool | None:
    """Return whether an optimization ran on the rehearsal model; ``None`` if unknown."""
    found = [value_at(row, "rehearsal"), value_at(row, "results.rehearsal")]
    known = [one for one in found if isinstance(one, bool)]
    return any(known) if known else None


def optimizations_table(rows: Sequence[Row]) -> Table:
    """Make the table of optimizations, one row each.

    Returns
    -------
    tuple
        The table, and counts of unusable values by column.
    """
    return read_table(
        OPTIMIZATIONS,
        rows,
        prompt=[link_of(row) for row in rows],
        rehearsal=[is_rehearsal(row) for row in rows],
    )


def simulations_table(rows: Sequence[Row], *, content: bool = False) -> Table:
    """Make the table of simulated conversations, one row each."""
    return read_table((*SIMULATIONS, *(SIMULATION_CONTENT if content else ())), rows)


def personas_table(rows: Sequence[Row]) -> Table:
    """Make the table of personas, one row each."""
    return read_table(PERSONAS, rows)


def production_metrics_table(rows: Sequence[Row]) -> Table:
    """Make the table of the production metrics of a deployed variant, one row each."""
    return read_table(PRODUCTION_METRICS, rows)


def versions_table(rows: Sequence[Row]) -> Table:
    """Make the table of the texts of a prompt, one row each."""
    return read_table(VERSIONS, rows)


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
    """Make the table of people's reviews, one row per variant."""
    return read_table(REVIEW, rows)


def labels_table(rows: Sequence[Row]) -> Table:
    """Make the table of labels, one row per answer."""
    return read_table(LABELS, rows)


def targets_table(rows: Sequence[Row]) -> Table:
    """Make the table of targets, one row each; rows include the id of their optimization."""
    return read_table(TARGETS, rows, optimization_id=[row["optimizationId"] for row in rows])
