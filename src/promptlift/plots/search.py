"""Plot of what a search for better prompts found, by the conversations it had spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.ticker import MaxNLocator

from promptlift.plots import theme
from promptlift.plots.estimates import draw_estimates, signed_ticks
from promptlift.plots.legends import legend, legend_headroom, legend_rows, make_room

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["search"]

_STATES: Final = {
    "pool": "in the pool",
    "finalist": "finalist",
    "testing": "still tested",
    "rejected": "rejected",
}
_MARKERS: Final = {"pool": "o", "finalist": "D", "testing": "s", "rejected": "X"}
_NOTE: Final = (
    "Estimated from all conversations of the search, with 90% intervals. The line is the best lower bound so far, the band reaches to the upper bound of the same candidate; dotted: first result of a "
    "generation. A search only chooses the finalist: the best of several is partly lucky, and its lift is measured by the confirmation."
)


def search(
    source: Any,
    optimization_id: Any = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
    color: Any = None,
    **style: Any,
) -> Axes:
    """Draw the candidates of a search by the conversations it had spent, and the best lower bound so far.

    Each point is a candidate with its interval, as estimated from all conversations of the search. The points' shapes say
    what became of the candidates.

    Parameters
    ----------
    source
        A workspace (``lift``), or the table of ``lift.variants`` or ``analysis.search``.
    optimization_id
        The optimization, where a workspace is given.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    color
        Colour of the line and the points.
    style
        Properties of the points, such as ``markersize``.

    Returns
    -------
    Axes
        x is the number of conversations that the search had spent, y the points of completion over the original.

    Raises
    ------
    FrameError
        Raised by ``analysis.search``.
    ValueError
        When a workspace is given without an optimization; also raised by ``analysis.search``.
    """
    if hasattr(source, "variants"):
        if optimization_id is None:
            raise ValueError("Name the optimization: plots.search(lift, optimization_id).")
        source = source.variants(optimization_id)
    table = theme.result_of(source, "search")
    ax = theme.new_axes(ax, 4.2)
    theme.frame_axes(ax, "y")
    ax.set_xlabel("Conversations that the search had spent")
    ax.set_ylabel("Over the original (points)")
    if table.empty:
        ax.set_yticks([])
        theme.show_empty(ax, "This optimization has no search", ticks=False)
        return theme.finish(ax, table, theme.notes_of(table), title=title)
    groups = _groups(ax, table, color)
    counts = [len(group.rows) for group in groups]
    rows = legend_rows(ax, groups, counts)
    make_room(ax, rows + 1)
    _limit(ax, table, rows + 1)
    _draw_best(ax, table, groups[0].color if color is None else color)
    for group in groups:
        own: dict[str, Any] = {"marker": group.marker, "markersize": 6.0} | style
        draw_estimates(
            ax, group.rows["conversations"], group.rows, "points", "n_pairs", color=group.color, **own
        )
    _mark_generations(ax, table)
    legend(ax, groups, counts)
    return theme.finish(ax, table, theme.notes_of(table, _NOTE), title=title)


def _groups(ax: Axes, table: pd.DataFrame, color: Any) -> list[theme.Group]:
    """Return the candidates by what became of them; an unknown state is as one of the pool."""
    known = table["state"].where(table["state"].isin(list(_STATES)), "pool")
    tones = dict(zip(_STATES, theme.palette(ax), strict=False)) | {"rejected": "0.55"}
    return [
        theme.Group(table[known.eq(state)], words, color or tones[state], _MARKERS[state])
        for state, words in _STATES.items()
        if known.eq(state).any()
    ]


def _limit(ax: Axes, table: pd.DataFrame, rows: int) -> None:
    """Set the limits of both axes, with room for the legend and the generations above the data."""
    ends = table[["points", "points_low", "points_high"]].to_numpy(np.float64).ravel()
    ends = np.append(ends[np.isfinite(ends)], [0.0])
    low, high = float(ends.min()), float(ends.max())
    margin = 0.05 * (high - low) or 1.0
    below = high - low + 2 * margin
    ax.set_ylim(low - margin, high + margin + legend_headroom(ax, rows, below))
    most = float(table["conversations"].max())
    ax.set_xlim(0.0, 1.04 * most or 1.0)
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    signed_ticks(ax, "y")
    ax.axhline(0.0, color=theme.foreground(), linewidth=1.0, alpha=0.8, zorder=1)


def _draw_best(ax: Axes, table: pd.DataFrame, color: Any) -> None:
    """Draw the best lower bound so far as steps from the original, and the band above it."""
    x = np.concatenate([[0.0], table["conversations"].to_numpy(np.float64), [ax.get_xlim()[1]]])
    low, high = (
        np.concatenate([[0.0], ends, ends[-1:]])
        for ends in (table[f"best_{end}"].to_numpy(np.float64) for end in ("low", "high"))
    )
    ax.fill_between(x, low, high, step="post", color=color, alpha=0.14, linewidth=0, zorder=1)
    ax.step(x, low, where="post", color=color, linewidth=1.8, zorder=2, label="best lower bound so far")


def _mark_generations(ax: Axes, table: pd.DataFrame) -> None:
    """Mark the first result of each generation, with its number where there is room."""
    first = table.dropna(subset=["generation"]).groupby("generation")["conversations"].min()
    room = 72 * theme.inches_wide(ax) / float(ax.get_xlim()[1])
    bottom, last = ax.get_ylim()[0], -np.inf
    for generation, at in first.sort_values().items():
        ax.axvline(float(at), color=theme.foreground(), linestyle=":", linewidth=0.9, alpha=0.6, zorder=0)
        words = f"generation {generation}"
        if float(at) * room < last:
            continue
        width = theme.points_wide(words, 7.5) + 8
        inside = float(at) * room + width <= 72 * theme.inches_wide(ax)
        if not inside and float(at) * room - width < last:
            continue
        last = float(at) * room + (width if inside else 0)
        ax.annotate(
            words, (float(at), bottom), xytext=(3 if inside else -3, 3), textcoords="offset points",
            ha="left" if inside else "right", va="bottom", fontsize=7.5, alpha=0.9,
        )  # fmt: skip
