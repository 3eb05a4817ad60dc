"""Picture of the completion rate over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from promptlift import analysis
from promptlift.plots import style as look
from promptlift.plots.timeline import draw_periods, lane_height

if TYPE_CHECKING:
    from datetime import tzinfo

    from matplotlib.axes import Axes

__all__ = ["completion_trend", "draw_trend"]


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
    ax = look.new_axes(ax, 8.5, lane_height(count, len(table)))
    return look.finish(ax, table, draw_trend(ax, table, **style))


def draw_trend(ax: Axes, table: pd.DataFrame, *, color: Any = None, **style: Any) -> list[str]:
    """Draw the answer of ``analysis.completion_trend`` and give the notes that belong under it."""
    facts = table.attrs["promptlift"]
    groups, left_out, shown = look.groups_of(ax, table, facts["by"], "n", color)
    anything = table[["n", "n_missing", "n_in_progress"]].to_numpy().any()
    starts = pd.DatetimeIndex(table["period_start"].unique() if anything else [])
    draw_periods(ax, starts, groups, facts, **style)
    ax.set_ylabel("Task completion rate")
    if not anything:
        look.say_empty(ax)
        return look.notes_of(table)
    if not table["n"].any():
        look.say_empty(ax, "No ended conversations with insights")
    return look.notes_of(table, left_out, _not_counted(table[shown], facts), *_trends(facts))


def _not_counted(table: pd.DataFrame, facts: dict[str, Any]) -> str | None:
    kinds = {
        "with unknown completion": int(table["n_missing"].sum()),
        "in progress": int(table["n_in_progress"].sum()),
        "without a time": int(facts.get("n_undated", 0)),
    }
    said = [f"{count:,} {kind}" for kind, count in kinds.items() if count]
    return f"Not counted: {', '.join(said)}." if said else None


def _trends(facts: dict[str, Any]) -> list[str]:
    """Say what may be called a trend; of groups the first three."""
    found = [trend for trend in facts.get("trends", []) if trend["is_trend"]]
    notes = []
    for trend in found[:3]:
        group = f"{look.plain(trend['group'], 28)}: " if facts["by"] is not None else ""
        way = "rising" if trend["points_per_day"] > 0 else "falling"
        low, high = sorted(abs(trend[end]) for end in ("points_low", "points_high"))
        jump = ""
        if "jump_at" in trend:
            at = pd.Timestamp(trend["jump_at"])
            jump = (
                f", which fits a jump on {at:%d %b %Y} too ({trend['rate_before']:.0%} before, "
                f"{trend['rate_after']:.0%} after)"
            )
        notes.append(
            f"{group}{way} by {abs(trend['points_per_day']):.2g} points a day (95 % interval {low:.2g} to "
            f"{high:.2g}, {trend['n_days']} days, n = {trend['n']:,}){jump}."
        )
    if len(found) > 3:
        notes.append(f"{len(found) - 3} more groups rise or fall.")
    return [note[0].upper() + note[1:] if facts["by"] is None else note for note in notes]
