"""Completion rates as the judge says and as labels of people correct them, side by side."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.sentences import completion_sentence, ends_of
from promptlift.report.document import Column, Estimate, Section, Table
from promptlift.report.gather import GROUP, PROMPT
from promptlift.schema.basis import UNTOLD, may_tell

if TYPE_CHECKING:
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
    shown = Table.of(
        "corrected",
        "Corrected by labels",
        [row | {GROUP: name} for name, row in rows if row is not None],
        *material.naming(PROMPT),
        (Column("rate", "As the judge says", "share", 95), lambda row: Estimate.of(row, "rate")),
        (
            Column("rate_corrected", "Corrected by labels", "share", 95),
            lambda row: None if row["not_corrected"] else Estimate.of(row, "rate_corrected"),
        ),
        (Column("n_labels", "Labels", "count"), lambda row: int(row["n_labels"])),
        (
            Column("n_effective", "As good as so many labels alone", "number"),
            lambda row: None if row["not_corrected"] else float(round(row["n_effective"])),
        ),
        (Column("not_corrected", "Why not corrected"), itemgetter("not_corrected")),
    )
    return Section("corrected", shown.title, paragraphs=(_METHOD,), tables=(shown,))


def corrected_sentences(row: dict[str, Any], basis: str | None) -> tuple[str, ...]:
    """Return the answer about one prompt: corrected by labels first, and what the judge says.

    Parameters
    ----------
    row
        Its row of ``analysis.prompt_overview``.
    basis
        What the verdicts rest on: the rate of a word list is no answer.
    """
    judged = completion_sentence(ends_of(row, "rate"), int(row["n"]))
    answer = judged if may_tell(basis) else f"Whether tasks were completed {UNTOLD}."
    if "not_corrected" not in row:
        return (answer,)
    if row["not_corrected"]:
        return answer, f"Not corrected by labels. {row['not_corrected']}"
    said = completion_sentence(ends_of(row, "rate_corrected"), int(row["n"]))
    return f"Corrected by {row['n_labels']:,} labels: {said}", f"Uncorrected, as the judge says: {judged}"
