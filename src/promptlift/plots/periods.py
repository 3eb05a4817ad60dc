"""Estimates by period: points with intervals, gaps, counts below, and a lane per group when crowded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.collections import PolyCollection
from matplotlib.ticker import FixedFormatter, FixedLocator

from promptlift.analysis.periods import last_period_end
from promptlift.plots import theme
from promptlift.plots.estimates import draw_estimates, ends_of
from promptlift.plots.legends import legend, legend_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["RATES", "SCORES", "Scale", "day_numbers", "draw_periods", "has_conversations", "lane_height"]

PERIODS = {"h": "Hour", "D": "Day", "W": "Week from Monday", "MS": "Month"}
_DAYS = {"h": 1 / 24, "D": 1.0, "W": 7.0, "MS": 30.4}
_US_A_DAY = 86_400_000_000
_STRIP = (-0.24, -0.08)
_LANE = 1.55
# From this many groups on, each has a lane of its own.
_LANES_FROM = 4
# Above this many periods whiskers would touch each other.
_MANY_PERIODS = 60
_MOST_TICKS = 8
# Inches that the label of a tick takes.
_TICK_WIDTH = 0.6
# How many periods are between two ticks, and of which round number the first one is a multiple.
_STEPS = {
    "h": (1, 2, 3, 6, 12, 24, 48, 168),
    "D": (1, 2, 7, 14, 28, 91, 182, 364),
    "W": (1, 2, 4, 8, 13, 26, 52),
    "MS": (1, 2, 3, 6, 12, 24, 60),
}


@dataclass(frozen=True)
class Scale:
    """The scale of the estimates.

    Attributes
    ----------
    low, high
        Ends of the axis.
    ticks, few_ticks
        Ticks on the axis, and on each of several lanes.
    form
        Format of a tick label.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    few_ticks: tuple[float, ...]
    form: str

    @property
    def span(self) -> float:
        """Length of the axis."""
        return self.high - self.low

    def write(self, tick: float) -> str:
        """Return the label of a tick."""
        return f"{tick:{self.form}}".replace("-", "−") if tick else f"{tick:{self.form.lstrip('+')}}"


RATES = Scale(0.0, 1.0, (0, 0.25, 0.5, 0.75, 1), (0, 0.5, 1), ".0%")
SCORES = Scale(-1.0, 1.0, (-1, -0.5, 0, 0.5, 1), (-1, 0, 1), "+g")


def lane_height(groups: int) -> float:
    """Return the height of a new figure in inches."""
    return 1.4 + 1.3 * min(groups, theme.MAX_GROUPS) if groups >= _LANES_FROM else 4.0


def day_numbers(times: Any) -> NDArray[np.float64]:
    """Return times as matplotlib counts them, in days."""
    return np.asarray(pd.DatetimeIndex(times).as_unit("us").asi8 / _US_A_DAY, np.float64)


def has_conversations(table: pd.DataFrame) -> bool:
    """Return whether any conversation is in a table of periods, judged or not."""
    return bool(table.filter(["n", "n_missing", "n_in_progress"]).to_numpy().any())


def draw_periods(
    ax: Axes,
    table: pd.DataFrame,
    groups: list[theme.Group],
    *,
    estimate: str = "rate",
    n: str = "n",
    scale: Scale = RATES,
    named: bool | None = None,
    separate_counts: bool = True,
    **style: Any,
) -> None:
    """Draw the estimates of every group by period, with the counts below.

    Parameters
    ----------
    ax
        Axes to draw on.
    table
        Result of the analysis.
    groups
        Groups with one row per period, in the same order.
    estimate, n
        Columns of the estimate, with its bounds ``…_low`` and ``…_high``, and of its number of conversations.
    scale
        Scale of the estimates.
    named
        Whether the groups have names to show; by default when ``by`` is given.
    separate_counts
        Whether the groups count different conversations, so that their counts are stacked.
    style
        Properties of the points.
    """
    facts = table.attrs["promptlift"]
    starts = pd.DatetimeIndex(table["period_start"].unique() if has_conversations(table) else [])
    named = facts["by"] is not None if named is None else named
    lanes = [[group] for group in groups] if len(groups) >= _LANES_FROM else [groups]
    theme.frame_axes(ax, "y")
    ax.set_xlabel(f"{PERIODS[facts['freq']]} ({theme.plain(facts['tz'])})")
    sizes = [int(group.rows[n].sum()) for group in groups]
    headroom = (1.6 if len(lanes) > 1 else legend_rows(ax, groups, sizes)) if named else 0
    bottom = scale.low + scale.span * (_STRIP[0] - 0.01 - _LANE * (len(lanes) - 1))
    ax.set_ylim(bottom, scale.high + scale.span * (0.04 + 0.1 * headroom))
    if len(starts) == 0:
        ax.set_xticks([])
        _set_ticks(ax, {tick: scale.write(tick) for tick in scale.ticks})
        return
    days, step = day_numbers(starts), _DAYS[facts["freq"]]
    ticks: dict[float, str] = {}
    for place, lane in enumerate(lanes):
        base = -_LANE * scale.span * place
        for beside, group in enumerate(lane):
            shift = (beside - (len(lane) - 1) / 2) * 0.11 * step
            _draw_group(ax, group, days, shift, step, base, estimate, n, style)
        shown = scale.few_ticks if len(lanes) > 1 else scale.ticks
        ticks |= {base + tick: scale.write(tick) for tick in shown}
        counts = [(group.rows[n], group.color) for group in lane]
        if not separate_counts:
            counts = [(lane[0].rows[n], lane[0].color if len(lanes) > 1 else theme.foreground())]
        strip = base + scale.low + scale.span * np.array(_STRIP)
        most = _draw_counts(ax, counts, days, step, strip)
        ticks[strip.mean()] = f"n ≤ {most:,.0f}"
    _set_ticks(ax, ticks)
    _date_axis(ax, starts, days, step, facts["freq"])
    if len(lanes) > 1:
        _name_lanes(ax, groups, sizes, scale)
    elif named:
        legend(ax, groups, sizes)


def _set_ticks(ax: Axes, ticks: dict[float, str]) -> None:
    ax.yaxis.set_major_locator(FixedLocator(list(ticks)))
    ax.yaxis.set_major_formatter(FixedFormatter(list(ticks.values())))


def _draw_group(
    ax: Axes,
    group: theme.Group,
    days: NDArray[np.float64],
    shift: float,
    step: float,
    base: float,
    estimate: str,
    n: str,
    style: dict[str, Any],
) -> None:
    """Draw the estimates of a group, raised by ``base`` and shifted in time so that whiskers do not overlap."""
    ribbon = len(days) > _MANY_PERIODS
    # Ribbons may overlap.
    at, rows = days if ribbon else days + shift, group.rows
    if base:
        rows = rows.assign(**{name: rows[name] + base for name in ends_of(rows, estimate)})
    # The line connects only periods with enough conversations.
    line = rows[estimate].where(rows[n] >= theme.FEW)
    ax.plot(at, line, color=group.color, alpha=0.5, linewidth=1.1, zorder=2)
    points = {"marker": group.marker, "color": group.color, "ribbon": ribbon} | style
    draw_estimates(ax, at, rows, estimate, n, beside=(-0.025 * step, 0.025 * step), **points)


def _draw_counts(
    ax: Axes,
    counts: Sequence[tuple[Any, Any]],
    days: NDArray[np.float64],
    step: float,
    strip: NDArray[np.float64],
) -> float:
    """Draw the counts of groups in their colours as stacked bars in the strip; return the highest total."""
    sizes = np.array([of_group.to_numpy() for of_group, _ in counts], np.float64)
    most = float(sizes.sum(axis=0).max())
    stacked = np.vstack([np.zeros(len(days)), sizes.cumsum(axis=0)]) / max(most, 1)
    edges = strip[0] + stacked * (strip[1] - strip[0])
    left, right = days - 0.38 * step, days + 0.38 * step
    for low, high, size, (_, color) in zip(edges[:-1], edges[1:], sizes, counts, strict=True):
        corners = np.stack([left, low, left, high, right, high, right, low], axis=1).reshape(-1, 4, 2)
        ax.add_collection(PolyCollection(list(corners[size > 0]), facecolor=color, alpha=0.5), autolim=False)
    return most


def _name_lanes(ax: Axes, groups: list[theme.Group], sizes: list[int], scale: Scale) -> None:
    for place, (group, size) in enumerate(zip(groups, sizes, strict=True)):
        ax.text(
            0.005, scale.high + scale.span * (0.05 - _LANE * place), f"{group.name} (n = {size:,})",
            transform=ax.get_yaxis_transform(), va="bottom", fontsize="small", fontweight="bold",
        )  # fmt: skip


def _date_axis(ax: Axes, starts: pd.DatetimeIndex, days: NDArray[np.float64], step: float, freq: str) -> None:
    zone = starts.tz
    ax.xaxis_date(zone)
    # The axis includes the last period to its last minute.
    ax.set_xlim(days[0] - 0.8 * step, day_numbers(last_period_end(starts, freq))[0])
    most = max(2, min(_MOST_TICKS, int(theme.inches_wide(ax) / _TICK_WIDTH)))
    if len(days) <= min(7, most):
        form = {"h": "%H:%M\n%d %b", "D": "%d %b\n%Y", "W": "%d %b\n%Y", "MS": "%b\n%Y"}[freq]
        labels = [str(label) for label in starts.strftime(form)]
        ax.xaxis.set_major_locator(FixedLocator(list(days)))
        ax.xaxis.set_major_formatter(FixedFormatter(labels))
        return
    chosen = _ticked(starts, freq, most)
    ax.xaxis.set_major_locator(FixedLocator(list(days[chosen])))
    ax.xaxis.set_major_formatter(FixedFormatter(_tick_labels(starts[chosen], freq)))


def _ticked(starts: pd.DatetimeIndex, freq: str, most: int) -> NDArray[np.intp]:
    """Choose the periods that have a tick: every second, third, …, so that each tick is under a point."""
    sizes = _STEPS[freq]
    every = next((size for size in sizes if len(starts) <= size * most), sizes[-1])
    while len(starts) > every * most:
        every *= 2
    begin = 0
    if freq == "h":
        begin = int(np.argmax(starts.hour % min(every, 24) == 0))
    elif freq == "MS":
        begin = int(np.argmax((starts.month - 1) % min(every, 12) == 0))
    return np.arange(begin, len(starts), every)


def _tick_labels(starts: pd.DatetimeIndex, freq: str) -> list[str]:
    """Write the date of every tick, with the year (for hours, the day) where it is another than before."""
    form, more = {"h": ("%H:%M", "%d %b %Y"), "MS": ("%b", "%Y")}.get(freq, ("%d %b", "%Y"))
    wider = list(starts.strftime(more))
    return [
        f"{text}\n{wider[place]}" if place == 0 or wider[place] != wider[place - 1] else text
        for place, text in enumerate(starts.strftime(form))
    ]
