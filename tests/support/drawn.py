"""What a plot shows, read from its artists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.text import Text

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
