"""Picture of the spread of sentiment labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import PercentFormatter

from promptlift import analysis
from promptlift.plots import style as look

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["draw_sentiment", "sentiment_distribution"]


def sentiment_distribution(
    data: Any, *, by: str | None = None, level: float = 0.95, ax: Axes | None = None, **style: Any
) -> Axes:
    """Draw the share of conversations with each sentiment, with intervals.

    Shares of fewer than 5 conversations in all are hollow.

    Parameters
    ----------
    data
        Conversations, as for ``analysis.sentiment_distribution``, or its answer (then ``by`` and ``level`` are
        the answer's).
    by, level
        As for ``analysis.sentiment_distribution``. At most six groups are drawn, the largest ones.
    ax
        Axes to draw on; a new figure without.
    style
        ``color`` (a mapping from label, or with ``by`` from group, to colour, or one colour), and properties of
        the points, such as ``marker``.

    Returns
    -------
    Axes
        x is the share as a fraction, y 0 for negative, 1 for neutral, 2 for positive.

    Raises
    ------
    FrameError, ValueError
        As ``analysis.sentiment_distribution`` raises them.
    """
    table = data
    if not look.precomputed(data, "sentiment_distribution"):
        table = analysis.sentiment_distribution(data, by=by, level=level)
    ax = look.new_axes(ax, 7.0, 3.4)
    return look.finish(ax, table, draw_sentiment(ax, table, **style))


def draw_sentiment(ax: Axes, table: pd.DataFrame, *, color: Any = None, **style: Any) -> list[str]:
    """Draw the answer of ``analysis.sentiment_distribution`` and give the notes that belong under it."""
    by = table.attrs["promptlift"]["by"]
    groups, left_out, shown = look.groups_of(ax, table, by, "n", color if by is not None else None)
    look.frame_axes(ax, "x")
    labels = list(look.SENTIMENT_COLORS)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    total = int(table.loc[shown, "n"].sum())
    ax.set_xlabel(f"Share of conversations (n = {total:,})")
    ax.set_ylim(-0.6, 2.6 + (0.35 * ((len(groups) + 1) // 2) if by is not None else 0))
    ax.set_yticks(range(3), labels)
    if total == 0:
        look.say_empty(
            ax, "No conversations" if not table["n_missing"].any() else "No conversations with insights"
        )
        return look.notes_of(table)
    if by is None:
        _draw_one(ax, table, color, style)
        # From five digits on, the total stands under the axis only: the margin is narrow.
        of = f" of {total:,}" if total < 10_000 else ""
        ax.set_yticks(range(3), [f"{label}\n{n:,}{of}" for label, n in zip(labels, table["n"], strict=True)])
    else:
        for place, group in enumerate(groups):
            at = np.arange(3) + ((len(groups) - 1) / 2 - place) * 0.72 / len(groups)
            look.draw_estimates(
                ax, at, group.rows, "share", "total", color=group.color, horizontal=True, **style
            )
        look.legend(ax, groups, [int(group.rows["n"].sum()) for group in groups])
    missing = int(table.loc[shown, "n_missing"].sum() / 3)
    return look.notes_of(
        table, left_out, f"{missing:,} without a sentiment are not counted." if missing else None
    )


def _draw_one(ax: Axes, table: pd.DataFrame, color: Any, style: dict[str, Any]) -> None:
    for place, label in enumerate(look.SENTIMENT_COLORS):
        given = color.get(label) if isinstance(color, dict) else color
        tone = given or look.SENTIMENT_COLORS[label]
        row = table.iloc[[place]]
        ax.barh(
            place, row["share"], height=0.5, color=tone, alpha=0.4 if look.is_dark(ax) else 0.22, linewidth=0
        )
        look.draw_estimates(ax, [place], row, "share", "total", color=tone, horizontal=True, **style)
