"""Plot of the targets of an optimization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.plots import theme
from promptlift.plots.estimates import draw_differences, fit_points, points_axis
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

__all__ = ["targets"]

_HELD = {
    True: "The hypothesis held",
    False: "The hypothesis did not hold",
    None: "Whether the hypothesis held is open",
}


def targets(table: Any, *, title: str | None = None, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw how much more often the variant met each target than the original, with intervals.

    Parameters
    ----------
    table
        The table of ``lift.optimizations[optimization_id].targets()``, or the result of ``analysis.targets``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is the difference in percentage points; the target that improved most is on top. Whether a target improved is a
        word, never a colour alone; whether the hypothesis held is in the notes.

    Raises
    ------
    FrameError
        Raised by ``analysis.targets``.
    """
    result = theme.result_of(table, "targets")
    ax = theme.new_axes(ax, 1.4 + 0.55 * max(2, len(result)))
    facts = result.attrs["promptlift"]
    label = "Target met, difference to the original in percentage points"
    if result.empty:
        theme.frame_rows(ax, label)
        theme.show_empty(ax, "This optimization has no targets", ticks=False)
        return theme.finish(ax, result, theme.notes_of(result, _hypothesis(facts)), title=title)
    rows = np.arange(len(result), dtype=np.float64)[::-1]
    points_axis(ax, label + theme.at_level(facts["level"]), rows)
    ax.set_ylim(-0.45, len(result) - 0.15)
    draw_differences(ax, rows, result, "n_pairs", **style)
    fit_points(ax, result[["difference", "difference_low", "difference_high"]])
    records = result.to_dict("records")
    changes = [f": {row['change'] if isinstance(row['change'], str) else 'not measured'}" for row in records]
    numbers = [_numbers(row) for row in records]
    theme.write_rows(ax, rows, list(result["target"]), changes, numbers, most=60)
    return theme.finish(ax, result, theme.notes_of(result, _hypothesis(facts)), title=title)


def _numbers(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["original_met"]) or pd.isna(row["variant_met"]):
        return "no pairs"
    return f"{row['original_met']:.1f}% → {row['variant_met']:.1f}% · {counted(row['n_pairs'], 'pair')}"


def _hypothesis(facts: Mapping[str, Any]) -> str | None:
    found = facts.get("hypothesis")
    if not found:
        return None
    by = "" if found.get("measuredBy") != "taskCompletion" else ", measured by task completion"
    return f"{_HELD[found.get('held')]}{by}: “{theme.plain(found.get('text') or '', 160)}”"
