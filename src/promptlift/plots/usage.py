"""Plot of usage against limits, with a projection to the end of the billing period."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.ticker import PercentFormatter

from promptlift import analysis
from promptlift.plots import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["usage"]

_WIDEST = 2.0


def usage(
    table: Any, *, now: Any = None, title: str | None = None, ax: Axes | None = None, **style: Any
) -> Axes:
    """Draw usage in the billing period against its limits, with a projection to the end of the period.

    The bar is the usage so far, the hollow diamond the projection, the line at 100 % the limit. Resources without a
    limit have numbers but no bar.

    Parameters
    ----------
    table
        The table of ``lift.usage()``, or the result of ``analysis.usage``.
    now
        As for ``analysis.usage``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color`` of the bars, and other properties of them.

    Returns
    -------
    Axes
        x is the share of the limit as a fraction, clipped at 2; the first resource is on top.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.usage``.
    """
    result = table if theme.precomputed(table, "usage_projection") else analysis.usage(table, now=now)
    ax = theme.new_axes(ax, 1.3 + 0.55 * max(2, len(result)))
    return theme.finish(ax, result, _draw(ax, result, **style), title=title)


def _draw(ax: Axes, table: pd.DataFrame, *, color: Any = None, **style: Any) -> list[str]:
    """Draw the result of ``analysis.usage`` and return the notes under it."""
    limited = table["limit"].notna().any()
    theme.frame_rows(ax, "Share of the limit" if limited or table.empty else "No limits")
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    if table.empty:
        theme.show_empty(ax, "No usage reported", ticks=False)
        return theme.notes_of(table)
    rows = np.arange(len(table), dtype=np.float64)[::-1]
    used = table["used_share"].to_numpy(np.float64)
    projected = table["projected_share"].to_numpy(np.float64)
    seen = np.concatenate([used, projected])
    ax.set_xlim(0, float(np.clip(1.06 * np.nanmax(seen, initial=1.0), 1.06, _WIDEST)))
    ax.set_ylim(-0.45, len(table) - 0.2)
    if limited:
        ax.axvline(1.0, color=theme.foreground(), linewidth=1.2, alpha=0.8)
    else:
        # Without limits there is nothing to measure shares by: the numbers stand alone.
        ax.set_xticks([])
        ax.spines["bottom"].set_visible(False)
    tone = color or theme.palette(ax)[0]
    bar: dict[str, Any] = {"height": 0.24, "color": tone, "alpha": 0.55, "linewidth": 0} | style
    ax.barh(rows, np.nan_to_num(used), **bar)
    end = ax.get_xlim()[1]
    for chosen, marker in ((projected <= end, "D"), (projected > end, ">")):
        if chosen.any():
            ax.plot(
                np.minimum(projected[chosen], end), rows[chosen], linestyle="none", marker=marker, markersize=6,
                color=tone, markerfacecolor=ax.get_facecolor(), clip_on=False, zorder=4,
            )  # fmt: skip
    for row, y in zip(table.to_dict("records"), rows, strict=True):
        theme.name_row(ax, y, theme.plain(row["resource"], 28), _numbers(row), above=9)
    return theme.notes_of(table, *_notes(table))


def _numbers(row: dict[Any, Any]) -> str:
    used = "–" if pd.isna(row["used"]) else f"{row['used']:,}"
    limited = pd.notna(row["limit"])
    parts = [f"{used} of {row['limit']:,}" if limited else f"{used} used, unlimited"]
    if pd.notna(row["projected"]):
        parts.append(f"about {_rough(row['projected'])} by the end at this rate")
    if pd.notna(row["full_at"]):
        parts.append(f"limit reached around {row['full_at']:%d %b}")
    elif limited and pd.notna(row["used"]) and row["used"] >= row["limit"]:
        parts.append("limit reached")
    return " · ".join(parts)


def _rough(value: float) -> str:
    """Format a projection with two significant digits; more would suggest precision that it lacks."""
    if value < 100:
        return f"{value:.0f}"
    digits = int(np.floor(np.log10(value))) - 1
    return f"{round(value, -digits):,.0f}"


def _notes(table: pd.DataFrame) -> list[str]:
    notes = []
    first = table.iloc[0]
    if pd.notna(first["period_start"]) and pd.notna(first["period_end"]):
        notes.append(
            f"Period {first['period_start']:%d %b %Y} to {first['period_end']:%d %b %Y} (UTC), "
            f"{first['elapsed']:.0%} of it over."
        )
    diamond = " (diamond)" if table["limit"].notna().any() else ""
    if table["projected"].notna().any():
        notes.append(
            f"Projection{diamond}: usage continues at its average rate so far. It is not a forecast and has no interval, "
            "because usage by day is not reported."
        )
    else:
        notes.append("No projection: too early in the period, or its dates are not reported.")
    return notes
