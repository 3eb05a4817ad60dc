"""Foreign text is made harmless, colours are told apart, and loading is light."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_rgb

from promptlift import plots
from promptlift.plots.theme import (
    MARKERS,
    MAX_GROUPS,
    PALETTE,
    PALETTE_ON_DARK,
    columns_of,
    distinct_names,
    plain,
)
from support.every_plot import LONG
from support.synthetic_tables import conversations

MARK = "\N{LEFT-TO-RIGHT MARK}"


@given(st.text(max_size=200))
@example("\N{MENDE KIKAKUI SYLLABLE M001 KI}")
@example("\N{HEBREW LETTER ALEF}" * 60)
def test_no_text_is_mathematics_or_breaks_the_line(text):
    shown = plain(text)
    assert not is_math_text(shown)
    assert shown
    # Around words that run from right to left stand two marks of our own.
    shown = shown.removeprefix(MARK).removesuffix(MARK)
    assert len(shown.replace(r"\$", "$")) <= 40
    assert shown.isprintable() or any(char.isspace() for char in shown)
    assert "\n" not in shown


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_name_is_said(missing):
    assert plain(missing) == "not given"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["_hidden", "$x^2$", "$", r"\$a$", "", "a" * 400, "<b>&amp;</b>", "{0}%s\\n"]
)
def test_hostile_names_reach_legend_and_title_as_they_are(name):
    table = conversations(60, prompts=[name, "other"])
    for ax in (
        plots.completion_trend(table, by="prompt_id", freq="MS"),
        plots.sentiment_distribution(table, by="prompt_id"),
    ):
        ax.figure.canvas.draw()
        assert any(text.get_text().startswith(plain(name, 28)) for text in ax.get_legend().get_texts())
    figure = plots.prompt_overview(table, name)
    figure.canvas.draw()
    assert figure.texts[0].get_text() == plain(name or "All conversations", 54)


@given(st.lists(st.text(alphabet="ab $", max_size=60), unique=True, min_size=1, max_size=6))
def test_different_names_stay_different(names):
    shown = distinct_names(names, 20)
    assert len(set(shown)) == len(names)
    assert not any(is_math_text(name) for name in shown)


def test_names_that_start_and_end_alike_are_told_apart_by_their_middle():
    shown = distinct_names(LONG, 28)
    assert all(city in name for city, name in zip(("Amsterdam", "Berlin", "Copenhagen"), shown, strict=False))
    assert not any("(2)" in name for name in shown)


def test_characters_of_east_asia_take_two_columns():
    assert columns_of("日本語") == 6
    assert plain("日本語" * 10, 10) == "日本語日…"


def test_every_group_of_a_picture_has_a_shape_of_its_own():
    assert len(set(MARKERS)) == len(PALETTE) == MAX_GROUPS


@pytest.mark.parametrize("colors", [PALETTE, PALETTE_ON_DARK])
def test_no_two_colours_of_a_palette_are_near(colors):
    for one, other in itertools.combinations(colors, 2):
        assert sum((a - b) ** 2 for a, b in zip(to_rgb(one), to_rgb(other), strict=True)) > 0.05


@pytest.mark.slow
def test_the_package_loads_matplotlib_only_when_a_plot_is_asked_for():
    code = (
        "import sys, promptlift.plots as p; assert 'matplotlib' not in sys.modules and 'pandas' not in sys.modules;"
        "p.issues; assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
