"""Completion rates as the judge says and as labels of people correct them, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.sentences import completion_sentence, ends_of
from promptlift.report.document import Column, Estimate, Section, Table

if TYPE_CHECKING:
    from promptlift.report.document import Cell
    from promptlift.report.gather import Material

__all__ = ["corrected", "corrected_sentences"]

_METHOD: Final = (
    "A judge errs, and its rates are wrong by as much. Labels of people on conversations that were drawn at random show by how "
    "much: the corrected rates (PPI++, 95% intervals) are right whatever the judge is. Where nothing says that a number is "
    "corrected, it is the judge's."
)


def corrected(rows: list[tuple[str, dict[str, Any] | None]], material: Material) -> Section | None:
    """Return the section of raw and corrected completion rates; None without labels.

    Parameters
    ----------
    rows
        Name of each prompt and its row of ``analysis.prompt_overview``.
    material
        The data of the report.
    """
    if material.labels is None:
        return None
    columns = (
        *material.naming(Column("prompt", "Prompt")),
        Column("rate", "As the judge says", "share", 95),
        Column("rate_corrected", "Corrected by labels", "share", 95),
        Column("n_labels", "Labels", "count"),
        Column("n_effective", "As good as so many labels alone", "number"),
        Column("not_corrected", "Why not corrected"),
    )
    cells: list[tuple[Cell, ...]] = [
        (
            *material.naming(name),
            Estimate.of(row, "rate"),
            Estimate.of(row, "rate_corrected") if not row["not_corrected"] else None,
            int(row["n_labels"]),
            float(round(row["n_effective"])) if not row["not_corrected"] else None,
            row["not_corrected"],
        )
        for name, row in rows
        if row is not None
    ]
    shown = Table("corrected", "Corrected by labels", columns, tuple(cells))
    return Section("corrected", shown.title, paragraphs=(_METHOD,), tables=(shown,))


def corrected_sentences(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the answer about one prompt: corrected by labels first, and what the judge says.

    Parameters
    ----------
    row
        Its row of ``analysis.prompt_overview``.
    """
    judged = completion_sentence(ends_of(row, "rate"), int(row["n"]))
    if "not_corrected" not in row:
        return (judged,)
    if row["not_corrected"]:
        return judged, f"Not corrected by labels. {row['not_corrected']}"
    said = completion_sentence(ends_of(row, "rate_corrected"), int(row["n"]))
    return f"Corrected by {row['n_labels']:,} labels: {said}", f"Uncorrected, as the judge says: {judged}"
