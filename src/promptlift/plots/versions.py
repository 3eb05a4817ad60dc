"""Picture of a prompt's history: its texts and applies marked on the completion trend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift import analysis
from promptlift.analysis.versions import of_one_prompt
from promptlift.plots import style as look
from promptlift.plots.timeline import day_numbers
from promptlift.plots.trend import draw_trend

if TYPE_CHECKING:
    from datetime import tzinfo

    from matplotlib.axes import Axes

__all__ = ["draw_versions", "prompt_timeline"]

_WORDS = {
    "created": "created",
    "updated": "edited",
    "applied": "variant applied",
    "auto_deployed": "variant applied by itself",
    "rolled_back": "rolled back",
    "restored": "restored",
}
_ROWS = 3
_MAX = 24
_NAMED = 7


def prompt_timeline(
    conversations: Any,
    *,
    versions: Any,
    freq: str = "auto",
    tz: str | tzinfo = "UTC",
    level: float = 0.95,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the completion rate by period with the prompt's texts, and the rate under each of them.

    A vertical line stands where the text changed, dashed where a variant was applied. The horizontal line is the
    rate while a text was live, its band the interval.

    Parameters
    ----------
    conversations
        Conversations of one prompt, as for ``analysis.prompt_timeline``.
    versions
        Its texts, as ``lift.versions(prompt_id)`` gives them.
    freq, tz
        As for ``analysis.completion_trend``; by default days, or weeks when days are too thin.
    level
        Coverage of each interval.
    ax
        Axes to draw on; a new figure without.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is time in days of matplotlib, y the rate as a fraction; the names of the texts stand over it.

    Raises
    ------
    FrameError, ValueError
        As ``analysis.prompt_timeline`` and ``analysis.completion_trend`` raise them.
    """
    texts = analysis.prompt_timeline(conversations, versions=versions, level=level)
    trend = analysis.completion_trend(of_one_prompt(conversations, versions), freq=freq, tz=tz, level=level)
    ax = look.new_axes(ax, 9.0, 4.4)
    notes = draw_trend(ax, trend, **style)
    return look.finish(ax, texts, [*draw_versions(ax, texts), *notes])


def draw_versions(ax: Axes, texts: pd.DataFrame) -> list[str]:
    """Draw the answer of ``analysis.prompt_timeline`` on axes with the trend, and give the notes for under it."""
    low, high = ax.get_xlim()
    shown = texts
    if texts.empty:
        return ["No texts of the prompt are known."]
    if not ax.lines:
        return []
    starts = day_numbers(texts["live_from"])
    if texts.attrs["promptlift"]["first_reaches_back"]:
        starts[0] = -np.inf
    ends = np.append(starts[1:], np.inf)
    visible = (ends > low) & (starts < high)
    if visible.sum() > _MAX:
        keep = np.flatnonzero(visible)[-_MAX:]
        visible = np.isin(np.arange(len(texts)), keep)
    shown = texts[visible]
    ax.set_ylim(ax.get_ylim()[0], 1.06 + 0.09 * _ROWS)
    tone = look.foreground()
    for place, (row, start, end) in enumerate(
        zip(shown.to_dict("records"), starts[visible], ends[visible], strict=True)
    ):
        left, right = max(start, low), min(end, high)
        applied = row["origin"] in ("applied", "auto_deployed")
        if start > low:
            ax.plot(
                [start, start],
                [0, 1.02],
                color=tone,
                linewidth=1.2,
                linestyle="--" if applied else "-",
                alpha=0.7,
            )
        if row["n"]:
            few = row["n"] < look.FEW
            ax.fill_between(
                [left, right],
                row["rate_low"],
                row["rate_high"],
                color=tone,
                alpha=0.05 if few else 0.12,
                linewidth=0,
            )
            ax.plot([left, right], [row["rate"]] * 2, color=tone, linewidth=1.4, alpha=0.35 if few else 0.8)
        ax.text(
            left, 1.04 + 0.09 * (_ROWS - 1 - place % _ROWS), _name(row, short=len(shown) > _NAMED),
            fontsize=7.5, va="bottom", ha="right" if left > low + 0.8 * (high - low) else "left", clip_on=False,
        )  # fmt: skip
    left_out = len(texts) - len(shown)
    lines = "Horizontal lines: rate while a text was live; dashed: a variant was applied."
    notes = [lines, "Comparing texts is observational: who wrote in may have changed too."]
    if left_out:
        notes.append(
            f"{left_out} text{'s' * (left_out > 1)} not shown: live outside of the picture, or too many for it."
        )
    return notes


def _name(row: dict[Any, Any], *, short: bool) -> str:
    if short and pd.notna(row["number"]):
        return str(row["number"])
    number = f"{row['number']}: " if pd.notna(row["number"]) else ""
    origin = row["origin"]
    what = _WORDS.get(origin, look.plain(origin, 20)) if pd.notna(origin) else "changed"
    live = ", live" if row["is_live"] is True else ""
    return f"{number}{what}{live} (n = {row['n']:,})"
