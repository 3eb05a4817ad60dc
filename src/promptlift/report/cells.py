"""Table cells in two forms: formatted for people, and one plain value per column for machines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
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
    plain_number,
    points,
    relative,
    share_and_interval,
    signed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptlift.report.document import Cell, Document, Headline, Kind

__all__ = [
    "FORMATTERS",
    "PlainColumn",
    "PlainTable",
    "formatted",
    "heading",
    "parts_of",
    "plain",
    "tables_of",
    "value_of",
]

FORMATTERS: Final[dict[str, Callable[[float], str]]] = {
    "count": lambda number: count(int(number)),
    "share": percent,
    "score": signed,
    "confidence": confidence,
    "percent": relative,
    "points": points,
    "number": plain_number,
}


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """A column of single values: text, whole number, number or time in UTC."""

    key: str
    label: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class PlainTable:
    """A table without compound cells: an interval is three columns, a part two."""

    name: str
    title: str
    columns: tuple[PlainColumn, ...]
    rows: tuple[tuple[str | int | float | datetime | None, ...], ...]


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
    return FORMATTERS[kind](cell)


def value_of(number: Headline) -> str:
    """Return the large number of a headline as text."""
    return parts_of(number.estimate, number.kind)[0]


def plain(table: Table) -> PlainTable:
    """Split compound cells into plain columns."""
    columns = tuple(part for column in table.columns for part in _plain_columns(column))
    rows = tuple(
        tuple(
            part
            for cell, column in zip(row, table.columns, strict=True)
            for part in _plain_cells(cell, column)
        )
        for row in table.rows
    )
    return PlainTable(table.name, table.title, columns, rows)


def _plain_columns(column: Column) -> Iterator[PlainColumn]:
    label = column.label.replace("\u00ad", "")
    if column.kind == "part":
        yield PlainColumn(column.key, label, "count")
        yield PlainColumn(f"{column.key}_of", f"{label}: of", "count")
        return
    yield PlainColumn(column.key, f"{label} (UTC)" if column.kind in {"day", "time"} else label, column.kind)
    if column.level:
        yield PlainColumn(f"{column.key}_low", f"{label}: {column.level}% from", column.kind)
        yield PlainColumn(f"{column.key}_high", f"{label}: {column.level}% to", column.kind)


def _plain_cells(cell: Cell, column: Column) -> tuple[str | int | float | datetime | None, ...]:
    if column.kind == "part":
        return (cell.hits, cell.total) if isinstance(cell, Part) else (None, None)
    if column.level:
        estimate = cell if isinstance(cell, Estimate) else Estimate(math.nan)
        return tuple(
            None if math.isnan(end) else end for end in (estimate.value, estimate.low, estimate.high)
        )
    if isinstance(cell, Estimate | Part) or (isinstance(cell, float) and math.isnan(cell)):
        return (None,)
    return (cell,)


def tables_of(document: Document) -> tuple[Table, ...]:
    """Return every table of a document: the headline numbers, those of the sections, the examples."""
    found = [_headline_table(document)]
    found += [table for section in document.sections for table in section.tables]
    examples = _example_table(document)
    return (*found, examples) if examples.rows else tuple(found)


def _headline_table(document: Document) -> Table:
    columns = (
        Column("prompt", "Prompt"),
        Column("measure", "Measure"),
        Column("unit", "Unit"),
        Column("value", "Value", "number", 95),
        Column("hits", "Counted", "count"),
        Column("n", "Conversations", "count"),
    )
    rows: list[tuple[Cell, ...]] = []
    for group in document.headlines:
        for number in group.numbers:
            basis = number.basis
            hits, n = (basis.hits, basis.total) if isinstance(basis, Part) else (None, basis)
            rows.append((group.name, number.label, number.kind, number.estimate, hits, n))
    return Table("headline", "Headline numbers", columns, tuple(rows))


def _example_table(document: Document) -> Table:
    shown = [one for section in document.sections for one in section.transcripts]
    compared = len(document.headlines) > 1
    has_turns = any(one.turns for one in shown)
    columns = [Column("example", "Example", "count"), Column("conversation_id", "Conversation")]
    columns += [Column("prompt", "Prompt")] if compared else []
    columns += [Column("outcome", "Outcome"), Column("started_at", "Started", "time")]
    if has_turns:
        columns += [Column("role", "Role"), Column("sent_at", "Sent", "time")]
        columns += [Column("text", "Text"), Column("cut", "Omitted")]
    rows: list[tuple[Cell, ...]] = []
    for number, one in enumerate(shown, 1):
        prompt = (one.prompt,) if compared else ()
        named = (number, one.conversation_id, *prompt, one.outcome, one.started_at)
        if has_turns:
            rows += [(*named, turn.role, turn.at, turn.content, omitted(turn.cut)) for turn in one.turns]
        else:
            rows.append(named)
    return Table("examples", "Examples", tuple(columns), tuple(rows))
