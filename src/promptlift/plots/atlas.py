"""Plot of topics: how large each is and how it ends, those with the most failures on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from promptlift import analysis
from promptlift.analysis.atlas import Atlas
from promptlift.analysis.mentions import check_top
from promptlift.plots import theme
from promptlift.plots.drill_down import lead_to_conversations
from promptlift.plots.estimates import draw_estimates
from promptlift.schema.basis import UNTOLD, may_tell
from promptlift.words.figures import known, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

__all__ = ["atlas"]

_BAR = 0.14
_BAR_BELOW = 0.2


def atlas(
    data: Any,
    *,
    outcome: str = "task_completed",
    seed: int = 0,
    level: float = 0.95,
    top: int | None = 12,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the topics of conversations: the share of each as a bar, and how many of it completed their task as a point.

    On top is the topic with the most failures, its share times its rate of failure: there is the most to gain. Where the
    conversations have no outcome, or a word list judged, only shares are drawn, the largest on top.

    Parameters
    ----------
    data
        The result of ``lift.atlas`` or ``analysis.atlas``, or conversations with their content.
    outcome, seed, level
        As for ``analysis.atlas``; a result sets them.
    top
        How many topics to draw; None draws all.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is a fraction: of all conversations for the bars, of the topic for the points.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.atlas``, or when ``top`` cannot be used.
    """
    check_top(top)
    found = data if isinstance(data, Atlas) else analysis.atlas(data, outcome=outcome, seed=seed, level=level)
    table = found.by_gain().assign(total=len(found.assignments))
    shown = table.head(len(table) if top is None else top)
    facts = table.attrs["promptlift"]
    ax = theme.new_axes(ax, 1.4 + 0.55 * max(2, len(shown)))
    rated = "rate" in shown
    label = "Share of all conversations" + (" (bar); of the topic, completed (point)" if rated else "")
    theme.frame_rows(ax, label + theme.at_level(facts["level"]))
    notes = []
    if shown.empty:
        theme.show_empty(ax, "No topics were found" if facts["n"] else "No conversations", ticks=False)
    else:
        color = style.pop("color", None) or theme.palette(ax)[0]
        rows = np.arange(len(shown), dtype=np.float64)[::-1]
        most = 1.0 if rated else min(1.0, 1.08 * float(shown["share_high"].max()))
        ax.set_xlim(-0.015 * most, 1.015 * most)
        ax.set_ylim(-0.45, len(shown) - 0.15)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}%"))
        if rated:
            bars = rows - _BAR_BELOW
            ax.barh(bars, shown["share"], height=_BAR, color=color, alpha=0.3, linewidth=0)
            ax.hlines(bars, shown["share_low"], shown["share_high"], color=color, alpha=0.6, linewidth=1.0)
        estimate, n = ("rate", "n_known") if rated else ("share", "n")
        draw_estimates(ax, rows, shown, estimate, n, color=color, horizontal=True, **style)
        numbers = [_numbers(row, facts["n"]) for row in shown.to_dict("records")]
        theme.write_rows(ax, rows, list(shown["name"]), [""] * len(shown), numbers, boxed=False)
        notes = _notes(found, len(shown), rated=rated)
    theme.finish(ax, table, theme.notes_of(table, *notes), title=title)
    return lead_to_conversations(ax, table, found.conversations)


def _numbers(row: Mapping[Any, Any], total: int) -> str:
    of_all = f"{percent(row['share'])[0]} of {total:,}"
    if "rate" not in row:
        return of_all
    (rate,) = percent(row["rate"]) if known(row["rate"]) else ("not known",)
    return f"completed: {rate} of {row['n_known']:,} · {of_all}"


def _notes(found: Atlas, shown: int, *, rated: bool) -> list[str]:
    count, facts = len(found.table), found.table.attrs["promptlift"]
    rest = int(found.assignments["cluster"].isna().sum())
    order = "the largest" if not rated else "those with the most failures"
    notes = [
        f"{shown:,} of {count:,} topics, {order} on top."
        if shown < count
        else f"{order.capitalize()} are on top."
    ]
    if rest:
        notes.append(f"{rest:,} of {facts['n']:,} conversations belong to no topic.")
    if rated:
        notes.append("What a topic has in common need not be why it fails.")
    elif not may_tell(facts.get("basis")):
        notes.append(f"What fails {UNTOLD}.")
    return notes
