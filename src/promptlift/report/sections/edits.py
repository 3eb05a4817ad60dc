"""The table of the edits that made a winner: what went wrong, what was changed, and the evidence for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.report.document import Column, Table
from promptlift.report.gather import records, text_of, whole_of
from promptlift.report.redaction import WITHHELD, redact, repeats
from promptlift.report.sections.corrected_lifts import NUMBER
from promptlift.schema.inert import one_line
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from promptlift.report.gather import Material

__all__ = ["EDITS_WORDS", "winner_edits"]

EDITS_WORDS = (
    "A search wrote these winners edit by edit from conversations that failed. Won and lost count the cells of the search that "
    "were completed only with the edit, or only without it; they chose the winner and are no part of its lift."
)
_TEXT = 400
_QUOTE = 160
_QUOTES = 2
_MOST = 6


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
    rows = [
        row | {"no": numbers[row["optimization_id"]]}
        for row in records(material.edits)
        if row["in_winner"] is True and row["optimization_id"] in numbers
    ]
    if not rows:
        return None

    def kept(row: dict[str, Any], text: str) -> str:
        if not redacted:
            return text
        return WITHHELD if any(repeats(text, quote) for quote in row["quotes"]) else redact(text)

    return Table.of(
        "edits",
        "Edits of the winners",
        # Those that won the most cells first.
        sorted(rows, key=lambda row: (row["no"], (whole_of(row["lost"]) or 0) - (whole_of(row["won"]) or 0))),
        NUMBER,
        (Column("symptom", "What went wrong"), lambda row: kept(row, _text(row["symptom"]))),
        (Column("change", "What was changed"), lambda row: kept(row, _change(row))),
        (Column("evidence", "Seen in"), lambda row: _evidence(row, redacted=redacted)),
        (Column("won", "Won", "count"), lambda row: whole_of(row["won"])),
        (Column("lost", "Lost", "count"), lambda row: whole_of(row["lost"])),
        (Column("generation", "Generation", "count"), lambda row: whole_of(row["generation"])),
        most=_MOST,
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


def _text(value: Any) -> str:
    return one_line(text_of(value), _TEXT)
