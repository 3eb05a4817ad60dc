"""``InteractivePlot``: a plot whose marks open the conversations behind them."""

from __future__ import annotations

import base64
import io
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd

from promptlift.analysis.reading import collect, names_of
from promptlift.plots.drill_down import drill_down_of
from promptlift.plots.notebook_theme import themed_pictures
from promptlift.schema.inert import one_line
from promptlift.widgets.browser.labels import keeps_labels
from promptlift.widgets.browser.widget import ConversationBrowser
from promptlift.widgets.tree import h, nodes
from promptlift.widgets.tree_widget import TreeWidget, front_end, whole
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from promptlift.plots.drill_down import DrillDown, Mark
    from promptlift.widgets.tree import Node, Nodes
    from promptlift.widgets.tree_widget import Event

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


class InteractivePlot(TreeWidget):
    """Show a plot whose marks open the conversations behind them.

    Resting the pointer on a mark says its name, estimate, interval and n; a click opens a `ConversationBrowser` on exactly
    its rows below the picture. The marks can be reached with the keyboard: Tab to the plot, the arrow keys from mark to
    mark, Home and End, Enter to open, Escape to close. Where no script runs, the output is the picture.
    After ``plots.follow_notebook_theme()`` it follows the light or dark theme too.

    Parameters
    ----------
    plot
        What ``plots.issues``, ``topics``, ``atlas``, ``changes``, ``completion_trend``,
        ``sentiment_trend``, ``sentiment_distribution``, ``segments``, ``compare`` or
        ``prompt_overview`` returned for conversations. A figure with several of them works too. The figure is then shown
        by the widget, and no longer at the end of the cell.
    labels, label_sets, blind
        As for `ConversationBrowser`. Labels stay when another mark is opened.

    Raises
    ------
    ValueError
        When it is no such plot, was drawn from a result without the conversations, or has more than 5,000 marks.
    ConfigError
        When labels cannot be used.

    Examples
    --------
    >>> widgets.InteractivePlot(plots.issues(df))  # doctest: +SKIP
    """

    _esm = front_end("js", "plot")
    _css = front_end("css", "browser", "plot")
    # Where no script runs, it is the picture and no HTML.
    _repr_html_ = None  # type: ignore[assignment]
    CLASS = "plw-plot"
    PARTS = ("_picture", "_below")

    def __init__(
        self,
        plot: Axes | Figure,
        *,
        labels: Any = None,
        label_sets: Mapping[str, Sequence[str]] | None = None,
        blind: bool = False,
    ) -> None:
        if not hasattr(plot, "get_figure"):
            raise ValueError(
                f"InteractivePlot shows what a plot returned, such as plots.issues(df), not {type(plot).__name__}."
            )
        figure: Any = plot.get_figure(root=True)
        self._marks = _marks_of(figure)
        self._labels, self._label_sets, self._blind = labels, label_sets, blind
        self._browser: ConversationBrowser | None = None
        self._png = _png_of(figure)
        self._images = _drawings_of(figure) or (f"data:{_PNG};base64,{self._png}", "")
        # The cell does not show the figure a second time.
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close(figure)
        self._size = {
            "width": round(figure.get_figwidth() * _CSS_DPI),
            "height": round(figure.get_figheight() * _CSS_DPI),
        }
        self._places = [_place_of(one, figure) for one in self._marks]
        self._opened: int | None = None
        self._said = ""
        super().__init__()

    @property
    def browser(self) -> ConversationBrowser | None:
        """The browser of the mark that is open; None when none is."""
        return self._browser

    @property
    def labels(self) -> pd.DataFrame | None:
        """The labels given in the browsers so far; None before the first mark is opened."""
        return None if self._browser is None else self._browser.labels

    def _draw(self) -> dict[str, Nodes]:
        picture = h(
            "div.plw-picture",
            h("div.plw-images", part="_picture"),
            [self._mark(place) for place in range(len(self._marks))],
            role="group",
            aria_label="Plot. Arrow keys go from mark to mark, Enter opens the conversations.",
            style=f"max-width:{self._size['width']}px",
        )
        hint = h("p.plw-soft.plw-hint", "Click a mark to read its conversations.")
        below = h("div.plw-below", part="_below")
        away = self._opened is not None and h("span", hidden=True, action="close", keys="Escape")
        tree = nodes(h("div", picture, hint, away, keyboard=True), self._notice, below)
        return {"_tree": tree, "_picture": self._pictures(), "_below": self._shown()}

    def _still(self) -> Nodes:
        return []

    def _pictures(self) -> Nodes:
        """Return the drawings; they are a part of their own, because they are long and never change."""
        alt = f"A plot with {len(self._marks):,} marks that open conversations"
        light, dark = self._images
        shown = [("plw-on-light", light), *([("plw-on-dark", dark)] if dark else [])]
        return [h(f"img.{name}", src=src, alt=alt, draggable="false", **self._size) for name, src in shown]

    def _mark(self, place: int) -> Node:
        x, y = self._places[place]
        return h(
            "button.plw-mark",
            action="open",
            mark=place,
            aria_label=one_line(self._marks[place].mark.words, 300),
            aria_expanded=place == self._opened,
            style=f"left:{x}%;top:{y}%",
        )

    def _shown(self) -> Nodes:
        if self._opened is None or self._browser is None:
            return []
        close = h("button.plw-close", "Close", action="close")
        return [
            h("div.plw-opened", h("b.plw-foreign", self._said), " ", close),
            self._browser.slot("This page cannot show it here. In a cell, plot.browser is the same."),
        ]

    def _actions(self) -> Mapping[str, Callable[[Event], None]]:
        return {"open": self._open_mark, "close": self._close_mark}

    def _close_mark(self, _event: Event) -> None:
        self._opened = None
        self._notify("")

    def _open_mark(self, event: Event) -> None:
        """Open a browser on the conversations of a mark."""
        place = whole(event.get("mark"))
        if place is None or place >= len(self._marks):
            return
        self._close_mark(event)
        shown = self._marks[place]
        try:
            rows = shown.drill_down(*shown.mark.key)
        except ValueError as error:
            self._notify(str(error), "bad")
            return
        if not isinstance(rows, pd.DataFrame):
            rows = collect(rows, names_of(rows))
        before = self._browser
        # What no workspace keeps, the next browser takes over from the last.
        labels = self._labels if before is None or keeps_labels(self._labels) else before.labels
        self._browser = ConversationBrowser(
            rows, labels=labels, label_sets=self._label_sets, blind=self._blind
        )
        if before is not None:
            before.close()
        said = f"{counted(len(rows), 'conversation')} · {shown.mark.words}"
        self._opened, self._said = place, one_line(said, 340)

    def _fallback(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {_PNG: self._png}, {_PNG: self._size}

    def _plain(self) -> str:
        return f"InteractivePlot({len(self._marks):,} marks)"


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


def _place_of(shown: _Shown, figure: Figure) -> tuple[float, float]:
    """Return where a mark is in the picture: percent from the left and from the top."""
    point = shown.ax.transData.transform((shown.mark.x, shown.mark.y))
    x, y = figure.transFigure.inverted().transform(point)
    return round(100 * float(x), 3), round(100 * (1 - float(y)), 3)
