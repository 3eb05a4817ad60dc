"""What a plot shows, read from its artists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.collections import LineCollection
from matplotlib.text import Text

from promptlift.plots.palette import MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def words(drawn: Axes | Figure) -> list[str]:
    """Every visible text of the figure, each on one line."""
    figure = drawn.figure
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            axis.get_ticklabels(which="both")  # which sets the texts of the ticks as drawing does
    return [
        text.get_text().replace("\n", " ")
        for text in figure.findobj(Text)
        if text.get_text() and text.get_visible()
    ]


def said(drawn: Axes | Figure) -> str:
    """All of them in one text, also those of titles and marks of panels."""
    return " | ".join(words(drawn))


def points(ax: Axes, *markers: str) -> list[tuple[float, float]]:
    """Where the points with these markers are, by default those of groups."""
    return [
        (float(x), float(y))
        for line in ax.lines
        if line.get_marker() in (markers or MARKERS)
        for x, y in zip(*line.get_data(), strict=True)
    ]


def whiskers(ax: Axes, axis: int = 0) -> list[list[float]]:
    """The ends of the intervals along x, or with 1 along y."""
    lines = [collection for collection in ax.collections if isinstance(collection, LineCollection)]
    return [segment[:, axis].tolist() for one in lines for segment in one.get_segments() if len(segment)]
