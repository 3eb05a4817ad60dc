"""Figures as SVG for embedding in a page: text as text, unique ids, the same bytes every time."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from promptlift import plots
from promptlift.plots.periods import lane_height
from promptlift.plots.theme import MAX_GROUPS, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes

    from promptlift.report.document import Width

__all__ = ["INK", "paint"]

INK: Final = "#1c2430"
"""Colour of texts and lines: that of the page on a light screen."""

# Inches: on a wide screen and on paper, and on a phone, where a wide figure would be too small to read.
_WIDTH: Final = {"wide": 9.2, "narrow": 4.4}
_RIGHT: Final = 0.2
# A line of the title, and of the notes below the axis label.
_TITLE_LINE: Final = 0.21
_NOTE_LINE: Final = 0.14
# Space below the axes: tick labels and the axis label; dates may take two lines.
_FOOT: Final = 0.56
_DATES: Final = 0.2
_NO_METADATA: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}
_HEAD: Final = re.compile(r"\A.*?(?=<svg)", re.DOTALL)
_METADATA: Final = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_STYLE: Final = re.compile(r"\s*<style type=\"text/css\">[^<]*</style>")
_GROUP_ID: Final = re.compile(r"<g id=\"[^\"]*\"")
_SIZE: Final = re.compile(r"<svg ([^>]*?)width=\"[^\"]*\" height=\"[^\"]*\"|<svg ")


def paint(name: str, table: Any, width: Width, title: str = "auto") -> str:
    """Draw the trend, the sentiment or the issues (the results of their analyses), the lift of ``lift.variants``, or an experiment.

    The sizes are in inches: the height of the axes, the space at their left, and what is needed below them beside a line of
    tick labels and the axis label.
    """
    if name == "trend":
        # The narrow one has no label at the axis: its title says what is drawn.
        left = {"wide": 1.2, "narrow": 0.9}[width]
        return _paint(
            name, plots.completion_trend, table, width, title, lane_height(_groups(table)) - 0.8, left, _DATES
        )
    if name == "sentiment":
        height = (2.0 + 0.3 * _groups(table)) * table["sentiment"].nunique() / 3
        return _paint(name, plots.sentiment_distribution, table, width, title, height, 1.05)
    if name == "issues":
        groups = _groups(table)
        height = 0.35 + (0.42 + 0.05 * groups) * max(2, int(table["issue"].nunique())) + 0.1 * groups
        return _paint(name, plots.issues, table, width, title, height, 0.2)
    if name == "live":
        return _paint(name, plots.compare, table, width, title, 2.6, 0.9, _DATES)
    measured = table[table["lift"].notna()]
    height = 0.7 + 0.55 * max(2, len(measured)) + 0.45 * measured["stage"].astype("str").nunique()
    return _paint(name, plots.variant_lift, table, width, title, height, 0.2)


def _groups(table: pd.DataFrame) -> int:
    by = table.attrs["promptlift"]["by"]
    return 1 if by is None else min(MAX_GROUPS, int(table[by].nunique(dropna=False)))


def _paint(
    name: str,
    plot: Callable[..., Axes],
    table: Any,
    width: Width,
    title: str,
    height: float,
    left: float,
    more: float = 0,
) -> str:
    """Draw on axes with margins for what stands around them: a layout engine would take as long as the drawing.

    Parameters
    ----------
    name
        Prefix of the ids in the drawing.
    plot
        A function of ``promptlift.plots``.
    table
        What it draws.
    width
        For which width.
    title
        As plots have it.
    height, left
        Height of the axes, and the space at their left, in inches.
    more
        Space below the axes beside that of a line of tick labels and the axis label.
    """
    inches = _WIDTH[width]
    out = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        # The reader's browser has fonts for scripts that this font lacks.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams.update(_settings(f"{name}-{width}"))
        figure = Figure(figsize=(inches, height))
        FigureCanvasSVG(figure)
        beside = (left / inches, (inches - left - _RIGHT) / inches)
        ax = figure.add_axes((beside[0], 0.1, beside[1], 0.8))
        plot(table, title=title, ax=ax)
        if width == "narrow":
            ax.set_ylabel("")
            label = lines_of(ax.get_xlabel(), 72 * beside[1] * inches, "medium")
            ax.set_xlabel("\n".join(label))
            more += _TITLE_LINE * (len(label) - 1)
        foot = _FOOT + more + _NOTE_LINE * _lines_below(ax)
        head = 0.2 + _TITLE_LINE * (ax.get_title(loc="left").count("\n") + 1)
        full = foot + height + head
        figure.set_figheight(full)
        ax.set_position((beside[0], foot / full, beside[1], height / full))
        figure.savefig(out, format="svg", metadata=_NO_METADATA, transparent=True)
    return _inline(out.getvalue(), f"{name}-{width}")


def _lines_below(ax: Axes) -> int:
    """Return the lines of the notes below the label of the x-axis."""
    notes = [
        text
        for text in ax.texts
        if isinstance(text, Annotation)
        and isinstance(text.xycoords, tuple)
        and text.xycoords[1] is ax.xaxis.label
    ]
    return sum(text.get_text().count("\n") + 1 for text in notes)


def _settings(name: str) -> Any:
    return {
        # Text stays text: readable in every script, small, and searchable.
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.size": 10.5,
        **dict.fromkeys(
            ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK
        ),
    }


def _inline(svg: str, name: str) -> str:
    """Remove what only a standalone file needs, and make ids unique on the page."""
    svg = _STYLE.sub("", _METADATA.sub("", _HEAD.sub("", svg)))
    svg = _SIZE.sub(lambda found: f"<svg {found.group(1) or ''}", svg, count=1)
    svg = _GROUP_ID.sub("<g", svg)
    for mark in ('id="', 'href="#', "url(#"):
        svg = svg.replace(mark, f"{mark}{name}-")
    # The marks that keep a minus before its number beside names of right-to-left scripts can be seen in the source.
    return svg.strip().replace("\N{LEFT-TO-RIGHT MARK}", "&#8206;")
