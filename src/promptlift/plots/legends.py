"""Legends of groups above the data, and the room that they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.lines import Line2D

from promptlift.plots import theme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["legend", "legend_headroom", "legend_rows", "make_room"]

_MARKER = 26  # points, with the space around it
_ROW = 0.21  # inches


def legend(ax: Axes, groups: Sequence[theme.Group], counts: Sequence[int], unit: str = "n") -> None:
    """Add a legend with the groups and their sizes above the data, in two columns where they fit side by side."""
    handles = [
        Line2D([], [], marker=group.marker, linestyle="none", color=group.color, label="group")
        for group in groups
    ]
    labels = _legend_labels(groups, counts, unit)
    box = ax.legend(
        handles=handles, loc="upper left", ncols=_legend_columns(ax, labels), frameon=False, fontsize="small",
        borderaxespad=0.1, handletextpad=0.1, columnspacing=1.0,
    )  # fmt: skip
    for text, label in zip(box.get_texts(), labels, strict=True):
        # Set afterwards: matplotlib omits labels that start with an underscore.
        text.set_text(label)


def legend_rows(ax: Axes, groups: Sequence[theme.Group], counts: Sequence[int], unit: str = "n") -> int:
    """Return how many rows the legend of the groups takes."""
    return -(-len(groups) // _legend_columns(ax, _legend_labels(groups, counts, unit)))


def make_room(ax: Axes, rows: int) -> None:
    """Make the figure taller, so that a legend of so many rows leaves the data as much height as one of two."""
    figure = ax.get_figure(root=True)
    if figure is not None:
        figure.set_figheight(figure.get_figheight() + _ROW * max(0, rows - 2))


def legend_headroom(ax: Axes, rows: int, below: float) -> float:
    """Return how much of y a legend of so many rows takes above ``below`` of y for the data."""
    figure = ax.get_figure(root=True)
    height = 3.0 if figure is None else float(ax.get_position().height * figure.get_figheight())
    share = min(_ROW * (rows + 0.4) / height, 0.6)
    return below * share / (1.0 - share)


def _legend_labels(groups: Sequence[theme.Group], counts: Sequence[int], unit: str) -> list[str]:
    return [f"{group.name} ({unit} = {count:,})" for group, count in zip(groups, counts, strict=True)]


def _legend_columns(ax: Axes, labels: Sequence[str]) -> int:
    widest = max((theme.points_wide(label, "small") for label in labels), default=0.0)
    return 2 if 2 * (widest + _MARKER) <= 72 * theme.inches_wide(ax) else 1
