"""Plot of the simulated change of each variant next to the change that users showed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.reading import facts_of, require
from promptlift.plots import theme
from promptlift.plots.estimates import ENDS, draw_differences, draw_expected, fit_points, points_axis, signed
from promptlift.schema.experiments import SIDE_BY_SIDE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["simulated_vs_production"]

_MAX = 12
_COLUMNS = (
    *("name", "source", "applied_at", "predicted", "predicted_low", "predicted_high", "predicted_level"),
    *("predicted_expected", "predicted_n", "n_before", "rate_before", "n_after", "rate_after", *ENDS),
)


def simulated_vs_production(
    pairs: pd.DataFrame, *, title: str | None = None, ax: Axes | None = None, **style: Any
) -> Axes:
    """Draw the predicted change of completion of each variant next to the change that users showed.

    Circles are the simulated changes as measured, diamonds the expected ones. Squares compare users who got the variant with
    those who got the original: side by side, or after with before it was applied, which is observational. Hollow points
    are of fewer than 5, or have no interval.

    Parameters
    ----------
    pairs
        The table of ``lift.calibration()``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color`` (one, or a pair for simulation and production), and properties of the points.

    Returns
    -------
    Axes
        x is the change in percentage points; the variant that users got last is on top. At most 12 are drawn.

    Raises
    ------
    FrameError
        When a column is missing.
    """
    require(pairs, _COLUMNS, of="calibration")
    ax = theme.new_axes(ax, 1.5 + 1.0 * max(1.5, min(len(pairs), _MAX)))
    return theme.finish(ax, pairs, _draw(ax, pairs, **style), title=title)


def _draw(ax: Axes, table: pd.DataFrame, *, color: Any = None, **style: Any) -> list[str]:
    """Draw the variants and return the notes under them."""
    label = "Change of task completion, percentage points"
    if table.empty:
        theme.frame_rows(ax, label)
        theme.show_empty(ax, "No simulated variant has met users yet", ticks=False)
        return theme.notes_of(table)
    shown = table.sort_values("applied_at", kind="stable").iloc[-_MAX:].reset_index(drop=True)
    rows = np.arange(len(shown), dtype=np.float64) * 2.4
    points_axis(ax, label, np.concatenate([rows, rows + 1]))
    tones = list(color) if isinstance(color, list | tuple) else [color or tone for tone in theme.palette(ax)]
    simulated = pd.DataFrame(
        dict(zip(ENDS, (shown["predicted"], shown["predicted_low"], shown["predicted_high"]), strict=True))
    ).assign(_n=shown["predicted_n"].fillna(theme.FEW))
    draw_differences(ax, rows + 1, simulated, "_n", color=tones[0], **style)
    observed = shown[ENDS].assign(_n=np.minimum(shown["n_before"], shown["n_after"]))
    draw_differences(ax, rows, observed, "_n", color=tones[1 % len(tones)], **({"marker": "s"} | style))
    expected = shown["predicted_expected"].to_numpy(np.float64)
    draw_expected(ax, rows + 1, expected)
    fit_points(ax, simulated[ENDS], observed[ENDS], expected)
    ax.set_ylim(-0.4, rows[-1] + 1.9)
    records = shown.to_dict("records")
    when = [
        f", {'live' if _together(row) else 'applied'} {row['applied_at']:%d %b %Y}: simulated"
        for row in records
    ]
    predicted = [_predicted(row) for row in records]
    theme.write_rows(ax, rows + 1, list(shown["name"]), when, predicted)
    for row, y in zip(records, rows, strict=True):
        how = "side by side on real users" if _together(row) else "in production (observational)"
        theme.name_row(ax, y, how, _observed(row))
    return theme.notes_of(table, *_notes(shown, table))


def _predicted(row: dict[Any, Any]) -> str:
    parts = [] if pd.isna(row["predicted"]) else [f"{signed(row['predicted'], '.1f')} measured"]
    parts.append(f"{signed(row['predicted_expected'], '.1f')} expected")
    if pd.notna(row["predicted_n"]):
        parts.append(f"{row['predicted_n']:,.0f} pairs")
    return " · ".join(parts)


def _together(row: dict[Any, Any]) -> bool:
    """Return whether the variant ran side by side with its original."""
    return bool(row["source"] == SIDE_BY_SIDE)


def _observed(row: dict[Any, Any]) -> str:
    sides = []
    for side, original in (("before", "original"), ("after", "variant")):
        rate, n = row[f"rate_{side}"], row[f"n_{side}"]
        shown = "–" if pd.isna(rate) else f"{rate:.1%}"
        sides.append(f"{shown} (n = {n:,}) {original if _together(row) else side}")
    return ", ".join(sides)


def _notes(shown: pd.DataFrame, table: pd.DataFrame) -> list[str | None]:
    levels = shown["predicted_level"].dropna().unique()
    together = np.array([_together(row) for row in shown.to_dict("records")])
    sentence = facts_of(table).get("sentence")
    return [
        f"Simulated: {', '.join(f'{100 * level:.4g}' for level in levels)}% interval."
        if len(levels)
        else None,
        "Production: 95% interval, which holds however often one looks.",
        None if together.all() else "Observational: the users and their questions may have changed too.",
        "Diamond: expected change, shrunk toward 0 in proportion to its uncertainty.",
        "Hollow: fewer than 5, or no interval."
        if shown[["predicted_low", "difference_low"]].isna().any(axis=None)
        else None,
        f"Only the last {len(shown)} of {len(table)} variants are shown."
        if len(table) > len(shown)
        else None,
        None if sentence is None else f"{sentence}.",
    ]
