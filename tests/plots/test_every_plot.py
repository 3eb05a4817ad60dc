"""No text of any plot runs out of the picture or into another one, whatever the data."""

from __future__ import annotations

import inspect
import itertools

import matplotlib.pyplot as plt
import pytest

from promptlift import plots
from promptlift.plots.theme import WIDTH
from support.every_plot import FEW, LONG, cases, faults, of_conversations, of_optimizations, table

ROWS = (
    "benchmark", "changes", "compare", "segments", "simulated_vs_production", "targets", "variant_lift", "where_it_differs",
)  # fmt: skip


def draw(name, call, title):
    """Draw a picture; the page and those that need two prompts take no title or no single prompt."""
    return call() if name.startswith("prompt_overview") else call(title=title)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:Glyph .* missing from font"
)  # the names of other scripts, without such a font
@pytest.mark.parametrize("n", [0, FEW, 300])
def test_every_text_has_its_place(n):
    wrong = {}
    for name, call in cases(n):
        if name.startswith("compare") and name.endswith("one"):
            continue
        if found := faults(draw(name, call, "auto")):
            wrong[name] = found
        plt.close("all")
    assert not wrong


def plots_of_long_names():
    yield from of_conversations(table(60, LONG[:2], LONG), several=True)
    yield from of_optimizations(60, LONG[:2])


@pytest.mark.slow
def test_no_words_of_a_row_cross_the_line_of_no_difference():
    drawn = {
        name: draw(name, call, "auto")
        for name, call in plots_of_long_names()
        if name.startswith(ROWS) and not name.endswith(("cost", "live"))
    }
    assert {name.split()[0] for name in drawn} == set(ROWS)
    for name, ax in drawn.items():
        ax.figure.draw_without_rendering()
        for panel in ax.child_axes or [ax]:
            (zero,) = (line for line in panel.lines if line.get_marker() == "|" and not any(line.get_xdata()))
            middles = zero.get_transform().transform(zero.get_xydata())
            half = zero.get_markersize() / 2 * ax.figure.dpi / 72
            for text, (x, y) in itertools.product(panel.texts, middles):
                box = text.get_window_extent()
                crossed = box.x0 < x < box.x1 and box.y0 + 1 < y + half and y - half < box.y1 - 1
                assert not (crossed and text.get_text()), (name, text.get_text())
        plt.close(ax.figure)


@pytest.mark.slow
def test_every_plot_takes_a_title_and_is_as_wide_as_the_others():
    for name, call in plots_of_long_names():
        figure = draw(name, call, "Mine: $5").figure
        assert figure.get_figwidth() == WIDTH, name
        box = figure.get_tightbbox()
        assert box.width == pytest.approx(WIDTH, abs=0.05), name
        if not name.startswith("prompt_overview"):
            assert figure.axes[0].get_title("left") == "Mine: $5", name
        plt.close("all")


def test_without_a_title_there_is_none():
    for name, call in plots_of_long_names():
        if name in ("issues", "compare"):
            assert call().get_title("left") == "", name


def test_every_plot_that_there_is_takes_a_title_and_is_among_these():
    every = {name for name in plots.__all__ if name != "follow_notebook_theme"}
    for name in every:
        assert "title" in inspect.signature(getattr(plots, name)).parameters, name
        assert '``"auto"`` writes the finding' in getattr(plots, name).__doc__, name
    assert {name.split()[0] for name, _ in plots_of_long_names()} == every
