"""Tables of what people did and of what they think of variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.frames.columns import Column, Doubts, build
from promptlift.schema.naming import link_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    Row = dict[str, Any]
    Table = tuple[pd.DataFrame, dict[str, int]]

ACTIONS: Final = (
    Column("action_id", "text"),
    Column("kind", "category", ("apply", "stop", "restore", "undo")),
    Column("acted_at", "time"),
    Column("prompt_id", "text"),
    Column("optimization_id", "text"),
    Column("variant_id", "text"),
    Column("from_version_id", "text"),
    Column("to_version_id", "text"),
    Column("note", "text"),
    Column("undoes", "text"),
    Column("undone", "boolean"),
    Column("undone_by", "text"),
    Column("undone_at", "time"),
    Column("outcome", "category", ("done", "unknown")),
)
REVIEW: Final = (
    Column("variant_id", "text"),
    Column("verdict", "category", ("keep", "reject")),
    Column("note", "text"),
    Column("updated_at", "time"),
)
_ACTION_NAMES: Final = {
    "action_id": "id",
    "kind": "kind",
    "acted_at": "createdAt",
    "optimization_id": "optimizationId",
    "variant_id": "variantId",
    "from_version_id": "fromVersionId",
    "to_version_id": "toVersionId",
    "note": "note",
    "undoes": "undoes",
    "undone_by": "undoneBy",
    "undone_at": "undoneAt",
}
_REVIEW_NAMES: Final = {
    "variant_id": "variantId",
    "verdict": "verdict",
    "note": "note",
    "updated_at": "updatedAt",
}


def actions_table(rows: Sequence[Row]) -> Table:
    """Make the table of actions, one row each.

    Returns
    -------
    tuple
        The table, and counts of unusable values by column.
    """
    doubts = Doubts()
    values = {column: [row.get(name) for row in rows] for column, name in _ACTION_NAMES.items()}
    values["prompt_id"] = [link_of(row) for row in rows]
    values["undone"] = [row.get("undoneBy") is not None for row in rows]
    values["outcome"] = [row.get("outcome", "done") for row in rows]
    return build(ACTIONS, values, doubts), doubts.as_dict()


def review_table(rows: Sequence[Row]) -> Table:
    """Make the table of what people think of variants, one row a variant."""
    doubts = Doubts()
    values = {column: [row.get(name) for row in rows] for column, name in _REVIEW_NAMES.items()}
    return build(REVIEW, values, doubts), doubts.as_dict()
