"""From rows as the service gives them to the tables of a snapshot, and back to a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from promptlift import frames
from promptlift.frames import layouts
from promptlift.frames.conversations.metadata_columns import MetadataColumns
from promptlift.frames.conversations.tables import with_content_facts
from promptlift.snapshot.columns import arrow_table, to_json, with_metadata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.schema.columns import TableColumn
    from promptlift.snapshot.staging import StagedRow

    Row = dict[str, Any]

# Names are those that prompts have when the table is read.
CONVERSATION_COLUMNS: Final = tuple(column for column in layouts.CONVERSATIONS if column.name != "prompt")
JUDGED_COLUMNS: Final = (*CONVERSATION_COLUMNS, *layouts.INSIGHT_VALUES)
MENTION_COLUMNS: Final = {
    name: tuple(column for column in columns if column.name != "prompt")
    for name, columns in (("issues", layouts.ISSUES), ("topics", layouts.TOPICS))
}
# Fields of a row that a column has; the others are kept as JSON, and so are metadata, whose columns have one type each.
_KNOWN: Final = frozenset(
    {
        *(column.path[0] for column in CONVERSATION_COLUMNS if column.path),
        *("content", "insights"),
    }
)
_KNOWN_OF_INSIGHTS: Final = frozenset(column.path[1] for column in layouts.INSIGHT_VALUES)


def conversation_tables(
    staged: Sequence[StagedRow], positions: Mapping[str, float], *, content: bool
) -> tuple[dict[str, list[pa.Table]], dict[str, str | None], dict[str, dict[str, int]]]:
    """Make the tables of conversations.

    Parameters
    ----------
    positions
        Places of the conversations in the list: the highest is first.
    content
        Whether there are transcripts.

    Returns
    -------
    tuple
        The parts of each table, the month in which each conversation began, and by table the counts of unusable values by
        column.
    """
    rows = [with_content_facts(one.row) if content else one.row for one in staged]
    frame, doubts = frames.conversations_table(rows, insights=True, content=content)
    conversations = arrow_table(frame, JUDGED_COLUMNS)
    ids = conversations["conversation_id"].to_pylist()
    conversations = conversations.append_column(
        "position", pa.array([positions[one] for one in ids], pa.float64())
    ).append_column("list_hash", pa.array([one.list_hash for one in staged], pa.int64()))
    prompts = conversations["prompt_id"]
    months = pc.strftime(conversations["started_at"], "%Y-%m").to_pylist()
    tables = {
        "issues": [arrow_table(frames.issues_table(frame), MENTION_COLUMNS["issues"])],
        "topics": [arrow_table(frames.topics_table(frame), MENTION_COLUMNS["topics"])],
        "details": [
            conversations.select(["conversation_id", "prompt_id"])
            .append_column(
                "content", pa.array([_text(row) if content else None for row in rows], pa.string())
            )
            .append_column("other_fields", pa.array([_other_fields(one.row) for one in staged], pa.string()))
        ],
        "conversations": _with_metadata(
            conversations, rows, list(zip(prompts.to_pylist(), months, strict=True))
        ),
    }
    warnings = {"conversations": doubts}
    if content:
        said, warnings["messages"] = frames.messages_table(rows)
        tables["messages"] = [_linked(arrow_table(said, layouts.MESSAGES))]
    return tables, dict(zip(ids, months, strict=True)), warnings


def _with_metadata(
    conversations: pa.Table, rows: Sequence[Row], partitions: Sequence[tuple[str | None, str | None]]
) -> list[pa.Table]:
    """Return the conversations of each partition with columns of their metadata, which have the types of its rows."""
    places: dict[tuple[str | None, str | None], list[int]] = {}
    for place, partition in enumerate(partitions):
        places.setdefault(partition, []).append(place)
    tables = []
    for some in places.values():
        metadata = MetadataColumns()
        metadata.add([rows[place].get("metadata") for place in some])
        tables.append(with_metadata(conversations.take(some), metadata.columns()))
    return tables


def _linked(messages: pa.Table) -> pa.Table:
    """Name the column of prompts for what it has here: ids."""
    return messages.rename_columns(
        ["prompt_id" if name == "prompt" else name for name in messages.column_names]
    )


def _text(row: Row) -> str | None:
    content = row.get("content")
    return content if isinstance(content, str) else None


def _other_fields(row: Row) -> str | None:
    """Return the fields that no column has, as JSON."""
    others = _unknown(row, _KNOWN)
    judged = row.get("insights")
    if isinstance(judged, dict) and (more := _unknown(judged, _KNOWN_OF_INSIGHTS)):
        others["insights"] = more
    return to_json(others).decode() if others else None


def _unknown(row: Row, known: frozenset[str]) -> Row:
    return {name: value for name, value in row.items() if name not in known and value is not None}


def records_table(rows: Sequence[Row], table: pa.Table) -> pa.Table:
    """Add to a table what it was made from, so that nothing that the service gave is lost."""
    records = [to_json(row).decode() for row in rows]
    return table.append_column("record", pa.array(records, pa.string()))


def records_of(table: pa.Table | None) -> list[Row]:
    """Return what the service gave, from a table that has it."""
    return [] if table is None else [orjson.loads(one) for one in table["record"].to_pylist()]


def prompts_table(rows: Sequence[Row]) -> tuple[pa.Table, dict[str, int]]:
    """Make the table of prompts."""
    frame, doubts = frames.prompts_table(rows)
    return records_table(rows, arrow_table(frame, layouts.PROMPTS)), doubts


def optimizations_table(rows: Sequence[Row]) -> tuple[pa.Table, dict[str, int]]:
    """Make the table of optimizations."""
    frame, doubts = frames.optimizations_table(rows)
    table = arrow_table(frame, [column for column in layouts.OPTIMIZATIONS if column.name != "prompt"])
    return records_table(rows, table), doubts


def variants_table(items: Sequence[Row]) -> tuple[pa.Table, dict[str, int]]:
    """Make the table of variants of optimizations: ``optimization`` and ``variants`` each."""
    frame, doubts, _ = frames.variants_table(items)
    rows = [variant for item in items for variant in item["variants"]]
    return records_table(rows, _linked(arrow_table(frame, layouts.VARIANTS))), doubts


def conversation_row(columns: Mapping[str, Any], described: Sequence[TableColumn]) -> Row:
    """Return a conversation as the service gave it, from the columns of one row.

    Parameters
    ----------
    columns
        Column to value: of ``conversations`` and of ``details``.
    described
        Columns that come from fields.
    """
    row: Row = {}
    judged: Row = {}
    for column in described:
        if column.path and column.name in columns:
            value = columns[column.name]
            if column.kind in ("records", "record") and value is not None:
                value = orjson.loads(value)
            elif column.kind == "time" and value is not None:
                value = value.isoformat()
            (judged if column.path[0] == "insights" else row)[column.path[-1]] = value
    others = orjson.loads(columns.get("other_fields") or b"{}")
    judged |= others.pop("insights", {})
    row |= others
    if columns.get("content") is not None:
        row["content"] = columns["content"]
    row["insights"] = judged if row.get("hasInsights") else None
    return row
