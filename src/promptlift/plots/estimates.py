"""Estimates with their intervals: weak ones hollow, differences around a line at 0, raw and corrected ones together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import ScaledTranslation

from promptlift.plots import theme
from promptlift.plots.drill_down import record_marks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ENDS = ["difference", "difference_low", "difference_high"]
# A raw difference is in its row, the corrected one below it: above are the words.
_BESIDE = (0.0, -0.18)
# How long the line of no difference is in each row, and how far its middle is below, in points.
_ZERO, _BELOW = 18.0, 5.0


def has_corrected(table: pd.DataFrame, estimate: str) -> bool:
    """Return whether a table has an estimate corrected by labels."""
    return f"{estimate}_corrected" in table


def ends_of(table: pd.DataFrame, estimate: str) -> list[str]:
    """Return the columns of an estimate and its bounds, and those of the corrected one where there is one."""
    names = [f"{estimate}{kind}{end}" for kind in ("", "_corrected") for end in ("", "_low", "_high")]
    return [name for name in names if name in table]


def draw_estimates(
    ax: Axes,
    at: Any,
    table: pd.DataFrame,
    estimate: str,
    n: str,
    *,
    color: Any,
    horizontal: bool = False,
    ribbon: bool = False,
    beside: tuple[float, float] = _BESIDE,
    **style: Any,
) -> None:
    """Draw estimates with their intervals; points are hollow and pale below ``FEW``.

    Where labels correct them, both are drawn: what the judge says hollow, the corrected ones filled.

    Parameters
    ----------
    ax
        Axes to draw on.
    at
        Position of each row on the other axis.
    table
        Rows with ``estimate`` and its bounds ``…_low`` and ``…_high``; rows without an estimate are skipped.
    estimate, n
        Columns of the estimate and of its number of conversations.
    color
        Colour of points and whiskers.
    horizontal
        Whether the estimates run along x.
    ribbon
        Whether a ribbon shows the intervals instead of whiskers; a row without neighbours keeps its whisker.
    beside
        How far the raw and the corrected estimate are from ``at``, where there are both.
    style
        Properties of the points (``Line2D``).
    """
    at = np.asarray(at, np.float64)
    if has_corrected(table, estimate):
        raw = table.drop(columns=f"{estimate}_corrected")
        ends = {f"{estimate}{end}": table[f"{estimate}_corrected{end}"] for end in ("", "_low", "_high")}
        corrected = raw.assign(**ends)
        # A count of 0 is drawn hollow and pale.
        for rows, weight, shift in ((raw, 0, beside[0]), (corrected, theme.FEW, beside[1])):
            draw_estimates(
                ax,
                at + shift,
                rows.assign(_n=weight),
                estimate,
                "_n",
                color=color,
                horizontal=horizontal,
                **style,
            )
        return
    value, low, high = (
        table[name].to_numpy(np.float64) for name in (estimate, f"{estimate}_low", f"{estimate}_high")
    )
    count, known = table[n].to_numpy(np.float64), ~np.isnan(value)
    lines = ax.hlines if horizontal else ax.vlines
    dense = ribbon or len(value) > 100
    whiskers = known
    if ribbon:
        ax.fill_between(at, low, high, where=known, color=color, alpha=0.22, linewidth=0)
        neighbours = np.concatenate([[False], known, [False]])
        whiskers = known & ~neighbours[:-2] & ~neighbours[2:]
    size = 2.5 if ribbon else 3.5 if dense else 5.5
    points: dict[str, Any] = {"marker": "o", "markersize": size, "zorder": 3} | style | {"linestyle": "none"}
    for enough, strength, face in ((True, 0.75, color), (False, 0.4, ax.get_facecolor())):
        chosen = known & ((count >= theme.FEW) == enough)
        if not chosen.any():
            continue
        drawn = chosen & whiskers
        width = 1.0 if dense else 1.6
        lines(at[drawn], low[drawn], high[drawn], color=color, alpha=strength, linewidth=width)
        xy = (value[chosen], at[chosen]) if horizontal else (at[chosen], value[chosen])
        ax.plot(*xy, color=color, markerfacecolor=face, markeredgecolor=color, **points)
    x, y = (value, at) if horizontal else (at, value)
    record_marks(ax, x[known], y[known], table[known], estimate)


def corrected_notes(table: pd.DataFrame, estimate: str) -> list[str]:
    """Return the notes that say which point is which, and what was not corrected."""
    if not has_corrected(table, estimate):
        return []
    labels = table.attrs["promptlift"]["corrected"]["n_labels"]
    if table[estimate].isna().all():
        return [f"Corrected by {labels:,} labels."]
    missing = table[f"{estimate}_corrected"].isna() & table[estimate].notna()
    notes = [f"Hollow: as the judge says. Filled: corrected by {labels:,} labels."]
    if missing.all():
        notes = ["Hollow: as the judge says; nothing could be corrected by labels."]
    if missing.any():
        first = table.loc[missing, "not_corrected"].iloc[0]
        notes.append(f"Not corrected: {int(missing.sum()):,} of {len(table):,}. {first}")
    return notes


def points_axis(ax: Axes, label: str, rows: Any) -> None:
    """Make x an axis of signed differences with a line at 0 in each row, without ticks on y."""
    theme.frame_rows(ax, label)
    signed_ticks(ax)
    mark_zero(ax, rows)


def signed_ticks(ax: Axes, which: Literal["x", "y"] = "x") -> None:
    """Label an axis with signed numbers."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda tick, _: signed(tick)))


def mark_zero(ax: Axes, rows: Any, *, at: float = 0.0, **style: Any) -> None:
    """Mark no difference, or another one, in each row with a short line that ends below the words."""
    below = ScaledTranslation(0.0, -_BELOW / 72, ax.figure.dpi_scale_trans)
    line: dict[str, Any] = {"color": theme.foreground(), "alpha": 0.8, "zorder": 1, "linestyle": "none"}
    mark = {"marker": "|", "markersize": _ZERO, "markeredgewidth": 1.0, "transform": ax.transData + below}
    ax.plot(np.full(len(rows), at), rows, **line | mark | style)


def signed(value: float, form: str = ".4g") -> str:
    """Format a difference with its sign (a typographic minus); 0 has none."""
    text = f"{value:+{form}}"
    return "0" if float(text) == 0 else text.replace("-", "−")


def draw_differences(
    ax: Axes,
    rows: Any,
    table: pd.DataFrame,
    n: str,
    *,
    value: str = "difference",
    color: Any = None,
    **style: Any,
) -> None:
    """Draw a difference with its interval in every row of a `points_axis`; without an interval a point is hollow.

    Parameters
    ----------
    ax
        The axes.
    rows
        Position of each row on y.
    table
        Rows with the difference and its bounds ``…_low`` and ``…_high``.
    n
        Column of the sample size; below 5 a point is hollow.
    value
        Column of the difference.
    color, style
        Colour of points and whiskers, properties of the points.
    """
    no_interval = table[[f"{value}_low", f"{value}_high"]].isna().any(axis=1)
    weight = np.where(no_interval, 0, table[n].to_numpy(np.float64, na_value=0.0))
    color = color or theme.palette(ax)[0]
    draw_estimates(
        ax, rows, table.assign(_weight=weight), value, "_weight", color=color, horizontal=True, **style
    )


def draw_expected(ax: Axes, rows: Any, expected: Any) -> None:
    """Draw the expected differences as small diamonds."""
    tone = theme.foreground()
    ax.plot(expected, rows, linestyle="none", marker="D", markersize=3.5, color=tone, alpha=0.75, zorder=4)


def fit_points(ax: Axes, *values: Any) -> None:
    """Set the limits of x so that all values and 0 are visible."""
    seen = np.concatenate([np.asarray(value, np.float64).ravel() for value in values])
    seen = seen[np.isfinite(seen)]
    if not len(seen):
        ax.set_xlim(-1.0, 1.0)
        return
    low, high = min(float(seen.min()), 0.0), max(float(seen.max()), 0.0)
    margin = 0.05 * (high - low) or 1.0
    ax.set_xlim(low - margin, high + margin)
