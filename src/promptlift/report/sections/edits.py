"""The table of the edits that made a winner: what went wrong, what was changed, and the evidence for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.report.document import Column, Table
from promptlift.report.gather import records, text_of, whole_of
from promptlift.report.redaction import WITHHELD, redact, repeats
from promptlift.schema.inert import one_line
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from promptlift.report.document import Cell
    from promptlift.report.gather import Material

__all__ = ["EDITS_WORDS", "winner_edits"]

EDITS_WORDS = (
    "A search wrote these winners edit by edit from conversations that failed. Won and lost count the cells of the search that "
    "were completed only with the edit, or only without it; they chose the winner and are no part of its lift."
)
_TEXT = 400
_QUOTE = 160
_QUOTES = 2


def winner_edits(material: Material, numbers: dict[Any, int], *, redacted: bool) -> Table | None:
    """Return the table of the edits of winners; None when no winner has any.

    Parameters
    ----------
    material
        The data of the report.
    numbers
        The number of each optimization shown.
    redacted
        Whether to leave out the words of conversations.
    """
    if not len(material.edits):
        return None
    known = material.edits[
        material.edits["in_winner"].fillna(value=False) & material.edits["optimization_id"].isin(numbers)
    ]
    if not len(known):
        return None
    columns = (
        Column("optimization", "No.", "count"),
        Column("symptom", "What went wrong"),
        Column("change", "What was changed"),
        Column("evidence", "Seen in"),
        Column("won", "Won", "count"),
        Column("lost", "Lost", "count"),
        Column("generation", "Generation", "count"),
    )
    rows = sorted(records(known), key=lambda row: numbers[row["optimization_id"]])
    cells = tuple(_cells(row, numbers[row["optimization_id"]], redacted=redacted) for row in rows)
    return Table("edits", "Edits of the winners", columns, cells)


def _cells(row: dict[str, Any], number: int, *, redacted: bool) -> tuple[Cell, ...]:
    return (
        number,
        _kept(_text(row["symptom"]), row["quotes"], redacted=redacted),
        _kept(_change(row), row["quotes"], redacted=redacted),
        _evidence(row, redacted=redacted),
        whole_of(row["won"]),
        whole_of(row["lost"]),
        whole_of(row["generation"]),
    )


def _change(row: dict[str, Any]) -> str:
    new, old = _text(row["text"]), _text(row["anchor"])
    if row["operation"] == "delete":
        return f"deleted: {old}"
    return f"replaced: {old} → {new}" if row["operation"] == "replace" else f"added: {new}"


def _evidence(row: dict[str, Any], *, redacted: bool) -> str:
    places = int(row["n_evidence"])
    seen = counted(places, "place")
    if redacted or not places:
        return seen
    quotes = [f"“{one_line(quote, _QUOTE)}”" for quote in row["quotes"][:_QUOTES]]
    return f"{seen}: {' '.join(quotes)}"


def _kept(text: str, quotes: list[str], *, redacted: bool) -> str:
    """Return a text; of a report that is shared, without what it repeats of conversations."""
    if not redacted:
        return text
    return WITHHELD if any(repeats(text, quote) for quote in quotes) else redact(text)


def _text(value: Any) -> str:
    return one_line(text_of(value), _TEXT)
