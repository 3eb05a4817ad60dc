"""A prompt's versions on its completion trend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.plots import theme
from promptlift.plots.periods import day_numbers
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_versions"]

_WORDS = {
    "created": "created",
    "updated": "edited",
    "applied": "variant applied",
    "auto_deployed": "variant deployed automatically",
    "rolled_back": "rolled back",
    "restored": "restored",
}
_ROWS = 3
_MAX = 24
_NAMED = 7


def draw_versions(ax: Axes, texts: pd.DataFrame) -> list[str]:
    """Draw the result of ``analysis.prompt_timeline`` on axes with the trend, and return the notes under it."""
    low, high = ax.get_xlim()
    if texts.empty:
        return ["No versions of the prompt are known."]
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
    tone = theme.foreground()
    for place, (row, start, end) in enumerate(
        zip(shown.to_dict("records"), starts[visible], ends[visible], strict=True)
    ):
        left, right = max(start, low), min(end, high)
        applied = row["origin"] in ("applied", "auto_deployed")
        if start > low:
            dashes = "--" if applied else "-"
            ax.plot([start] * 2, [0, 1.02], color=tone, linewidth=1.2, linestyle=dashes, alpha=0.7)
        if row["n"]:
            few, span = row["n"] < theme.FEW, [left, right]
            weak = 0.05 if few else 0.12
            ax.fill_between(span, row["rate_low"], row["rate_high"], color=tone, alpha=weak, linewidth=0)
            ax.plot(span, [row["rate"]] * 2, color=tone, linewidth=1.4, alpha=0.35 if few else 0.8)
        ax.text(
            left, 1.04 + 0.09 * (_ROWS - 1 - place % _ROWS), _name(row, short=len(shown) > _NAMED),
            fontsize=7.5, va="bottom", ha="right" if left > low + 0.8 * (high - low) else "left", clip_on=False,
        )  # fmt: skip
    omitted = len(texts) - len(shown)
    lines = "Horizontal lines: rate while a version was live. Dashed: a variant was applied."
    notes = [lines, "Comparing versions is observational: the users may have changed too."]
    if omitted:
        notes.append(f"{counted(omitted, 'version')} not shown: outside this period, or too many to show.")
    return notes


def _name(row: dict[Any, Any], *, short: bool) -> str:
    if short and pd.notna(row["number"]):
        return str(row["number"])
    number = f"{row['number']}: " if pd.notna(row["number"]) else ""
    origin = row["origin"]
    what = _WORDS.get(origin, theme.plain(origin, 20)) if pd.notna(origin) else "changed"
    current = ", current" if row["is_live"] is True else ""
    return f"{number}{what}{current} (n = {row['n']:,})"
