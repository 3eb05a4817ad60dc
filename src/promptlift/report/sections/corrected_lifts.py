"""Lifts of optimizations as the judge says and as labels on simulated conversations correct them, side by side."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.corrected_lift import corrected_lift
from promptlift.report.document import Column, Estimate, Table
from promptlift.report.gather import records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptlift.report.document import Field
    from promptlift.report.gather import Material

    Row = dict[str, Any]

__all__ = ["LABELS_WORDS", "NOT_CONFIRMED", "NUMBER", "corrected_lifts", "lift_refusals", "lift_table"]

NOT_CONFIRMED: Final = "not confirmed by labels"
NUMBER: Final[Field] = (Column("optimization", "No.", "count"), itemgetter("no"))
LABELS_WORDS: Final = (
    "People labelled simulated conversations of some optimizations, drawn at random. Their labels correct the lift for the "
    "judge's errors on either arm (PPI++ on the pairs; percentage points, on the tested mix). They do not correct the luck of a "
    "winner: the expected lift is the one to quote."
)
_LEVEL: Final = 0.9


def corrected_lifts(material: Material, variants: Sequence[Row]) -> list[Row]:
    """Return each tested variant that has labels, with what ``analysis.corrected_lift`` gives for it.

    Parameters
    ----------
    material
        The data of the report.
    variants
        Rows of the table of variants, in the order of the report.
    """
    found = []
    for row in variants:
        table = material.simulations.get(row["optimization_id"])
        if table is None or row["is_original"]:
            continue
        labels, variant = material.labels_of_simulations, row["variant_id"]
        try:
            (lift,) = records(corrected_lift(table, labels, variant_id=variant, level=_LEVEL))
        except ValueError:  # not tested on new conversations, or they are not there any more
            continue
        if lift["n_labels"] or lift["n_labels_original"]:
            found.append(row | lift)
    return found


def lift_table(lifts: Sequence[Row]) -> Table:
    """Return the table of measured and corrected lifts, of the rows of `corrected_lifts`."""

    def judged(key: str, label: str, kind: Any, name: str) -> Field:
        return Column(key, f"{label}, as the judge says", kind), lambda one: float(one[name])

    def corrected(key: str, label: str, kind: Any, name: str) -> Field:
        column = Column(f"{key}_corrected", f"{label}, corrected", kind, round(100 * _LEVEL))
        return column, _unless_refused(lambda one: Estimate.of(one, f"{name}_corrected"))

    measures = (
        ("lift_points", "Lift in points", "points", "lift_points"),
        ("task_completion", "Completed", "share", "task_completion"),
        ("original", "Original", "share", "task_completion_original"),
    )
    return Table.of(
        "corrected_lifts",
        "Lift corrected by labels",
        lifts,
        NUMBER,
        (Column("variant", "Variant"), itemgetter("shown_name")),
        *(field(*measure) for measure in measures for field in (judged, corrected)),
        (Column("n_labels", "Labels", "count"), lambda one: int(one["n_labels"] + one["n_labels_original"])),
        (
            Column("verdict", "By the labels"),
            _unless_refused(
                lambda one: "confirmed" if one["confirmed"] else "not confirmed", "not corrected"
            ),
        ),
        (
            Column("errors", "Judge's errors"),
            _unless_refused(lambda one: "differ by arm" if one["errors_differ"] else "", ""),
        ),
    )


def _unless_refused(shown: Callable[[Row], Any], otherwise: str | None = None) -> Callable[[Row], Any]:
    return lambda one: otherwise if one["not_corrected"] else shown(one)


def lift_refusals(lifts: Sequence[Row]) -> tuple[str, ...]:
    """Return why lifts are not corrected, in the order of their rows."""
    return tuple(
        f"No. {one['no']}, {one['shown_name']}: not corrected by labels. {one['not_corrected']}"
        for one in lifts
        if one["not_corrected"]
    )
