"""The overview page from the service's aggregates alone: as reported, hollow, without intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import PercentFormatter

from promptlift.plots import theme
from promptlift.plots.palette import SENTIMENT_COLORS
from promptlift.schema.basis import basis_of_analyser, may_tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from promptlift.schema.insights import PromptInsightsView, TopIssue

_NOTE = "As reported by the service, without sample sizes, so there are no intervals."


def write_headlines(ax: Axes, lines: Sequence[tuple[str, str, str]]) -> None:
    """Write each headline number in large type, with its meaning and interval next to it."""
    room = 0.56 * 72 * theme.inches_wide(ax)
    for place, (number, meaning, interval) in enumerate(lines):
        y = 0.88 - 0.36 * place
        where: dict[str, Any] = {"transform": ax.transAxes, "va": "center"}
        size = 20 if len(number) < 7 else 15
        ax.text(0.36, y, number.replace("-", "−"), ha="right", fontsize=size, fontweight="bold", **where)
        ax.text(0.4, y + 0.06, meaning, fontsize=10, **where)
        wrapped = [part for row in interval.split("\n") for part in theme.lines_of(row, room, 7.5)]
        ax.text(0.4, y - 0.01, "\n".join(wrapped), fontsize=7.5, alpha=0.85, **where | {"va": "top"})


def draw_view(axes: Sequence[Axes], view: PromptInsightsView, *, top: int) -> list[str]:
    """Draw the insights view of a prompt on the four axes of the overview, and return its notes.

    Parameters
    ----------
    axes
        Axes for headline numbers, trend, sentiment and issues.
    view
        The view.
    top
        How many issues to show.
    """
    days, completion, sentiment = view.period.days, view.metrics.task_completion, view.metrics.sentiment
    rate, score = completion.rate, sentiment.average
    if rate is not None and rate <= 1.5:  # unspecified: percent or fraction; anything above 1.5 is percent
        rate *= 100
    total = f"{view.summary.total_conversations:,}"
    write_headlines(
        axes[0],
        [
            (total, "conversations", f"last {days} days" if isinstance(days, int) else ""),
            ("–" if rate is None else f"{rate:.0f}%", "completed their task", "as reported"),
            ("–" if score is None else f"{score:+.2f}", "mean sentiment, −1 to 1", "as reported"),
        ],
    )
    axes[1].axis("off")
    trend = f"Trend as reported: {theme.plain(completion.trend)}" if completion.trend else "No trend reported"
    if "trend_points" in completion.model_fields_set and completion.trend_points is None:
        trend = "No earlier period to compare with"
    theme.show_empty(axes[1], trend)
    counts = [sentiment.distribution.get(label, 0) for label in SENTIMENT_COLORS]
    _draw_sentiment(axes[2], np.array(counts, np.float64), told=may_tell(basis_of_analyser(view.analyser)))
    _draw_issues(axes[3], view.top_issues[:top])
    return [_NOTE]


def _draw_sentiment(ax: Axes, counts: Any, *, told: bool) -> None:
    theme.frame_axes(ax, "x")
    ax.set_xlim(0, 1)
    ax.set_ylim(-0.6, 2.6)
    ax.set_yticks(range(3), list(SENTIMENT_COLORS))
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlabel("Share of conversations, as reported")
    if not told:
        theme.show_empty(ax, "A word list judged: its scores are\nshown where conversations are read")
    elif counts.sum() <= 0:
        theme.show_empty(ax, "Not reported")
    else:
        for place, (share, color) in enumerate(
            zip(counts / counts.sum(), SENTIMENT_COLORS.values(), strict=True)
        ):
            _draw_hollow(ax, share, place, color)


def _draw_issues(ax: Axes, issues: Sequence[TopIssue]) -> None:
    theme.frame_rows(ax, "Frequency, as reported")
    if not issues:
        theme.show_empty(ax, "No issues", ticks=False)
        return
    ax.set_ylim(-0.35, len(issues) - 0.2)
    ax.set_xlim(0, 1.08 * max(issue.frequency for issue in issues) or 1.08)
    where: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "bottom"}
    for y, issue in enumerate(reversed(issues)):
        ax.text(0, y + 0.3, theme.plain(issue.issue, 50), fontsize="small", **where)
        impact = f" · {theme.plain(issue.impact, 12)}" if issue.impact else ""
        ax.text(1, y + 0.3, f"{issue.frequency:g}{impact}", ha="right", fontsize=7.5, **where)
        _draw_hollow(ax, issue.frequency, y, theme.palette(ax)[0])


def _draw_hollow(ax: Axes, x: float, y: float, color: Any) -> None:
    ax.plot(x, y, "o", color=color, markerfacecolor=ax.get_facecolor(), markersize=7)
