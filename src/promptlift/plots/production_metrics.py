"""Plot of the production metrics of a deployed variant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.service_views import metric_name, metric_text
from promptlift.plots import theme

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

__all__ = ["production_metrics"]

# The ends of the scale; those of the others follow from their values.
_ENDS: Final = {
    "task_completion": (0.0, 100.0),
    "sentiment": (-1.0, 1.0),
    "quality": (0.0, 100.0),
    "abandonment": (0.0, 100.0),
}


def production_metrics(table: Any, *, title: str | None = None, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the production metrics before and after a text went live, each on its own scale, with their tests.

    Parameters
    ----------
    table
        The table of ``lift.optimizations[optimization_id].production_metrics()``, or the result of ``analysis.production_metrics``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        A bar is before, a point after, with an arrow between them. Each row has its own scale, from the least to
        the greatest possible value; response time and length begin at 0. Harm is a word, never a colour alone.

    Raises
    ------
    FrameError
        Raised by ``analysis.production_metrics``.
    """
    result = theme.result_of(table, "production_metrics")
    ax = theme.new_axes(ax, 1.4 + 0.55 * max(2, len(result)))
    theme.frame_rows(ax, "Least to greatest value of each metric; a bar before, a point after")
    if result.empty:
        theme.show_empty(ax, "No look yet: the first is at 30 judged conversations", ticks=False)
        return theme.finish(ax, result, theme.notes_of(result), title=title)
    ax.set_xticks(np.linspace(0.0, 1.0, 5), labels=[""] * 5)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.45, len(result) - 0.15)
    color = style.pop("color", None) or theme.palette(ax)[0]
    for row, y in zip(result.to_dict("records"), np.arange(len(result))[::-1], strict=True):
        _draw_row(ax, float(y), row, _ENDS.get(str(row["metric"])), color, style)
        name = theme.plain(metric_name(row["metric"]), 40)
        theme.name_row(ax, float(y), f"{name}: {_verdict(row)}", _numbers(row))
    notes = (
        "p: one-sided, of “it became worse”, adjusted over the metrics and windows; harm where it is below its level, which "
        "every look lowers."
    )
    return theme.finish(ax, result, theme.notes_of(result, notes), title=title)


def _draw_row(
    ax: Axes,
    y: float,
    row: Mapping[Any, Any],
    ends: tuple[float, float] | None,
    color: Any,
    style: Mapping[str, Any],
) -> None:
    known = {side: float(row[side]) for side in ("before", "after") if pd.notna(row[side])}
    if not known:
        return
    low, high = ends or (0.0, 1.25 * max(known.values()) or 1.0)
    at = {side: (value - low) / (high - low) for side, value in known.items()}
    if len(at) == 2:
        ax.annotate(
            "", (at["after"], y), (at["before"], y),
            arrowprops={"arrowstyle": "->", "color": color, "alpha": 0.75, "shrinkA": 3, "shrinkB": 3},
        )  # fmt: skip
    points: dict[str, Any] = (
        {"marker": "o", "markersize": 5.5, "zorder": 3} | dict(style) | {"linestyle": "none"}
    )
    # Not a hollow point: those are estimates from few conversations.
    bar: dict[str, Any] = {"marker": "|", "markersize": 11, "markeredgewidth": 1.6, "linestyle": "none"}
    for side, x in at.items():
        ax.plot([x], [y], color=color, **(bar if side == "before" else points))


def _verdict(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["before"]) or pd.isna(row["after"]):
        return "nothing to compare"
    return "regressed" if row["regressed"] else "no harm seen"


def _numbers(row: Mapping[Any, Any]) -> str:
    """Return the numbers at the right of a row: both values, conversations, and the test."""
    if pd.isna(row["before"]) or pd.isna(row["after"]):
        return ""
    before, after = (metric_text(row["metric"], row[side]) for side in ("before", "after"))
    parts = [f"{before} → {after}", f"{int(row['n_before']):,} and {int(row['n_after']):,} conversations"]
    if pd.notna(row["p"]) and pd.notna(row["level"]):
        sign = "<" if row["p"] < row["level"] else "≥"
        parts.append(f"p = {row['p']:.2g} {sign} {row['level']:.2g}")
    return " · ".join(parts)
