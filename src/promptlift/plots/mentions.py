"""Plots of what conversations mention: issues and topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from promptlift.plots import theme
from promptlift.plots.drill_down import lead_to_conversations
from promptlift.plots.estimates import draw_estimates
from promptlift.plots.legends import legend, legend_headroom, legend_rows, make_room
from promptlift.words.figures import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from promptlift.analysis.reading import By

__all__ = ["draw_mentions", "issues", "nothing_mentioned", "topics"]


def nothing_mentioned(label: str, judged: int) -> str:
    """Return why there are no issues, or no topics, to draw."""
    if not judged:
        return "No conversations with insights"
    why = ": too few conversations, or they share their words by chance only" if label == "topic" else ""
    return f"No {label}s{why}"


def issues(
    data: Any,
    *,
    by: By = None,
    top: int | None = 10,
    level: float = 0.95,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the most frequent issues: share of conversations, interval, severity, completion with and without.

    Parameters
    ----------
    data
        Conversations, as for ``analysis.issues``, or its result (which then sets ``by``, ``top`` and
        ``level``).
    by, top, level
        As for ``analysis.issues``. Only the six largest groups are drawn.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is the share as a fraction; the most frequent issue is on top.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.issues``.
    """
    table = theme.result_of(data, "issues", by=by, top=top, level=level)
    return lead_to_conversations(_draw(table, "issue", title, ax, style), table, data)


def topics(
    data: Any,
    *,
    by: By = None,
    top: int | None = 10,
    level: float = 0.95,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the most frequent topics: share of conversations, interval, completion with and without.

    Parameters
    ----------
    data
        Conversations, as for ``analysis.topics``, or its result (which then sets ``by``, ``top`` and
        ``level``).
    by, top, level
        As for ``analysis.topics``. Only the six largest groups are drawn.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is the share as a fraction; the most frequent topic is on top.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.topics``.
    """
    table = theme.result_of(data, "topics", by=by, top=top, level=level)
    return lead_to_conversations(_draw(table, "topic", title, ax, style), table, data)


def _draw(table: pd.DataFrame, label: str, title: str | None, ax: Axes | None, style: dict[str, Any]) -> Axes:
    by = table.attrs["promptlift"]["by"]
    count = 1 if by is None else min(theme.MAX_GROUPS, table[by].nunique(dropna=False))
    new = ax is None
    ax = theme.new_axes(ax, 1.2 + (0.5 + 0.07 * count) * max(2, table[label].nunique()))
    if new and by is not None and len(table):
        groups, _, _ = theme.groups_of(ax, table, by, "n")
        make_room(ax, legend_rows(ax, groups, _totals(groups)))
    return theme.finish(ax, table, draw_mentions(ax, table, label, **style), title=title)


def draw_mentions(
    ax: Axes, table: pd.DataFrame, label: str, *, color: Any = None, outcomes: bool = True, **style: Any
) -> list[str]:
    """Draw the result of ``analysis.issues`` or ``topics`` and return the notes under it.

    Parameters
    ----------
    ax
        Axes to draw on.
    table
        The answer; ``label`` is its first column.
    label
        ``"issue"`` or ``"topic"``.
    color, style
        Colour of the groups and properties of the points.
    outcomes
        Whether to write the completion with and without each.
    """
    facts = table.attrs["promptlift"]
    by = facts["by"]
    groups, omitted, _ = theme.groups_of(ax, table, by, "n", color)
    theme.frame_rows(ax, "Share of conversations with insights")
    titles = list(dict.fromkeys(table[label]))
    if not titles:
        theme.show_empty(ax, nothing_mentioned(label, facts["n_judged"]), ticks=False)
        return theme.notes_of(table)
    totals = _totals(groups)
    # The highest title stands above its row.
    rows_of_y = len(titles) + 0.2
    headroom = legend_headroom(ax, legend_rows(ax, groups, totals), rows_of_y) if by is not None else 0
    ax.set_ylim(-0.35, rows_of_y - 0.35 + headroom)
    most = min(1.015, 1.08 * float(table["share_high"].max()))
    # Room for half a marker at 0.
    ax.set_xlim(-0.015 * most, most)
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}%"))
    rows = np.arange(len(titles))[::-1].astype(np.float64)
    for place, group in enumerate(groups):
        at = rows + ((len(groups) - 1) / 2 - place) * 0.5 / len(groups)
        points = {"marker": group.marker} | style
        draw_estimates(ax, at, group.rows, "share", "total", color=group.color, horizontal=True, **points)
    _write_rows(ax, table, titles, label, outcomes=outcomes and by is None, compared=by is not None)
    if by is not None:
        legend(ax, groups, totals)
    return theme.notes_of(table, omitted)


def _totals(groups: Sequence[theme.Group]) -> list[int]:
    return [int(group.rows["total"].max()) for group in groups]


def _write_rows(
    ax: Axes, table: pd.DataFrame, titles: list[str], label: str, *, outcomes: bool, compared: bool
) -> None:
    """Write each title above its row and its counts at the right, because margins cannot hold long titles."""
    of_title = [table[table[label] == title] for title in titles]
    numbers = [_counts(rows, compared=compared, short=not outcomes) for rows in of_title]
    names = theme.fit_names(ax, titles, numbers)
    at = np.arange(len(titles))[::-1] + (0.24 if compared else 0.0)
    for y, rows, name, right in zip(at, of_title, names, numbers, strict=True):
        theme.name_row(ax, y, name, right, above=17 if outcomes else 7, boxed=False)
        first = rows.iloc[0]
        if outcomes and known(first["n_rated"]):
            completion = (
                f"task completed: {first['completed']:,} of {first['n_rated']:,} with it, "
                f"{first['completed_without']:,} of {first['n_rated_without']:,} without"
            )
            theme.write_in_row(ax, 0, y, completion)


def _counts(rows: pd.DataFrame, *, compared: bool, short: bool) -> str:
    """Return how many conversations have a title, and how many of them as severely as the worst."""
    n = int(rows["n"].sum())
    # Six-digit counts leave no room for the titles in a small panel.
    short = short and n > 9_999
    counts = f"{n:,}" if compared or short else f"{n:,} of {rows['total'].iloc[0]:,}"
    worst = rows["severity"].max() if "severity" in rows else None
    if not isinstance(worst, str):
        return counts
    severe = int(rows.loc[rows["severity"] == worst, "n_worst"].sum())
    return f"{counts} · " + (
        f"all {worst}" if severe == n else f"{worst} in {severe:,}{'' if short else f' of {n:,}'}"
    )
