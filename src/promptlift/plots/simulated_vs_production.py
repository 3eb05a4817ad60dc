"""Plot of the simulated change of each applied variant next to the change in production."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.reading import facts_of
from promptlift.plots import theme
from promptlift.plots.estimates import ENDS, draw_differences, draw_expected, fit_points, points_axis, signed
from promptlift.schema.experiments import SIDE_BY_SIDE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["NO_INTERVAL", "simulated_vs_production"]

_MAX = 12
NO_INTERVAL = "interval unavailable: the service reports no sample size"


def simulated_vs_production(
    variants: Any,
    conversations: Any = None,
    *,
    versions: Any = None,
    applied_at: Any = None,
    window: Any = None,
    level: float = 0.95,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the predicted change of completion of each applied variant next to the change in production.

    Circles are the simulated changes as measured, diamonds the expected ones. Squares compare production after the
    variant was applied with before, which is observational. Hollow points are of fewer than 5, or have no interval.

    Parameters
    ----------
    variants
        Variants or optimizations, as for ``analysis.simulated_vs_production``; or its result, or ``lift.calibration()``, which
        then set the other arguments.
    conversations, versions, applied_at, window, level
        As for ``analysis.simulated_vs_production``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color`` (one, or a pair for simulation and production), and properties of the points.

    Returns
    -------
    Axes
        x is the change in percentage points; the variant applied last is on top. At most 12 are drawn.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.simulated_vs_production``.
    """
    options = {"versions": versions, "applied_at": applied_at, "window": window, "level": level}
    known = facts_of(variants).get("table") == "calibration"
    table = (
        variants if known else theme.result_of(variants, "simulated_vs_production", conversations, **options)
    )
    ax = theme.new_axes(ax, 1.5 + 1.0 * max(1.5, min(len(table), _MAX)))
    return theme.finish(ax, table, _draw(ax, table, **style), title=title)


def _draw(ax: Axes, table: pd.DataFrame, *, color: Any = None, **style: Any) -> list[str]:
    """Draw the result of ``analysis.simulated_vs_production`` and return the notes under it."""
    facts = table.attrs["promptlift"]
    label = "Change of task completion, percentage points"
    if table.empty:
        theme.frame_rows(ax, label)
        theme.show_empty(ax, "No variant was applied yet", ticks=False)
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
    theme.write_rows(ax, rows + 1, list(shown["name"].fillna(shown["variant_id"])), when, predicted)
    for row, y in zip(records, rows, strict=True):
        how = "side by side on real users" if _together(row) else "in production (observational)"
        theme.name_row(ax, y, how, _observed(row))
    return theme.notes_of(table, *_notes(shown, table, facts))


def _predicted(row: dict[Any, Any]) -> str:
    if pd.isna(row["predicted"]):
        return "no prediction"
    parts = [f"{signed(row['predicted'], '.1f')} measured"]
    if pd.notna(row["predicted_expected"]):
        parts.append(f"{signed(row['predicted_expected'], '.1f')} expected")
    if pd.notna(row["predicted_n"]):
        parts.append(f"{row['predicted_n']:,.0f} pairs")
    if pd.isna(row["predicted_low"]):
        parts.append(NO_INTERVAL if pd.isna(row["predicted_n"]) else "interval not reported")
    return " · ".join(parts)


def _together(row: dict[Any, Any]) -> bool:
    """Return whether the variant ran side by side with its original."""
    return bool(row.get("source") == SIDE_BY_SIDE)


def _observed(row: dict[Any, Any]) -> str:
    sides = []
    for side, original in (("before", "original"), ("after", "variant")):
        rate, n = row[f"rate_{side}"], row[f"n_{side}"]
        shown = "–" if pd.isna(rate) else f"{rate:.1%}"
        sides.append(f"{shown} (n = {n:,}) {original if _together(row) else side}")
    rates = ", ".join(sides)
    return f"{rates} · until version {cut}" if pd.notna(cut := row.get("cut_by")) else rates


def _notes(shown: pd.DataFrame, table: pd.DataFrame, facts: dict[str, Any]) -> list[str | None]:
    levels = shown["predicted_level"].dropna().unique()
    omitted = facts.get("n_not_applied", 0)
    together = np.array([_together(row) for row in shown.to_dict("records")])
    notes: list[str | None] = [
        f"Simulated: {', '.join(f'{100 * level:.4g}' for level in levels)}% interval."
        if len(levels)
        else None
    ]
    notes.append(f"Production: {100 * facts['level']:.4g}% interval.")
    if not together.all():
        notes.append("Observational: the users and their questions may have changed too.")
    if shown["predicted_expected"].notna().any():
        notes.append("Diamond: expected change, shrunk toward 0 in proportion to its uncertainty.")
    if shown["predicted_low"].isna().any():
        notes.append("Hollow: fewer than 5, or no interval.")
    if "predicted_basis" in shown and shown["predicted_basis"].eq("lift").any():
        notes.append("Lifts were converted to percentage points with the rate before.")
    if not facts.get("cuts_known", True):
        notes.append("Other versions of the prompt are not known and may overlap with these periods.")
    if omitted:
        notes.append(f"Not applied: {omitted:,} variants.")
    if len(table) > len(shown):
        notes.append(f"Only the last {len(shown)} of {len(table)} variants are shown.")
    return [*notes, f"{facts['sentence']}." if "sentence" in facts else None]
