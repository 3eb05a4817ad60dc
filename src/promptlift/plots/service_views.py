"""Plots of the service's own views: grouped issues, failing steps, the fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.plots import theme

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

__all__ = ["fleet", "step_failures", "top_issues"]


def top_issues(
    table: Any, *, top: int | None = 10, title: str | None = None, ax: Axes | None = None, **style: Any
) -> Axes:
    """Draw how much lower task completion is with each issue than without, with intervals.

    Parameters
    ----------
    table
        The table of ``lift.top_issues(prompt_id)``, or the result of ``analysis.top_issues``.
    top
        As for ``analysis.top_issues``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is the difference in percentage points; the issue that costs most is on top.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.top_issues``.
    """
    result = theme.result_of(table, "top_issues", top=top)
    ax = _axes(ax, result)
    ax.axvline(0.0, color=theme.foreground(), linewidth=1.0, alpha=0.6)
    drawn = _draw(
        ax, result, "impact_points", "Task completion with the issue less without, points", style, _issue
    )
    note = "An observation, not a cause: hard conversations have more issues." if drawn else None
    return theme.finish(ax, result, theme.notes_of(result, note), title=title)


def step_failures(
    table: Any, *, top: int | None = 10, title: str | None = None, ax: Axes | None = None, **style: Any
) -> Axes:
    """Draw how often conversations that reach a step first go wrong in it, with intervals.

    Parameters
    ----------
    table
        The table of ``lift.step_failures(prompt_id)``, or the result of ``analysis.step_failures``.
    top
        As for ``analysis.step_failures``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is percent of the conversations that reached the step; the step with most failures is on top.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.step_failures``.
    """
    result = theme.result_of(table, "step_failures", top=top)
    ax = _axes(ax, result)
    _draw(
        ax,
        result,
        "failure_pct",
        "Failed here first, % of the conversations that came to the step",
        style,
        _step,
    )
    return theme.finish(ax, result, theme.notes_of(result), title=title)


def fleet(
    table: Any, *, top: int | None = 20, title: str | None = None, ax: Axes | None = None, **style: Any
) -> Axes:
    """Draw the task completion of all prompts in the order of their ranks, with intervals.

    Parameters
    ----------
    table
        The table of ``lift.fleet()``, or the result of ``analysis.fleet``.
    top
        As for ``analysis.fleet``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is percent of completed tasks; the best prompt is on top. At the right is the rank, with the places that the
        data allow.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.fleet``.
    """
    result = theme.result_of(table, "fleet", top=top)
    ax = _axes(ax, result)
    _draw(ax, result, "completion_pct", "Completed tasks, % of judged conversations", style, _agent)
    return theme.finish(ax, result, theme.notes_of(result), title=title)


def _axes(ax: Axes | None, result: pd.DataFrame) -> Axes:
    return theme.new_axes(ax, 1.3 + 0.5 * max(2, len(result)))


def _draw(
    ax: Axes,
    table: pd.DataFrame,
    estimate: str,
    label: str,
    style: dict[str, Any],
    words: Callable[[dict[str, Any]], tuple[str, str]],
) -> bool:
    """Draw one row an estimate; return whether there was one."""
    theme.frame_rows(ax, label)
    if table.empty:
        theme.show_empty(ax, "Nothing to show", ticks=False)
        return False
    rows = np.arange(len(table), dtype=np.float64)[::-1]
    ax.set_ylim(-0.45, len(table) - 0.2)
    points = {"color": theme.palette(ax)[0]} | style
    theme.draw_estimates(ax, rows, table, estimate, "n", horizontal=True, **points)
    said = [words({str(name): value for name, value in row.items()}) for row in table.to_dict("records")]
    numbers = [theme.plain(right, 60) for _, right in said]
    names = theme.fit_names(ax, [left for left, _ in said], numbers, most=60)
    for y, name, text in zip(rows, names, numbers, strict=True):
        theme.name_row(ax, y, name, text, above=8)
    return bool(table[estimate].notna().any())


def _issue(row: dict[str, Any]) -> tuple[str, str]:
    right = [f"{row['n']:,} conversation{'' if row['n'] == 1 else 's'}"]
    if pd.notna(row["impact"]):
        right.append(f"{row['impact']} impact")
    return row["issue"], " · ".join(right)


def _step(row: dict[str, Any]) -> tuple[str, str]:
    right = f"{row['failed']:,} of {row['n']:,}"
    if isinstance(row["main_kind"], str):
        right += f" · mostly {row['main_kind'].replace('_', ' ')}"
    return row["step"].replace("tool:", "tool "), right


def _agent(row: dict[str, Any]) -> tuple[str, str]:
    places = f"rank {row['rank']}"
    if row["rank_low"] != row["rank_high"]:
        places += f", {row['rank_low']} to {row['rank_high']} possible"
    return row["name"] if isinstance(row["name"], str) else row["prompt_id"], f"{row['n']:,} · {places}"
