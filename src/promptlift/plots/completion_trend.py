"""Plot of the completion rate over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from promptlift import analysis
from promptlift.analysis.versions import of_one_prompt
from promptlift.plots import theme
from promptlift.plots.drill_down import lead_to_conversations
from promptlift.plots.estimates import corrected_notes
from promptlift.plots.judge_versions import mark_versions, verdict_label, version_notes
from promptlift.plots.periods import draw_periods, has_conversations, lane_height
from promptlift.plots.versions import draw_versions

if TYPE_CHECKING:
    from datetime import tzinfo

    from matplotlib.axes import Axes

    from promptlift.analysis.reading import By

__all__ = ["completion_trend", "draw_trend"]


def completion_trend(
    data: Any,
    *,
    freq: str = "auto",
    by: By = None,
    tz: str | tzinfo = "UTC",
    level: float = 0.95,
    labels: Any = None,
    versions: Any = None,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the completion rate by period, with intervals, and how many conversations each period has.

    Periods with fewer than 5 conversations are hollow; periods without any are gaps in the line. With ``versions``, vertical lines mark
    a new version of the prompt, dashed when a variant was applied; a horizontal line is the rate while a version was live, its band the
    interval.

    Parameters
    ----------
    data
        Conversations, as for ``analysis.completion_trend``, or its result (which then sets ``freq``, ``by``, ``tz``
        and ``level``). Of verdicts of a judge of your own (``lift.judges.verdicts``) a dashed line marks where its version changes.
    freq, by, tz, level
        As for ``analysis.completion_trend``. Only the six largest groups are drawn; more than three have a lane each.
    labels
        Labels of people, as for ``analysis.completion_trend``: what the judge says is hollow then, and what labels make of it filled.
    versions
        The versions of the prompt, as returned by ``lift.versions(prompt_id)``: the conversations are then those of one prompt, and the
        finding is that of ``analysis.prompt_timeline``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color`` (with ``by`` also a list, or a mapping from group to colour), and properties of the points,
        such as ``marker`` or ``markersize``.

    Returns
    -------
    Axes
        x is time in matplotlib days, y the rate as a fraction; the bars below 0 are the counts. More than 60 periods
        have a ribbon instead of whiskers. From four groups on, each has a lane, 1.55 below the one before.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.completion_trend`` and ``analysis.prompt_timeline``; ValueError also for ``versions`` with ``by``.
    """
    texts = None
    if versions is not None:
        if by is not None:
            raise ValueError(
                "versions are those of one prompt. Leave by out, or draw the groups without versions."
            )
        texts = analysis.prompt_timeline(data, versions=versions, level=level)
        data = of_one_prompt(data, versions)
    table = theme.result_of(data, "completion_trend", freq=freq, by=by, tz=tz, level=level, labels=labels)
    attrs = table.attrs["promptlift"]
    count = 1 if attrs["by"] is None else table[attrs["by"]].nunique(dropna=False)
    ax = theme.new_axes(ax, lane_height(count))
    notes = draw_trend(ax, table, **style)
    if texts is not None:
        notes = [*draw_versions(ax, texts), *notes]
    theme.finish(ax, table if texts is None else texts, notes, title=title)
    return lead_to_conversations(ax, table, data)


def draw_trend(ax: Axes, table: pd.DataFrame, *, color: Any = None, **style: Any) -> list[str]:
    """Draw the result of ``analysis.completion_trend`` and return the notes under it."""
    facts = table.attrs["promptlift"]
    groups, omitted, shown = theme.groups_of(ax, table, facts["by"], "n", color)
    draw_periods(ax, table, groups, **style)
    ax.set_ylabel(verdict_label(facts) or "Task completion rate")
    mark_versions(ax, facts)
    if not has_conversations(table):
        theme.show_empty(ax)
        return theme.notes_of(table)
    if not table["n"].any():
        theme.show_empty(ax, "No ended conversation is judged")
    said = corrected_notes(table[shown], "rate")
    said += version_notes(facts)
    return theme.notes_of(table, omitted, *said, _not_counted(table[shown], facts), *_trends(facts))


def _not_counted(table: pd.DataFrame, facts: dict[str, Any]) -> str | None:
    return theme.not_counted(
        {
            "with unknown completion": int(table["n_missing"].sum()),
            "in progress": int(table["n_in_progress"].sum()),
            "without a time": int(facts.get("n_undated", 0)),
        }
    )


def _trends(facts: dict[str, Any]) -> list[str]:
    """Describe the trends found, at most three."""
    found = [trend for trend in facts.get("trends", []) if trend["is_trend"]]
    notes = []
    for trend in found[:3]:
        group = f"{theme.plain(trend['group'], 28)}: " if facts["by"] is not None else ""
        way = "rising" if trend["points_per_day"] > 0 else "falling"
        low, high = sorted(abs(trend[end]) for end in ("points_low", "points_high"))
        jump = ""
        if "jump_at" in trend:
            at = pd.Timestamp(trend["jump_at"])
            jump = (
                f", also consistent with a jump on {at:%d %b %Y} ({trend['rate_before']:.0%} before, "
                f"{trend['rate_after']:.0%} after)"
            )
        notes.append(
            f"{group}{way} by {abs(trend['points_per_day']):.2g} points a day (95% interval {low:.2g} to "
            f"{high:.2g}, {trend['n_days']} days, n = {trend['n']:,}){jump}."
        )
    if len(found) > 3:
        notes.append(f"{len(found) - 3} more groups rise or fall.")
    return [note[0].upper() + note[1:] if facts["by"] is None else note for note in notes]
