"""The overview page from the service's aggregates alone: as reported, hollow, without intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import PercentFormatter

from promptlift.plots import theme
from promptlift.schema.basis import basis_of_analyser, may_tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["draw_view", "write_headlines"]

_NOTE = "As reported by the service, without sample sizes, so there are no intervals."


def write_headlines(ax: Axes, lines: Sequence[tuple[str, str, str]]) -> None:
    """Write each headline number in large type, with its meaning and interval next to it."""
    for place, (number, meaning, interval) in enumerate(lines):
        y = 0.88 - 0.36 * place
        ax.text(
            0.36,
            y,
            number.replace("-", "−"),
            transform=ax.transAxes,
            ha="right",
            va="center",
            fontsize=20 if len(number) < 7 else 15,
            fontweight="bold",
        )
        ax.text(0.4, y + 0.06, meaning, transform=ax.transAxes, va="center", fontsize=10)
        room = 0.56 * 72 * theme.inches_wide(ax)
        wrapped = [part for row in interval.split("\n") for part in theme.lines_of(row, room, 7.5)]
        ax.text(0.4, y - 0.01, "\n".join(wrapped), transform=ax.transAxes, va="top", fontsize=7.5, alpha=0.85)


def draw_view(axes: Sequence[Axes], view: Any, *, top: int) -> list[str]:
    """Draw the insights view of a prompt on the four axes of the overview, and return its notes.

    Parameters
    ----------
    axes
        Axes for headline numbers, trend, sentiment and issues.
    view
        The view as a model or as decoded JSON.
    top
        How many issues to show.
    """
    data = view.model_dump(by_alias=True, exclude_unset=True) if hasattr(view, "model_dump") else view
    rate, sentiment = (
        _number(data, "metrics", "taskCompletion", "rate"),
        _number(data, "metrics", "sentiment", "average"),
    )
    total = _number(data, "summary", "totalConversations")
    # unspecified: percent or fraction. Anything above 1.5 is percent.
    percent = None if rate is None else rate if rate > 1.5 else 100 * rate
    days = _number(data, "period", "days")
    write_headlines(
        axes[0],
        [
            (
                "–" if total is None else f"{total:,.0f}",
                "conversations",
                f"last {days:.0f} days" if days else "",
            ),
            ("–" if percent is None else f"{percent:.0f}%", "completed their task", "as reported"),
            ("–" if sentiment is None else f"{sentiment:+.2f}", "mean sentiment, −1 to 1", "as reported"),
        ],
    )
    trend = _at(data, "metrics", "taskCompletion", "trend")
    axes[1].axis("off")
    completion = _at(data, "metrics", "taskCompletion") or {}
    if "trendPoints" in completion and completion["trendPoints"] is None:
        said = "No earlier period to compare with"
    else:
        said = f"Trend as reported: {theme.plain(trend)}" if trend else "No trend reported"
    theme.show_empty(axes[1], said)
    _draw_sentiment(axes[2], data)
    _draw_issues(axes[3], _at(data, "topIssues") or [], top)
    return [_NOTE]


def _draw_sentiment(ax: Axes, data: Any) -> None:
    labels = list(theme.SENTIMENT_COLORS)
    values = np.array(
        [_number(data, "metrics", "sentiment", "distribution", label) or 0.0 for label in labels]
    )
    theme.frame_axes(ax, "x")
    ax.set_xlim(0, 1)
    ax.set_ylim(-0.6, 2.6)
    ax.set_yticks(range(3), labels)
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlabel("Share of conversations, as reported")
    if not may_tell(basis_of_analyser(_at(data, "analyser"))):
        theme.show_empty(ax, "A word list judged: its scores are\nshown where conversations are read")
        return
    if values.sum() <= 0:
        theme.show_empty(ax, "Not reported")
        return
    for place, (label, value) in enumerate(zip(labels, values / values.sum(), strict=True)):
        _draw_hollow(ax, value, place, theme.SENTIMENT_COLORS[label])


def _draw_issues(ax: Axes, issues: Sequence[Any], top: int) -> None:
    theme.frame_rows(ax, "Frequency, as reported")
    found = [
        (_at(issue, "issue"), _number(issue, "frequency"), _at(issue, "impact")) for issue in issues[:top]
    ]
    if not found:
        theme.show_empty(ax, "No issues", ticks=False)
        return
    ax.set_ylim(-0.35, len(found) - 0.2)
    ax.set_xlim(0, 1.08 * max([frequency for _, frequency, _ in found if frequency] or [1.0]))
    for place, (title, frequency, impact) in enumerate(found):
        y = len(found) - 1 - place
        ax.text(
            0,
            y + 0.3,
            theme.plain(title, 50),
            transform=ax.get_yaxis_transform(),
            va="bottom",
            fontsize="small",
        )
        numbers = " · ".join(
            [
                f"{frequency:g}" if frequency is not None else "–",
                *([theme.plain(impact, 12)] if impact else []),
            ]
        )
        ax.text(
            1, y + 0.3, numbers, transform=ax.get_yaxis_transform(), ha="right", va="bottom", fontsize=7.5
        )
        if frequency is not None:
            _draw_hollow(ax, frequency, y, theme.palette(ax)[0])


def _draw_hollow(ax: Axes, x: float, y: float, color: Any) -> None:
    ax.plot(x, y, "o", color=color, markerfacecolor=ax.get_facecolor(), markersize=7)


def _at(data: Any, *path: str) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _number(data: Any, *path: str) -> float | None:
    value = _at(data, *path)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
