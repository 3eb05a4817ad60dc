"""Plots of sentiment: its distribution, and its trend over time; on a word list by score, relative to the usual one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import PercentFormatter

from promptlift.analysis.drill_down import SCORE_MARK
from promptlift.analysis.sentiments import kinds_of
from promptlift.plots import theme
from promptlift.plots.drill_down import lead_to_conversations
from promptlift.plots.estimates import draw_estimates
from promptlift.plots.legends import legend, legend_headroom, legend_rows, make_room
from promptlift.plots.palette import SENTIMENT_COLORS
from promptlift.plots.periods import RATES, SCORES, Scale, draw_periods, has_conversations, lane_height
from promptlift.words.figures import signed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    import pandas as pd
    from matplotlib.axes import Axes

    from promptlift.analysis.reading import By

__all__ = ["draw_sentiment", "draw_sentiment_trend", "sentiment_distribution", "sentiment_trend"]

_MARKERS = {"negative": "v", "positive": "^"}
# Ticks of a score relative to the usual one.
_FROM_USUAL = (-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2)


def sentiment_distribution(
    data: Any,
    *,
    by: By = None,
    level: float = 0.95,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the share of conversations with each sentiment, with intervals.

    The labels of a word list are not drawn: its scores are, relative to the usual one. Shares of fewer than 5 conversations are hollow.

    Parameters
    ----------
    data
        Conversations, as for ``analysis.sentiment_distribution``, or its result (which then sets ``by`` and
        ``level``).
    by, level
        As for ``analysis.sentiment_distribution``. Only the six largest groups are drawn.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color`` (a mapping from label, or with ``by`` from group, to colour, or one colour), and properties of
        the points, such as ``marker``.

    Returns
    -------
    Axes
        x is the share as a fraction, y 0 for negative, 1 for neutral, 2 for positive; on a word list 0 for far below usual, to
        4 for far above usual.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.sentiment_distribution``.
    """
    table = theme.result_of(data, "sentiment_distribution", by=by, level=level)
    new = ax is None
    kinds = kinds_of(table.attrs["promptlift"].get("usual"))
    ax = theme.new_axes(ax, 1.3 + 0.7 * len(kinds))
    column = table.attrs["promptlift"]["by"]
    if new and column is not None:
        groups, _, _ = theme.groups_of(ax, table, column, "n")
        make_room(ax, legend_rows(ax, groups, _sizes(groups)))
    theme.finish(ax, table, draw_sentiment(ax, table, **style), title=title)
    return lead_to_conversations(ax, table, data)


def sentiment_trend(
    data: Any,
    *,
    freq: str = "auto",
    by: By = None,
    tz: str | tzinfo = "UTC",
    level: float = 0.95,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw sentiment by period, with intervals, and how many conversations each period has.

    The lines are the shares of negative and positive, with ``by`` of negative alone; of a word list the mean score, relative to the
    usual one. Periods with fewer than 5 conversations are hollow; periods without any are gaps in the line.

    Parameters
    ----------
    data
        Conversations, as for ``analysis.sentiment_trend``, or its result (which then sets ``freq``, ``by``, ``tz``
        and ``level``).
    freq, by, tz, level
        As for ``analysis.sentiment_trend``. Only the six largest groups are drawn.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color`` (a list, or a mapping from label, or with ``by`` from group, to colour), and properties of the
        points, such as ``markersize``.

    Returns
    -------
    Axes
        x is time in matplotlib days, y a fraction, on a word list the score minus the usual score. From four lines on,
        each has a lane, one below the other.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.sentiment_trend``.
    """
    table = theme.result_of(data, "sentiment_trend", freq=freq, by=by, tz=tz, level=level)
    group: str | None = table.attrs["promptlift"]["by"]
    ax = theme.new_axes(ax, lane_height(1 if group is None else table[group].nunique(dropna=False)))
    theme.finish(ax, table, draw_sentiment_trend(ax, table, **style), title=title)
    return lead_to_conversations(ax, table, data)


def draw_sentiment_trend(ax: Axes, table: pd.DataFrame, *, color: Any = None, **style: Any) -> list[str]:
    """Draw the result of ``analysis.sentiment_trend`` and return the notes under it."""
    facts = table.attrs["promptlift"]
    usual = facts.get("usual")
    score = usual is not None
    by, n = facts["by"], "sentiment_n" if score else "n"
    shown = np.ones(len(table), bool)
    omitted = None
    if by is None and not score:
        labels = ("negative", "positive")
        groups = [_label_group(table, label, color, place) for place, label in enumerate(labels)]
    else:
        groups, omitted, shown = theme.groups_of(ax, table, by, n, color)
        label = "sentiment" if score else "negative"
        groups = [replace(group, rows=_estimates(group.rows, label)) for group in groups]
    draw_periods(
        ax, table, groups,
        estimate="estimate", n=n, scale=RATES if usual is None else _scale(usual),
        named=by is not None or not score, separate_counts=by is not None, **style,
    )  # fmt: skip
    if usual is not None:
        ax.set_ylabel(f"Mean score, relative to the usual {signed(usual, 2)}")
    else:
        ax.set_ylabel("Share of conversations" if by is None else "Share of negative conversations")
    if not table[n].any():
        anything = has_conversations(table)
        theme.show_empty(ax, "No conversations with insights" if anything else "No conversations")
        return theme.notes_of(table)
    missing, undated = int(table.loc[shown, "n_missing"].sum()), int(facts.get("n_undated", 0))
    left_out = theme.not_counted({"without a sentiment": missing, "without a time": undated})
    return theme.notes_of(table, omitted, left_out)


def _scale(usual: float) -> Scale:
    """Return the scale of scores relative to the usual one, with the same ends, so that no score is outside of it."""
    if np.isnan(usual):
        return SCORES
    low, high = -1 - usual, 1 - usual
    ticks = tuple(tick for tick in _FROM_USUAL if low <= tick <= high)
    return Scale(low, high, ticks, tuple(tick for tick in ticks if tick == int(tick)), SCORES.form)


def _label_group(table: pd.DataFrame, label: str, color: Any, place: int) -> theme.Group:
    given = color.get(label) if isinstance(color, dict) else color
    if isinstance(given, list | tuple):
        given = given[place % len(given)]
    return theme.Group(_estimates(table, label), label, given or SENTIMENT_COLORS[label], _MARKERS[label])


def _estimates(rows: pd.DataFrame, label: str) -> pd.DataFrame:
    """Return the rows with the shares of a label, or the mean of ``sentiment``, as ``estimate``."""
    names = {f"{label}_{end}": f"estimate_{end}" for end in ("low", "high")}
    names[f"{label}_{'mean' if label == 'sentiment' else 'share'}"] = "estimate"
    shown = rows[["n", "sentiment_n", *names]].rename(columns=names)
    return shown.assign(sentiment=SCORE_MARK if label == "sentiment" else label)


def draw_sentiment(ax: Axes, table: pd.DataFrame, *, color: Any = None, **style: Any) -> list[str]:
    """Draw the result of ``analysis.sentiment_distribution`` and return the notes under it."""
    by, usual = table.attrs["promptlift"]["by"], table.attrs["promptlift"].get("usual")
    groups, omitted, shown = theme.groups_of(ax, table, by, "n", color if by is not None else None)
    theme.frame_axes(ax, "x")
    labels = [kind.removesuffix(" usual") for kind in kinds_of(usual)]
    size = len(labels)
    ax.set_xlim(-0.015, 1.015)
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    total = int(table.loc[shown, "n"].sum())
    ax.set_xlabel(f"Share of conversations (n = {total:,})")
    sizes = _sizes(groups)
    headroom = legend_headroom(ax, legend_rows(ax, groups, sizes), size + 0.1) if by is not None else 0.1
    ax.set_ylim(-0.6, size - 0.5 + headroom)
    ax.set_yticks(range(size), labels)
    if total == 0:
        theme.show_empty(
            ax, "No conversations" if not table["n_missing"].any() else "No conversations with insights"
        )
        return theme.notes_of(table)
    if by is None:
        _draw_one(ax, table, color, style)
        # From five digits on, the total is only in the axis label, because the margin is narrow.
        of = f" of {total:,}" if total < 10_000 else ""
        ax.set_yticks(
            range(size), [f"{label}\n{n:,}{of}" for label, n in zip(labels, table["n"], strict=True)]
        )
    else:
        for place, group in enumerate(groups):
            at = np.arange(size) + ((len(groups) - 1) / 2 - place) * 0.72 / len(groups)
            points = {"marker": group.marker} | style
            draw_estimates(ax, at, group.rows, "share", "total", color=group.color, horizontal=True, **points)
        legend(ax, groups, sizes)
    missing = int(table.loc[shown, "n_missing"].sum() / size)
    return theme.notes_of(
        table, omitted, f"{missing:,} without a sentiment are not counted." if missing else None
    )


def _sizes(groups: Sequence[theme.Group]) -> list[int]:
    return [int(group.rows["n"].sum()) for group in groups]


def _draw_one(ax: Axes, table: pd.DataFrame, color: Any, style: dict[str, Any]) -> None:
    for place, label in enumerate(table["sentiment"].astype("str")):
        given = color.get(label) if isinstance(color, dict) else color
        own_color = given or SENTIMENT_COLORS.get(label, SENTIMENT_COLORS["neutral"])
        row = table.iloc[[place]]
        alpha = 0.4 if theme.is_dark(ax) else 0.22
        ax.barh(place, row["share"], height=0.5, color=own_color, alpha=alpha, linewidth=0)
        draw_estimates(ax, [place], row, "share", "total", color=own_color, horizontal=True, **style)
