"""Plots of issues and topics that became more or less frequent: differences of shares with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from promptlift.analysis.sentences import score_rule
from promptlift.plots import theme
from promptlift.plots.drill_down import lead_to_conversations
from promptlift.plots.estimates import ENDS, draw_differences, fit_points, points_axis
from promptlift.plots.mentions import nothing_mentioned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["changes", "draw_changes"]


def changes(
    data: Any,
    *,
    of: Literal["issues", "topics"] = "issues",
    at: Any = None,
    window: Any = None,
    periods: Any = None,
    top: int | None = 10,
    level: float = 0.95,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw how the share of conversations with each issue or topic changed, with intervals.

    The line at 0 is no change. A word says whether the change is larger than chance explains; differences of fewer than
    5 conversations are hollow.

    Parameters
    ----------
    data
        Conversations, as for ``analysis.changes``, or its result (which then sets these arguments).
    of, at, window, periods, top, level
        As for ``analysis.changes``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is the difference in percentage points; the largest increase is on top.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.changes``.
    """
    options = {"of": of, "at": at, "window": window, "periods": periods, "top": top, "level": level}
    table = theme.result_of(data, "changes", **options)
    axes = theme.new_axes(ax, 1.4 + 0.5 * max(2, len(table)))
    axes = theme.finish(axes, table, draw_changes(axes, table, **style), title=title)
    return lead_to_conversations(axes, table, data)


def draw_changes(ax: Axes, table: pd.DataFrame, **style: Any) -> list[str]:
    """Draw the result of ``analysis.changes`` and return the notes under it."""
    facts = table.attrs["promptlift"]
    label = facts["of"].removesuffix("s")
    label_of_x = f"Change of the share of conversations with the {label}, percentage points"
    label_of_x += theme.at_level(facts["level"])
    if table.empty:
        theme.frame_rows(ax, label_of_x)
        there = facts["n_before"] or facts["n_after"]
        theme.show_empty(ax, nothing_mentioned(label, there), ticks=False)
        return theme.notes_of(table)
    shown = table.sort_values("difference", ascending=True, kind="stable", na_position="first")
    rows = np.arange(len(shown), dtype=np.float64)
    points_axis(ax, label_of_x, rows)
    few = np.minimum(shown["total_before"], shown["total_after"])
    draw_differences(ax, rows, shown.assign(_n=few), "_n", **style)
    fit_points(ax, shown[ENDS])
    ax.set_ylim(-0.4, len(shown) - 0.2)
    counts = [_counts(row) for row in shown.to_dict("records")]
    changed = [f": {change}" for change in shown["change"]]
    theme.write_rows(ax, rows, list(shown[label]), changed, counts)
    if not (facts["n_before"] and facts["n_after"]):
        theme.show_empty(ax, "Nothing to compare: one of the periods has no conversations with insights")
    rule = f'"more" and "fewer": {score_rule(facts["level"], len(shown))}.'
    return theme.notes_of(table, _spans(facts), rule)


def _counts(row: dict[Any, Any]) -> str:
    sides = []
    for side in ("before", "after"):
        share = row[f"share_{side}"]
        rate = "–" if pd.isna(share) else f"{share:.1%}"
        sides.append(f"{rate} ({row[f'n_{side}']:,} of {row[f'total_{side}']:,})")
    return " to ".join(sides)


def _spans(facts: dict[str, Any]) -> str:
    spans = []
    for side in ("before", "after"):
        ends = (("from", facts[f"{side}_from"]), ("until", facts[f"{side}_to"]))
        bounds = [f"{word} {_day(time)}" for word, time in ends if time is not None]
        spans.append(f"{' '.join(bounds)} (n = {facts[f'n_{side}']:,})")
    return f"Compared: {spans[0]} with {spans[1]}, UTC. Observational: other things may have changed too."


def _day(time: str) -> str:
    at = pd.Timestamp(time)
    return f"{at:%d %b %Y}" if at == at.normalize() else f"{at:%d %b %Y %H:%M}"
