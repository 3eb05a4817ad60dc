"""``InteractivePlot``: a plot whose marks open the conversations behind them."""

from __future__ import annotations

import base64
import io
import os
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd
import traitlets

from promptlift.analysis.reading import collect, names_of
from promptlift.errors import PromptliftError
from promptlift.plots.drill_down import drill_down_of
from promptlift.plots.notebook_theme import themed_pictures
from promptlift.schema.inert import one_line
from promptlift.widgets.browser.widget import ConversationBrowser
from promptlift.widgets.fallback import WidgetWithFallback, front_end

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from promptlift.plots.drill_down import DrillDown, Mark

__all__ = ["InteractivePlot"]

_MOST_MARKS: Final = 5_000
# Pixels of a page to an inch; the picture has twice as many, so that it is sharp on a fine screen.
_CSS_DPI: Final = 100
_PNG: Final = "image/png"
_SVG: Final = "image/svg+xml"


class _Shown(NamedTuple):
    """A mark, the axes that it is on, and what leads to its conversations."""

    ax: Axes
    drill_down: DrillDown
    mark: Mark


class InteractivePlot(WidgetWithFallback):
    """Show a plot whose marks open the conversations behind them.

    Resting the pointer on a mark says its name, estimate, interval and n; a click opens a `ConversationBrowser` on exactly
    its rows below the picture. The marks can be reached with the keyboard: Tab to the plot, the arrow keys from mark to
    mark, Home and End, Enter to open, Escape to close. Where no script runs, the output is the picture.
    After ``plots.follow_notebook_theme()`` it follows the light or dark theme too.

    Parameters
    ----------
    plot
        What ``plots.issues``, ``topics``, ``changes``, ``completion_trend``,
        ``sentiment_trend``, ``sentiment_distribution``, ``segments``, ``compare``, ``prompt_timeline`` or
        ``prompt_overview`` returned for conversations. A figure with several of them works too. The figure is then shown
        by the widget, and no longer at the end of the cell.
    labels, label_sets, blind
        As for `ConversationBrowser`. Labels stay when another mark is opened.

    Raises
    ------
    ValueError
        When it is no such plot, was drawn from a result without the conversations, or has more than 5,000 marks.
    ConfigError
        When labels cannot be read.

    Examples
    --------
    >>> widgets.InteractivePlot(plots.issues(df))  # doctest: +SKIP
    """

    _esm = front_end("js", "plot")
    _css = front_end("css", "browser", "plot")

    # From Python to the front end.
    _picture = traitlets.Unicode().tag(sync=True)
    _dark_picture = traitlets.Unicode().tag(sync=True)
    _about = traitlets.Dict().tag(sync=True)
    _opened = traitlets.Dict().tag(sync=True)
    # From the front end to Python: only the latest click counts.
    _query = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        plot: Axes | Figure,
        *,
        labels: Any = None,
        label_sets: Mapping[str, Sequence[str]] | None = None,
        blind: bool = False,
    ) -> None:
        figure = _figure_of(plot)
        self._marks = _marks_of(figure)
        self._labels, self._label_sets, self._blind = labels, label_sets, blind
        self._browser: ConversationBrowser | None = None
        self._png = _png_of(figure)
        light, dark = _drawings_of(figure) or (f"data:{_PNG};base64,{self._png}", "")
        _end_showing(figure)
        self._size = {
            "width": round(figure.get_figwidth() * _CSS_DPI),
            "height": round(figure.get_figheight() * _CSS_DPI),
        }
        marks = [[*_place_of(one, figure), one_line(one.mark.words, 300)] for one in self._marks]
        super().__init__(_picture=light, _dark_picture=dark, _about={**self._size, "marks": marks})
        self.observe(self._on_query, "_query")

    @property
    def browser(self) -> ConversationBrowser | None:
        """The browser of the mark that is open; None when none is."""
        return self._browser

    @property
    def labels(self) -> pd.DataFrame | None:
        """The labels given in the browsers so far; None before the first mark is opened."""
        return None if self._browser is None else self._browser.labels

    def _on_query(self, change: Mapping[str, Any]) -> None:
        query = change["new"] if isinstance(change["new"], dict) else {}
        number, place = query.get("number"), query.get("mark")
        if type(number) is not int or (place is not None and type(place) is not int):
            return
        if place is None:
            self._opened = {"number": number}
        elif 0 <= place < len(self._marks):
            try:
                self._opened = {"number": number, "mark": place, **self._open_mark(place)}
            except (PromptliftError, ValueError) as error:
                self._opened = {"number": number, "mark": place, "problem": one_line(str(error), 600)}

    def _open_mark(self, place: int) -> dict[str, str]:
        """Open a browser on the conversations of a mark, and return what is said of it."""
        shown = self._marks[place]
        rows = shown.drill_down(*shown.mark.key)
        if not isinstance(rows, pd.DataFrame):
            rows = collect(rows, names_of(rows))
        before = self._browser
        # In a file they are kept at once; otherwise the next browser goes on with those of the last.
        in_file = isinstance(self._labels, str | os.PathLike)
        labels = self._labels if in_file or before is None else before.labels
        self._browser = ConversationBrowser(
            rows, labels=labels, label_sets=self._label_sets, blind=self._blind
        )
        if before is not None:
            before.close()
        said = f"{len(rows):,} {'conversation' if len(rows) == 1 else 'conversations'} · {shown.mark.words}"
        return {"words": one_line(said, 340), "browser": f"anywidget:{self._browser.model_id}"}

    def _fallback(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {_PNG: self._png}, {_PNG: self._size}

    def _plain(self) -> str:
        return f"InteractivePlot({len(self._marks):,} marks)"


def _figure_of(plot: Any) -> Figure:
    if not hasattr(plot, "get_figure"):
        raise ValueError(
            f"InteractivePlot shows what a plot returned, such as plots.issues(df), not {type(plot).__name__}."
        )
    figure: Figure = plot.get_figure(root=True)
    return figure


def _marks_of(figure: Figure) -> list[_Shown]:
    """Find the marks of all plots of conversations in a figure."""
    plots = [(ax, found) for ax in figure.axes if (found := drill_down_of(ax)) is not None]
    if not plots:
        raise ValueError("This figure has no plot of conversations. Draw one, such as plots.issues(df).")
    if not any(found.has_conversations for _, found in plots):
        raise ValueError(
            "This plot was drawn from a result and does not have the conversations. Draw it from the conversations."
        )
    marks = [
        _Shown(ax, found, mark) for ax, found in plots if found.has_conversations for mark in found.marks
    ]
    if len(marks) > _MOST_MARKS:
        raise ValueError(
            f"The plot has {len(marks):,} marks, more than {_MOST_MARKS:,}. Draw longer periods (freq='W') or fewer groups."
        )
    return marks


def _png_of(figure: Figure) -> str:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=2 * _CSS_DPI)
    return base64.b64encode(out.getvalue()).decode()


def _drawings_of(figure: Figure) -> tuple[str, str] | None:
    """Return the drawings for light and dark pages where the plots of this notebook follow its theme."""
    drawings = themed_pictures(figure)
    if drawings is None:
        return None
    light, dark = (base64.b64encode(one.encode()).decode() for one in drawings)
    return f"data:{_SVG};base64,{light}", f"data:{_SVG};base64,{dark}"


def _end_showing(figure: Figure) -> None:
    """Take the figure from pyplot, so that the cell does not show it as well."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)


def _place_of(shown: _Shown, figure: Figure) -> tuple[float, float]:
    """Return where a mark is in the picture: percent from the left and from the top."""
    point = shown.ax.transData.transform((shown.mark.x, shown.mark.y))
    x, y = figure.transFigure.inverted().transform(point)
    return round(100 * float(x), 3), round(100 * (1 - float(y)), 3)
