"""Lifts of optimizations as the judge says and as labels on simulated conversations correct them, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.corrected_lift import corrected_lift
from promptlift.report.document import Column, Estimate, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.report.document import Cell
    from promptlift.report.gather import Material

    Row = dict[str, Any]

__all__ = ["LABELS_WORDS", "NOT_CONFIRMED", "corrected_lifts", "lift_refusals", "lift_table"]

NOT_CONFIRMED: Final = "not confirmed by labels"
LABELS_WORDS: Final = (
    "People labelled simulated conversations of some optimizations, drawn at random. Their labels correct the lift for the "
    "judge's errors on either arm (PPI++ on the pairs; percentage points, on the tested mix). They do not correct the luck of a "
    "winner: the expected lift is the one to quote."
)
_LEVEL: Final = 0.9


def corrected_lifts(material: Material, variants: Sequence[Row]) -> list[Row]:
    """Return what ``analysis.corrected_lift`` gives for each tested variant with labels, with its ``optimization_id``.

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
        try:
            lift = corrected_lift(
                table, material.labels_of_simulations, variant_id=row["variant_id"], level=_LEVEL
            )
        except ValueError:  # not tested on new conversations, or they are not there any more
            continue
        one: Row = {str(name): value for name, value in lift.iloc[0].items()}
        if one["n_labels"] or one["n_labels_original"]:
            found.append({**one, "optimization_id": row["optimization_id"]})
    return found


def lift_table(lifts: Sequence[Row], numbers: dict[Any, int], names: dict[Any, str]) -> Table:
    """Return the table of measured and corrected lifts.

    Parameters
    ----------
    lifts
        Rows of :func:`corrected_lifts`.
    numbers
        The number of each optimization in the report.
    names
        The name shown of each variant, by the optimization and its id.
    """
    level = round(100 * _LEVEL)
    columns = (
        Column("optimization", "No.", "count"),
        Column("variant", "Variant"),
        Column("lift_points", "Lift in points, as the judge says", "points"),
        Column("lift_points_corrected", "Lift in points, corrected", "points", level),
        Column("task_completion", "Completed, as the judge says", "share"),
        Column("task_completion_corrected", "Completed, corrected", "share", level),
        Column("original", "Original, as the judge says", "share"),
        Column("original_corrected", "Original, corrected", "share", level),
        Column("n_labels", "Labels", "count"),
        Column("verdict", "By the labels"),
        Column("errors", "Judge's errors"),
    )
    return Table(
        "corrected_lifts",
        "Lift corrected by labels",
        columns,
        tuple(_cells(one, numbers[one["optimization_id"]], names) for one in lifts),
    )


def lift_refusals(lifts: Sequence[Row], numbers: dict[Any, int], names: dict[Any, str]) -> tuple[str, ...]:
    """Return why lifts are not corrected, in the order of their rows."""
    return tuple(
        f"No. {numbers[one['optimization_id']]}, {names[one['optimization_id'], one['variant_id']]}: not corrected by labels. "
        f"{one['not_corrected']}"
        for one in lifts
        if one["not_corrected"]
    )


def _cells(one: Row, number: int, names: dict[Any, str]) -> tuple[Cell, ...]:
    refused = bool(one["not_corrected"])
    corrected = (
        None if refused else Estimate.of(one, name)
        for name in (
            "lift_points_corrected",
            "task_completion_corrected",
            "task_completion_original_corrected",
        )
    )
    lift, variant, original = corrected
    return (
        number,
        names[one["optimization_id"], one["variant_id"]],
        float(one["lift_points"]),
        lift,
        float(one["task_completion"]),
        variant,
        float(one["task_completion_original"]),
        original,
        int(one["n_labels"] + one["n_labels_original"]),
        "not corrected" if refused else "confirmed" if one["confirmed"] else "not confirmed",
        "differ by arm" if one["errors_differ"] and not refused else "",
    )
