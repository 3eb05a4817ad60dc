"""Differences in percentage points around a line at 0, shared by several plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from promptlift.plots import theme
from promptlift.plots.corrected import draw_raw_and_corrected

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "ENDS",
    "draw_differences",
    "draw_expected",
    "fit_points",
    "mark_zero",
    "points_axis",
    "signed",
    "signed_ticks",
]

ENDS = ["difference", "difference_low", "difference_high"]
# A raw difference is in its row, the corrected one below it: above are the words.
_BESIDE = (0.0, -0.18)


def points_axis(ax: Axes, label: str) -> None:
    """Make x an axis of signed percentage points with a line at 0, without ticks on y."""
    theme.frame_rows(ax, label)
    signed_ticks(ax)
    mark_zero(ax)


def signed_ticks(ax: Axes, which: Literal["x", "y"] = "x") -> None:
    """Label an axis with signed numbers."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda tick, _: signed(tick)))


def mark_zero(ax: Axes) -> None:
    """Draw the line of no difference."""
    ax.axvline(0.0, color=theme.foreground(), linewidth=1.0, alpha=0.8, zorder=1)


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
    """Draw a difference with its interval in every row.

    Parameters
    ----------
    ax
        Axes of `points_axis`.
    rows
        Position of each row on y.
    table
        Rows with the difference and its bounds ``…_low`` and ``…_high``; points without an interval are hollow.
    n
        Column of the sample size; below 5 a point is hollow.
    value
        Column of the difference.
    color, style
        Colour of points and whiskers, properties of the points.
    """
    no_interval = table[[f"{value}_low", f"{value}_high"]].isna().any(axis=1)
    weight = np.where(no_interval, 0, table[n].to_numpy(np.float64, na_value=0.0))
    draw_raw_and_corrected(
        ax, rows, table.assign(_weight=weight), value, "_weight", beside=_BESIDE,
        color=color or theme.palette(ax)[0], horizontal=True, **style,
    )  # fmt: skip


def draw_expected(ax: Axes, rows: Any, expected: Any) -> None:
    """Draw the expected differences as small diamonds."""
    ax.plot(
        expected, rows, linestyle="none", marker="D", markersize=3.5, color=theme.foreground(), alpha=0.75,
        zorder=4,
    )  # fmt: skip


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
