"""One page about a prompt: headline numbers, trend, sentiment and issues."""

from __future__ import annotations

import contextlib
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift import analysis
from promptlift.analysis.findings import finding
from promptlift.analysis.reading import check_prompts, require, rows_with
from promptlift.analysis.sentiments import is_by_score
from promptlift.errors import NotFound
from promptlift.plots import theme
from promptlift.plots.aggregates import draw_view, write_headlines
from promptlift.plots.completion_trend import draw_trend
from promptlift.plots.drill_down import lead_to_conversations
from promptlift.plots.fonts import MISSING, make_readable
from promptlift.plots.mentions import draw_mentions
from promptlift.plots.sentiment import draw_sentiment
from promptlift.words.figures import percent

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["prompt_overview"]

# From this many conversations on, reading takes long enough to show a preview.
PREVIEW_FROM = 2_000
# Lines of a finding between the heading of a panel and the panel.
_LINES = 2
_SIZES = (9.0, 8.5, 8.0, 7.5, 7.0)


def prompt_overview(
    source: Any,
    prompt_id: str | None = None,
    *,
    freq: str = "auto",
    tz: str | tzinfo = "UTC",
    level: float = 0.95,
    labels: Any = None,
    top: int = 5,
    title: str | None = "auto",
) -> Figure:
    """Draw one page about a prompt: headline numbers, completion trend, sentiment and issues.

    In a notebook, a prompt with many conversations is previewed from the service's aggregates while they are read.

    Parameters
    ----------
    source
        A workspace (``lift``), or a table of conversations with insights.
    prompt_id
        A prompt's name or id. For a table: its id, or None for all rows.
    freq, tz, level
        As for ``completion_trend``; by default days, or weeks when days have too few conversations.
    labels
        Labels of people, as for ``analysis.prompt_overview``: the corrected rate is shown beside the judge's, and the trend has
        both.
    top
        How many issues to show.
    title
        ``"auto"`` writes the finding of each panel above it, None only what it is about, and another text replaces the name
        of the prompt.

    Returns
    -------
    Figure
        Four axes: headline numbers, trend, sentiment, issues.

    Raises
    ------
    NotFound
        When there is no such prompt; the message has near names.
    FrameError, ValueError
        Raised by the analyses; ValueError also when no prompt is named, or a table has no row of it.
    """
    table = not hasattr(source, "conversations")
    if prompt_id is None and not table:
        raise ValueError(
            "Name the prompt, by its name or id: plots.prompt_overview(lift, 'Support assistant')."
        )
    headed = _name(source, prompt_id) if title in (None, "auto") else title
    conversations = _of_prompt(source, prompt_id) if table else _read(source, prompt_id, top)
    headline = analysis.prompt_overview(conversations, labels=labels, level=level)
    if table and prompt_id is not None and not headline.iloc[0]["conversations"]:
        check_prompts(source, [prompt_id])
    trend = analysis.completion_trend(conversations, freq=freq, tz=tz, level=level, labels=labels)
    sentiment = analysis.sentiment_distribution(conversations, level=level)
    found = analysis.issues(conversations, top=top, level=level)
    figure, axes = _page(headed)
    _headline(axes[0], headline, level)
    notes = draw_trend(axes[1], trend)
    # The panel's heading says it, and beside wide counts the label would run into the headline numbers.
    axes[1].set_ylabel("")
    notes += draw_sentiment(axes[2], sentiment)
    notes += draw_mentions(axes[3], found, "issue", outcomes=False)
    for ax, shown in zip(axes[1:], (trend, sentiment, found), strict=True):
        lead_to_conversations(ax, shown, conversations)
        if title == "auto":
            _write_finding(ax, shown)
    theme.mark_rehearsal(axes[0], headline)
    _write_notes(figure, notes)
    return figure


def _read(source: Any, prompt_id: str | None, top: int) -> Any:
    """Read the conversations; a notebook shows the service's aggregates while that takes long."""
    view = None
    if _in_notebook() and hasattr(source, "client"):
        with contextlib.suppress(NotFound):  # a snapshot has no aggregates
            # The service's aggregates of all conversations of the prompt.
            ask = partial(source.client.prompts.insights, days="all")
            view = source._names.call(prompt_id, ask)  # noqa: SLF001 - of the workspace
    if view is None or view.summary.total_conversations < PREVIEW_FROM:
        return source.conversations(prompt_id=prompt_id, insights=True)
    import matplotlib.pyplot as plt  # noqa: PLC0415  (as everywhere, only when a new figure is wanted)
    from IPython.display import display  # noqa: PLC0415  (only notebooks have it loaded)

    figure, axes = _page(_name(source, prompt_id))
    _write_notes(figure, ["Conversations are still loading.", *draw_view(axes, view, top=top)])
    handle = display(figure, display_id=True)  # type: ignore[no-untyped-call]
    plt.close(figure)
    try:
        return source.conversations(prompt_id=prompt_id, insights=True)
    finally:
        handle.update({"text/plain": ""}, raw=True)


def _in_notebook() -> bool:
    """Return whether this code runs in a notebook kernel, where a figure can be shown and removed again."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _of_prompt(table: Any, prompt_id: str | None) -> Any:
    if prompt_id is None:
        return table
    require(table, ["prompt_id"], hint="Leave prompt_id out to draw all rows.")
    return rows_with(table, "prompt_id", [prompt_id])


def _name(source: Any, prompt_id: str | None) -> str:
    name = prompt_id
    if prompt_id is not None and hasattr(source, "prompts"):
        listed = source.prompts()
        name = dict(zip(listed["prompt_id"], listed["name"], strict=True)).get(prompt_id, prompt_id)
    return theme.plain(name or "All conversations", 54)


def _write_finding(ax: Axes, table: pd.DataFrame) -> None:
    """Write the finding of a panel under its heading."""
    ax.set_title(ax.get_title("left"), loc="left", fontsize=11, fontweight="bold", pad=8 + 12 * _LINES)
    said, room = finding(table), 72 * theme.inches_wide(ax)
    # A sentence that is cut could lose its interval: a long one is written smaller.
    wrapped = {size: theme.lines_of(said, room, size) for size in _SIZES}
    size = next((one for one, lines in wrapped.items() if len(lines) <= _LINES), _SIZES[-1])
    text = ax.annotate(
        theme.escaped("\n".join(wrapped[size][:_LINES])), (0, 1), xycoords="axes fraction", xytext=(0, 5),
        textcoords="offset points", va="bottom", fontsize=size, annotation_clip=False,
    )  # fmt: skip
    make_readable([text])


def _page(name: str) -> tuple[Figure, list[Axes]]:
    import matplotlib.pyplot as plt  # noqa: PLC0415  (as everywhere, only when a new figure is wanted)

    figure = plt.figure(figsize=(theme.WIDTH, 7.4))
    theme.hold_width(figure)
    # Fixed margins: a layout engine would take as long as the drawing.
    margins = {"left": 0.105, "right": 0.975, "top": 0.845, "bottom": 0.145}
    grid = figure.add_gridspec(2, 2, **margins, wspace=0.26, hspace=0.7, width_ratios=(1, 1.15))
    axes = [figure.add_subplot(grid[place]) for place in ((0, 0), (0, 1), (1, 0), (1, 1))]
    # The headline numbers have no labels at their left, so they may use that space.
    box = axes[0].get_position()
    axes[0].set_position((0.03, box.y0, box.x1 - 0.03, box.height))
    figure.text(0.03, 0.955, name, fontsize=15, fontweight="bold", va="center")
    axes[0].axis("off")
    for ax, title in zip(axes[1:], ("Task completion", "Sentiment", "Issues"), strict=True):
        ax.set_title(title, loc="left", fontsize=11, fontweight="bold")
    return figure, axes


def _write_notes(figure: Figure, notes: Iterable[str]) -> None:
    texts = [*figure.texts, *[text for ax in figure.axes for text in theme.texts_of(ax)]]
    notes = [*notes, *([MISSING] if make_readable(texts) else [])]
    text = " ".join(dict.fromkeys(notes))
    lines = theme.lines_of(text, 72 * 0.94 * theme.WIDTH, 7.5)
    figure.text(0.03, 0.02, "\n".join(lines), fontsize=7.5, alpha=0.85, va="bottom")


def _headline(ax: Axes, table: pd.DataFrame, level: float) -> None:
    row = table.iloc[0]
    if row["conversations"] == 0:
        theme.show_empty(ax)
        return
    rate = "–" if row["n"] == 0 else f"{row['rate']:.0%}"
    sentiment = "–" if row["sentiment_n"] == 0 else f"{row['sentiment_mean']:+.2f}"
    mean = f"mean {'word list score' if is_by_score(table) else 'sentiment'}, −1 to 1"
    lines = [
        (f"{row['conversations']:,}", "conversations", _period(row)),
        (rate, *_completed(row, level)),
        (sentiment, mean, _interval(row["sentiment_low"], row["sentiment_high"], level, row["sentiment_n"])),
    ]
    write_headlines(ax, lines)


def _completed(row: pd.Series[Any], level: float) -> tuple[str, str]:
    """Return what the completion rate is called and its interval; with labels also the corrected rate."""
    judged = _interval(row["rate_low"], row["rate_high"], level, row["n"], rate=True)
    if "rate_corrected" not in row:
        return "completed their task", judged
    if row["not_corrected"]:
        return "completed, as the judge says", f"{judged}\nnot corrected by labels"
    low, high = row["rate_corrected_low"], row["rate_corrected_high"]
    corrected = f"{row['rate_corrected']:.0%} corrected by {row['n_labels']:,} labels ({' to '.join(percent(low, high))})"
    return "completed, as the judge says", f"{judged}\n{corrected}"


def _interval(low: float, high: float, level: float, n: int, *, rate: bool = False) -> str:
    if n == 0:
        return "no ended conversation is judged yet"
    if bool(np.isnan(low)):
        return f"n = {n:,}: too few for an interval"
    few = " (very few)" if n < theme.FEW else ""
    if rate:
        ends = " to ".join(percent(low, high))
    else:
        digits = next((digits for digits in (2, 3) if f"{low:.{digits}f}" != f"{high:.{digits}f}"), 3)
        ends = f"{low:+.{digits}f} to {high:+.{digits}f}".replace("-", "−")
    return f"{100 * level:g}% interval {ends}\nn = {n:,}{few}"


def _period(row: pd.Series[Any]) -> str:
    first, last = row["first_at"], row["last_at"]
    counts = f"{row['ended']:,} ended, {row['with_insights']:,} with insights"
    return (
        counts if pd.isna(first) else f"{counts}\n{first.day} {first:%b %Y} to {last.day} {last:%b %Y} (UTC)"
    )
