"""Figures follow the theme of the page on request."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from promptlift import plots
from promptlift.plots.notebook_theme import themed_pictures, themed_svg
from promptlift.plots.palette import PALETTE, SENTIMENT_COLORS
from support.synthetic_tables import conversations


def drawn():
    return plots.completion_trend(conversations(300)).figure


def test_every_colour_of_the_drawing_is_chosen_by_the_page_and_the_figure_stays_as_it_was():
    figure = drawn()
    before = figure.get_facecolor(), figure.axes[0].get_facecolor()
    shown = themed_svg(figure)
    assert (figure.get_facecolor(), figure.axes[0].get_facecolor()) == before
    style, svg = re.search(r"<style>(.*?)</style>(<svg.*</svg>)", shown, re.DOTALL).groups()
    ET.fromstring(svg)
    assert not re.findall(r"#[0-9a-f]{6}", svg)
    names = set(re.findall(r"var\((--promptlift-[0-9a-f]{6})\)", svg))
    light, dark = re.findall(r"\{([^{}]*--promptlift[^{}]*)\}", style)[:2]
    for values in (light, dark):
        assert names <= set(re.findall(r"(--promptlift-[0-9a-f]{6}):", values))
    assert "--promptlift-000000: #000000;" in light
    assert "--promptlift-000000: #ffffff;" in dark
    assert "--promptlift-0072b2: #56B4E9;" in dark
    assert "[data-jp-theme-light='false'] .promptlift-figure, " in style
    assert "<style type" not in svg


def test_a_figure_in_a_dark_style_stays_as_it_is():
    with plt.style.context("dark_background"):
        assert themed_svg(drawn()) is None


@pytest.fixture
def formatter(monkeypatch):
    """How a notebook shows what is in the last line of a cell."""
    from IPython.core.formatters import DisplayFormatter

    shell = SimpleNamespace(display_formatter=DisplayFormatter())
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    return shell.display_formatter.formatters["text/html"]


def test_one_line_turns_it_on_in_a_notebook(formatter, monkeypatch):
    plots.follow_notebook_theme()
    assert formatter(Figure()).startswith('<div class="promptlift-figure">')
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    with pytest.raises(RuntimeError, match="in a cell of JupyterLab"):
        plots.follow_notebook_theme()


@pytest.mark.slow
def test_it_holds_when_it_is_turned_on_before_the_first_figure():
    """A notebook loads its backend at the first figure, and that resets how figures are shown."""
    import nbclient
    import nbformat

    cells = [
        "from promptlift import plots\nplots.follow_notebook_theme()",
        "import matplotlib.pyplot as plt\nfigure = plt.figure()",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in cells])
    nbclient.NotebookClient(book, kernel_name="python3").execute()
    (shown,) = book.cells[1].outputs
    assert "promptlift-figure" in shown["data"]["text/html"]


@pytest.mark.usefixtures("formatter")
def test_drawings_for_light_and_dark_pages_are_given_only_on_request():
    figure = Figure()
    assert themed_pictures(figure) is None
    plots.follow_notebook_theme()
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    for place, color in enumerate({*PALETTE, *SENTIMENT_COLORS.values()}):
        ax.plot([0, 1], [place, place], color=color)
    light, dark = themed_pictures(figure)
    assert light != dark
    assert '<svg fill="#ffffff"' in dark
    assert "<script" not in light + dark
    # Groups of different colours stay different on a dark page.
    colors = [set(re.findall(r"stroke: (#[0-9a-f]{6})", one.lower())) for one in (light, dark)]
    assert len(colors[0]) == len(colors[1]) == 7
