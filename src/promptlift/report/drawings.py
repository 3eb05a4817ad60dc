"""Figures as SVG for embedding in a page: text as text, unique ids, the same bytes every time."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from promptlift import plots

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["paint_issues", "paint_lift", "paint_sentiment", "paint_trend"]

_WIDTH: Final = 9.2
# Space below the axes: tick labels, the axis label and two lines of notes; dates may take two lines.
_FOOT: Final = 0.78
_DATES: Final = 0.2
# Space above the axes: two lines with the finding.
_TITLE: Final = 0.5
_NO_METADATA: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}
_HEAD: Final = re.compile(r"\A.*?(?=<svg)", re.DOTALL)
_METADATA: Final = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_STYLE: Final = re.compile(r"\s*<style type=\"text/css\">[^<]*</style>")
_GROUP_ID: Final = re.compile(r"<g id=\"[^\"]*\"")
_SIZE: Final = re.compile(r"<svg ([^>]*?)width=\"[^\"]*\" height=\"[^\"]*\"|<svg ")


def paint_trend(table: pd.DataFrame) -> str:
    """Draw the result of ``analysis.completion_trend``."""
    return _paint("trend", lambda ax: plots.completion_trend(table, title="auto", ax=ax), 3.9, 0.85, _DATES)


def paint_sentiment(table: pd.DataFrame) -> str:
    """Draw the result of ``analysis.sentiment_distribution``."""
    groups = max(1, len(table) // 3)
    height = 3.0 + 0.22 * min(groups, 6)
    return _paint(
        "sentiment", lambda ax: plots.sentiment_distribution(table, title="auto", ax=ax), height, 1.15
    )


def paint_issues(table: pd.DataFrame) -> str:
    """Draw the result of ``analysis.issues``."""
    height = 1.4 + 0.46 * max(2, int(table["issue"].nunique()))
    return _paint("issues", lambda ax: plots.issues(table, title="auto", ax=ax), height, 0.2)


def paint_lift(table: pd.DataFrame) -> str:
    """Draw the variants of one optimization, as returned by ``lift.variants``."""
    measured = table[table["lift"].notna()]
    panels = measured["stage"].astype("str").nunique()
    height = 1.4 + 0.55 * max(2, len(measured)) + 0.45 * panels
    return _paint("lift", lambda ax: plots.variant_lift(table, title="auto", ax=ax), height, 0.2, 0.2)


def _paint(name: str, plot: Callable[[Axes], Axes], height: float, left: float, more: float = 0) -> str:
    """Draw on axes with fixed margins: a layout engine would take as long as the drawing."""
    out = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        # The reader's browser has fonts for scripts that this font lacks.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams.update(_settings(name))
        height += _TITLE
        figure = Figure(figsize=(_WIDTH, height))
        foot = _FOOT + more
        FigureCanvasSVG(figure)
        ax = figure.add_axes(
            (
                left / _WIDTH,
                foot / height,
                (_WIDTH - left - 0.2) / _WIDTH,
                (height - foot - 0.1 - _TITLE) / height,
            )
        )
        plot(ax)
        figure.savefig(out, format="svg", metadata=_NO_METADATA)
    return _inline(out.getvalue(), name)


def _settings(name: str) -> Any:
    return {
        # Text stays text: readable in every script, small, and searchable.
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.size": 10.5,
        "axes.labelcolor": "#1c2430",
        "text.color": "#1c2430",
    }


def _inline(svg: str, name: str) -> str:
    """Remove what only a standalone file needs, and make ids unique on the page."""
    svg = _STYLE.sub("", _METADATA.sub("", _HEAD.sub("", svg)))
    svg = _SIZE.sub(lambda found: f"<svg {found.group(1) or ''}", svg, count=1)
    svg = _GROUP_ID.sub("<g", svg)
    for mark in ('id="', 'href="#', "url(#"):
        svg = svg.replace(mark, f"{mark}{name}-")
    return svg.strip()
