"""Table cells in two forms: formatted for people, and one plain value per column for machines."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from promptlift.report.document import Column, Estimate, Part, Table
from promptlift.report.formatting import (
    NOTHING,
    confidence,
    count,
    date_time,
    day,
    interval,
    omitted,
    percent,
    share_and_interval,
    signed,
)
from promptlift.words import figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptlift.report.document import Cell, Document, Field, Headline, Kind

FORMATTERS: Final[dict[str, Callable[[float], str]]] = {
    "count": lambda number: count(int(number)),
    "share": percent,
    "score": signed,
    "confidence": confidence,
    "percent": partial(figures.signed, unit="%"),
    "points": figures.signed,
    "number": lambda number: f"{number:,.4g}".replace("-", "−"),
}


def heading(column: Column) -> str:
    """Return the heading of a column."""
    if column.kind in {"day", "time"}:
        return f"{column.label} (UTC)"
    return f"{column.label} ({column.level}% interval)" if column.level else column.label


def formatted(cell: Cell, kind: Kind) -> str:
    """Return a cell as text."""
    number, ends = parts_of(cell, kind)
    return f"{number} ({ends})" if ends else number


def parts_of(cell: Cell, kind: Kind) -> tuple[str, str]:
    """Return a cell as text and its interval, which is empty where there is none."""
    if isinstance(cell, Estimate):
        if kind == "share":
            return share_and_interval(cell.value, cell.low, cell.high)
        form = FORMATTERS[kind]
        if math.isnan(cell.value):
            return NOTHING, ""
        return form(cell.value), interval(cell.low, cell.high, form)
    return _single(cell, kind), ""


def _single(cell: str | float | datetime | Part | None, kind: Kind) -> str:
    if isinstance(cell, str):
        return cell
    if cell is None:
        return "" if kind == "text" else NOTHING
    if isinstance(cell, Part):
        return f"{count(cell.hits)} of {count(cell.total)}" if cell.total else NOTHING
    if isinstance(cell, datetime):
        return day(cell) if kind == "day" else date_time(cell).removesuffix(" UTC")
    return NOTHING if math.isnan(cell) else FORMATTERS[kind](cell)


def value_of(number: Headline) -> str:
    """Return the large number of a headline as text."""
    return parts_of(number.estimate, number.kind)[0]


def plain(table: Table) -> Table:
    """Split compound cells into columns of single values: an interval into three, a part into two."""
    columns = tuple(part for column in table.columns for part in _plain_columns(column))
    rows = tuple(
        tuple(
            part
            for cell, column in zip(row, table.columns, strict=True)
            for part in _plain_cells(cell, column)
        )
        for row in table.rows
    )
    return replace(table, columns=columns, rows=rows)


def _plain_columns(column: Column) -> Iterator[Column]:
    label, key, kind = column.label.replace("\u00ad", ""), column.key, column.kind
    if kind == "part":
        yield Column(key, label, "count")
        yield Column(f"{key}_of", f"{label}: of", "count")
        return
    yield Column(key, f"{label} (UTC)" if kind in {"day", "time"} else label, kind)
    if column.level:
        yield Column(f"{key}_low", f"{label}: {column.level}% from", kind)
        yield Column(f"{key}_high", f"{label}: {column.level}% to", kind)


def _plain_cells(cell: Cell, column: Column) -> tuple[Cell, ...]:
    if column.kind == "part":
        return (cell.hits, cell.total) if isinstance(cell, Part) else (None, None)
    if column.level:
        estimate = cell if isinstance(cell, Estimate) else Estimate(math.nan)
        ends = (estimate.value, estimate.low, estimate.high)
        return tuple(None if math.isnan(end) else end for end in ends)
    return (None if isinstance(cell, float) and math.isnan(cell) else cell,)


def tables_of(document: Document) -> tuple[Table, ...]:
    """Return every table of a document: the headline numbers, those of the sections, the examples."""
    found = [_headline_table(document)]
    found += [table for section in document.sections for table in section.tables]
    examples = _example_table(document)
    return (*found, examples) if examples.rows else tuple(found)


def _headline_table(document: Document) -> Table:
    numbers = [(group.name, number) for group in document.headlines for number in group.numbers]

    def counted(number: Headline) -> tuple[int | None, int | None]:
        basis = number.basis
        return (basis.hits, basis.total) if isinstance(basis, Part) else (None, basis)

    return Table.of(
        "headline",
        "Headline numbers",
        numbers,
        (Column("prompt", "Prompt"), lambda row: row[0]),
        (Column("measure", "Measure"), lambda row: row[1].label),
        (Column("unit", "Unit"), lambda row: row[1].kind),
        (Column("value", "Value", "number", 95), lambda row: row[1].estimate),
        (Column("hits", "Counted", "count"), lambda row: counted(row[1])[0]),
        (Column("n", "Conversations", "count"), lambda row: counted(row[1])[1]),
    )


def _example_table(document: Document) -> Table:
    """Return a row for each message of each example; of a redacted report, for each example."""
    shown = [one for section in document.sections for one in section.transcripts]
    has_turns = any(one.turns for one in shown)
    fields: list[Field] = [
        (Column("example", "Example", "count"), lambda row: row[0]),
        (Column("conversation_id", "Conversation"), lambda row: row[1].conversation_id),
        (Column("prompt", "Prompt"), lambda row: row[1].prompt),
        (Column("outcome", "Outcome"), lambda row: row[1].outcome),
        (Column("started_at", "Started", "time"), lambda row: row[1].started_at),
        (Column("role", "Role"), lambda row: row[2].role),
        (Column("sent_at", "Sent", "time"), lambda row: row[2].at),
        (Column("text", "Text"), lambda row: row[2].content),
        (Column("cut", "Omitted"), lambda row: omitted(row[2].cut)),
    ]
    if not has_turns:
        del fields[5:]
    if len(document.headlines) <= 1:
        del fields[2]
    rows = [
        (number, one, turn)
        for number, one in enumerate(shown, 1)
        for turn in (one.turns if has_turns else (None,))
    ]
    return Table.of("examples", "Examples", rows, *fields)
