"""Plot of simulated conversations by persona and by scenario: where a variant helps and where it harms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.plots import theme
from promptlift.plots.estimates import ENDS, draw_differences, fit_points, points_axis
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["where_it_differs"]

_MOST = 12


def where_it_differs(
    data: Any,
    *,
    variant_id: str | None = None,
    stage: Any = None,
    level: float = 0.95,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the difference of completion between a variant and the original by persona and by scenario.

    Those with fewer than 5 pairs are only counted, in a note.

    Parameters
    ----------
    data
        Simulated conversations, as for ``analysis.where_it_differs``, or its result (which then sets these
        arguments).
    variant_id, stage, level
        As for ``analysis.where_it_differs``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is the difference in percentage points. On top are all pairs, then the personas and then the scenarios, those with
        the most pairs first; at most 12 of each are drawn.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.where_it_differs``.
    """
    options = {"variant_id": variant_id, "stage": stage, "level": level}
    table = theme.result_of(data, "where_it_differs", **options)
    facts = table.attrs["promptlift"]
    enough = table[table["n"].ge(theme.FEW) & table["part"].ne("field") | table["part"].eq("all")]
    parts = [rows.iloc[:_MOST] for _, rows in enough.groupby("part", sort=False)]
    ax = theme.new_axes(ax, 1.3 + 0.42 * (sum(map(len, parts)) + 2 * len(parts)))
    label = f"Difference of task completion in percentage points{theme.at_level(facts['level'])}"
    if not table["n"].any():
        theme.frame_rows(ax, label)
        theme.show_empty(ax, "No pairs of simulated conversations", ticks=False)
        return theme.finish(ax, table, theme.notes_of(table), title=title)
    rows: list[NDArray[np.float64]] = []
    y = 0.0
    for part in parts:
        if rows:
            name = part["part"].iloc[0]
            theme.write_in_row(ax, 0, y - 0.9, f"By {name}", size="small", above=0).set_fontweight("bold")
            y -= 1.9
        rows.append(y - np.arange(len(part), dtype=np.float64))
        y = float(rows[-1][-1])
    shown, at = pd.concat(parts), np.concatenate(rows)
    points_axis(ax, label, at)
    draw_differences(ax, at, shown, "n", **style)
    fit_points(ax, shown[ENDS])
    names = shown["persona"].fillna(shown["scenario"]).fillna("all pairs")
    numbers = [
        f"{row['rate']:.0%} against {row['rate_control']:.0%} · {counted(row['n'], 'pair')}"
        for row in shown.to_dict("records")
    ]
    theme.write_rows(ax, at, list(names), [""] * len(names), numbers)
    ax.set_ylim(y - 0.4, 0.9)
    return theme.finish(ax, table, theme.notes_of(table, *_notes(table, enough)), title=title)


def _notes(table: pd.DataFrame, enough: pd.DataFrame) -> list[str]:
    """Return what is not shown, and what the pairs are."""
    facts, notes = table.attrs["promptlift"], []
    for part in ("persona", "scenario"):
        found, usable = (int(rows["part"].eq(part).sum()) for rows in (table, enough))
        if usable > _MOST:
            notes.append(f"Only the {_MOST} {part}s with the most pairs are shown.")
        if found > usable:
            notes.append(f"Not shown: {counted(found - usable, part)} with fewer than {theme.FEW} pairs.")
    if "screen" in facts["stages"]:
        notes.append("Includes the screening, which favours variants that were lucky in it.")
    if facts["n_dropped"]:
        notes.append(f"Not counted: {facts['n_dropped']:,} pairs without an outcome on both sides.")
    return notes
