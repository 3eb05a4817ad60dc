"""Plot of grouped issues by what goes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.plots import theme
from promptlift.plots.estimates import draw_estimates
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["top_issues"]


def top_issues(
    table: Any, *, top: int | None = 10, title: str | None = None, ax: Axes | None = None, **style: Any
) -> Axes:
    """Draw how much lower task completion is with each issue than without, with intervals.

    Parameters
    ----------
    table
        The table of ``lift.views.top_issues(prompt_id)``, or the result of ``analysis.top_issues``.
    top
        As for ``analysis.top_issues``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is the difference in percentage points; the issue that costs most is on top.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.top_issues``.
    """
    result = theme.result_of(table, "top_issues", top=top)
    ax = theme.new_axes(ax, 1.3 + 0.5 * max(2, len(result)))
    ax.axvline(0.0, color=theme.foreground(), linewidth=1.0, alpha=0.6)
    theme.frame_rows(ax, "Task completion with the issue less without, points")
    note = "An observation, not a cause: hard conversations have more issues."
    if result.empty:
        theme.show_empty(ax, "Nothing to show", ticks=False)
    else:
        _draw(ax, result, {"color": theme.palette(ax)[0]} | style)
    notes = theme.notes_of(result, note if result["impact_points"].notna().any() else None)
    return theme.finish(ax, result, notes, title=title)


def _draw(ax: Axes, table: pd.DataFrame, points: dict[str, Any]) -> None:
    rows = np.arange(len(table), dtype=np.float64)[::-1]
    ax.set_ylim(-0.45, len(table) - 0.2)
    draw_estimates(ax, rows, table, "impact_points", "n", horizontal=True, **points)
    numbers = [theme.plain(_numbers(row), 60) for row in table.to_dict("records")]
    theme.write_rows(ax, rows, table["issue"].tolist(), [""] * len(table), numbers, most=60, above=8)


def _numbers(row: dict[Any, Any]) -> str:
    text = counted(row["n"], "conversation")
    return f"{text} · {row['impact']} impact" if pd.notna(row["impact"]) else text
