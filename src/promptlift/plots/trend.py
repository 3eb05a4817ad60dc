"""Picture of the completion rate over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.collections import PolyCollection
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import FixedFormatter, FixedLocator, PercentFormatter

from promptlift import analysis
from promptlift.plots import style as look

if TYPE_CHECKING:
    from datetime import tzinfo

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["completion_trend", "draw_trend"]

_NAMES = {"h": "Hour", "D": "Day", "W": "Week from Monday", "MS": "Month"}
_DAYS = {"h": 1 / 24, "D": 1.0, "W": 7.0, "MS": 30.4}
_US_A_DAY = 86_400_000_000
_STRIP = (-0.24, -0.08)
_LANE = 1.55
_CROWDED = 60


def completion_trend(
    data: Any,
    *,
    freq: str = "D",
    by: str | None = None,
    tz: str | tzinfo = "UTC",
    level: float = 0.95,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the completion rate by period, with intervals, and how many conversations each period has.

    Periods with fewer than 5 conversations are hollow, and the line has a gap where there are none.

    Parameters
    ----------
    data
        Conversations, as for ``analysis.completion_trend``, or its answer (then ``freq``, ``by``, ``tz`` and
        ``level`` are the answer's).
    freq, by, tz, level
        As for ``analysis.completion_trend``. At most six groups are drawn, the largest ones.
    ax
        Axes to draw on; a new figure without.
    style
        ``color`` (with ``by`` also a list, or a mapping from group to colour), and properties of the points,
        such as ``marker`` or ``markersize``.

    Returns
    -------
    Axes
        x is time in days of matplotlib, y the rate as a fraction; the bars below 0 are the counts. Where groups
        would cover each other, each has a lane of its own under the first, 1.55 lower.

    Raises
    ------
    FrameError, ValueError
        As ``analysis.completion_trend`` raises them.
    """
    table = data
    if not look.precomputed(data, "completion_trend"):
        table = analysis.completion_trend(data, freq=freq, by=by, tz=tz, level=level)
    attrs = table.attrs["promptlift"]
    count = 1 if attrs["by"] is None else table[attrs["by"]].nunique(dropna=False)
    crowded = count > 1 and len(table) > _CROWDED
    ax = look.new_axes(ax, 8.5, 4.0 if not crowded else 1.4 + 1.3 * min(count, look.MAX_GROUPS))
    return look.finish(ax, table, draw_trend(ax, table, **style))


def draw_trend(ax: Axes, table: pd.DataFrame, *, color: Any = None, **style: Any) -> list[str]:
    """Draw the answer of ``analysis.completion_trend`` and give the notes that belong under it."""
    facts = table.attrs["promptlift"]
    groups, left_out, shown = look.groups_of(ax, table, facts["by"], "n", color)
    lanes = _lanes(groups)
    look.frame_axes(ax, "y")
    ax.set_ylabel("Task completion rate")
    ax.set_xlabel(f"{_NAMES[facts['freq']]} ({look.plain(facts['tz'])})")
    rows = 0 if facts["by"] is None else 1.6 if len(lanes) > 1 else (len(groups) + 1) // 2
    ax.set_ylim(_STRIP[0] - 0.01 - _LANE * (len(lanes) - 1), 1.04 + 0.1 * rows)
    if table.empty or not table[["n", "n_missing", "n_in_progress"]].to_numpy().any():
        ax.set_xticks([])
        ax.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
        ax.yaxis.set_major_formatter(PercentFormatter(1))
        look.say_empty(ax)
        return look.notes_of(table)
    starts = pd.DatetimeIndex(table["period_start"].unique())
    days = starts.as_unit("us").asi8 / _US_A_DAY
    step = _DAYS[facts["freq"]]
    ticks: dict[float, str] = {}
    for place, lane in enumerate(lanes):
        base = -_LANE * place
        _draw_groups(ax, lane, days, step, base, style)
        ticks |= {
            base + rate: f"{rate:.0%}"
            for rate in ((0, 0.5, 1) if len(lanes) > 1 else (0, 0.25, 0.5, 0.75, 1))
        }
        ticks[base + sum(_STRIP) / 2] = f"n ≤ {_draw_counts(ax, lane, days, step, base):,.0f}"
    ax.yaxis.set_major_locator(FixedLocator(list(ticks)))
    ax.yaxis.set_major_formatter(FixedFormatter(list(ticks.values())))
    _date_axis(ax, starts, days, step, facts["freq"])
    if len(lanes) > 1:
        _name_lanes(ax, groups)
    elif facts["by"] is not None:
        look.legend(ax, groups, [int(group.rows["n"].sum()) for group in groups])
    if not table["n"].any():
        look.say_empty(ax, "No ended conversations with insights")
    return look.notes_of(table, left_out, _not_counted(table[shown], facts))


def _lanes(groups: list[look.Group]) -> list[list[look.Group]]:
    """Groups that share one scale: all of them, or each its own where they would cover each other."""
    return (
        [groups]
        if len(groups) == 1 or sum(len(group.rows) for group in groups) <= _CROWDED
        else [[g] for g in groups]
    )


def _draw_groups(
    ax: Axes,
    groups: list[look.Group],
    days: NDArray[np.float64],
    step: float,
    base: float,
    style: dict[str, Any],
) -> None:
    for place, group in enumerate(groups):
        shift = (place - (len(groups) - 1) / 2) * 0.11 * step
        rows = group.rows
        if base:
            rows = rows.assign(**{name: rows[name] + base for name in ("rate", "rate_low", "rate_high")})
        # The line joins only periods that say something.
        line = rows["rate"].where(rows["n"] >= look.FEW)
        ax.plot(days + shift, line, color=group.color, alpha=0.5, linewidth=1.1, zorder=2)
        look.draw_estimates(ax, days + shift, rows, "rate", "n", color=group.color, **style)


def _draw_counts(
    ax: Axes, groups: list[look.Group], days: NDArray[np.float64], step: float, base: float
) -> float:
    """Draw the counts as stacked bars under 0 and give the highest stack."""
    counts = np.array([group.rows["n"].to_numpy() for group in groups], np.float64)
    most = float(counts.sum(axis=0).max())
    stacked = np.vstack([np.zeros(len(days)), counts.cumsum(axis=0)]) / max(most, 1)
    edges = base + _STRIP[0] + stacked * (_STRIP[1] - _STRIP[0])
    left, right = days - 0.38 * step, days + 0.38 * step
    for place, group in enumerate(groups):
        low, high = edges[place], edges[place + 1]
        corners = np.stack([left, low, left, high, right, high, right, low], axis=1).reshape(-1, 4, 2)
        bars = PolyCollection(list(corners[counts[place] > 0]), facecolor=group.color, alpha=0.5)
        ax.add_collection(bars, autolim=False)
    return most


def _name_lanes(ax: Axes, groups: list[look.Group]) -> None:
    for place, group in enumerate(groups):
        ax.text(
            0.005, 1.05 - _LANE * place, f"{group.name} (n = {int(group.rows['n'].sum()):,})",
            transform=ax.get_yaxis_transform(), va="bottom", fontsize="small", fontweight="bold",
        )  # fmt: skip


def _date_axis(ax: Axes, starts: pd.DatetimeIndex, days: NDArray[np.float64], step: float, freq: str) -> None:
    zone = starts.tz
    ax.xaxis_date(zone)
    ax.set_xlim(days[0] - 0.8 * step, days[-1] + 0.8 * step)
    if len(days) <= 7:
        form = {"h": "%H:%M\n%d %b", "D": "%d %b\n%Y", "W": "%d %b\n%Y", "MS": "%b\n%Y"}[freq]
        labels = [str(label) for label in starts.strftime(form)]
        ax.xaxis.set_major_locator(FixedLocator(list(days)))
        ax.xaxis.set_major_formatter(FixedFormatter(labels))
        return
    locator = AutoDateLocator(tz=zone, minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator,
        tz=zone,
        formats=["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%H:%M"],
        zero_formats=["", "%b %Y", "%d %b", "%d %b", "%H:%M", "%H:%M"],
        offset_formats=["", "%Y", "%Y", "%d %b %Y", "%d %b %Y", "%d %b %Y"],
    )
    ax.xaxis.set_major_formatter(formatter)


def _not_counted(table: pd.DataFrame, facts: dict[str, Any]) -> str | None:
    kinds = {
        "with unknown completion": int(table["n_missing"].sum()),
        "in progress": int(table["n_in_progress"].sum()),
        "without a time": int(facts.get("n_undated", 0)),
    }
    said = [f"{count:,} {kind}" for kind, count in kinds.items() if count]
    return f"Not counted: {', '.join(said)}." if said else None
