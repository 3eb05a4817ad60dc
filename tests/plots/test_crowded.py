"""What was seen on sheets of every plot: crowded legends, names cut alike, writing from right to left, lonely words."""

from __future__ import annotations

import itertools
import re

import matplotlib.pyplot as plt
import pytest

from promptlift import plots
from promptlift.analysis import benchmark as benchmark_table
from promptlift.analysis.findings import finding
from promptlift.plots.theme import lines_of
from promptlift.plots.user_text import plain
from promptlift.words.names import name_in_title
from support.every_plot import HOSTILE, LONG, benchmark, table
from support.synthetic_versions import simulations

HEBREW = "שלום עולם"
MARK = "\u200e"


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", ["issues", "topics", "sentiment_distribution"])
@pytest.mark.parametrize("names", [HOSTILE, LONG, ("v1", "v2")], ids=["hostile", "long", "short"])
@pytest.mark.slow
def test_a_legend_stands_above_everything_that_is_drawn(name, names):
    ax = getattr(plots, name)(table(100, names, HOSTILE[:4]), by="prompt_id", title="auto")
    ax.figure.canvas.draw()
    bottom = ax.get_legend().get_window_extent().y0
    marks = [
        ax.transData.transform(point)[1]
        for line in ax.lines
        for point in line.get_xydata()
        if line.get_linestyle() == "None"
    ]
    rows = [text.get_window_extent().y1 for text in ax.texts if text.xy[1] >= 0 and text.xy[0] in (0, 1)]
    assert len(marks) > 2
    assert max(marks) < bottom
    assert max(rows, default=0) < bottom + 3


def test_the_label_of_a_benchmark_says_which_long_name_is_the_reference():
    label = plots.benchmark(benchmark(LONG, 60)).get_xlabel()
    assert "Amsterdam" in label
    assert len(benchmark_table(benchmark(LONG, 60))) == len(LONG)


def test_long_personas_and_scenarios_of_a_heatmap_are_told_apart():
    pairs = simulations(300, personas=4, scenarios=3)
    for column in ("persona", "scenario"):
        pairs[column] = [f"{LONG[0]} {text}" for text in pairs[column]]
    drawn = [text.get_text() for text in plots.persona_scenario_heatmap(pairs).texts]
    names = [text for text in drawn if text.startswith("Support")]
    assert len(names) == len(set(names)) == 7


def test_names_from_right_to_left_leave_the_numbers_of_a_title_in_order():
    assert name_in_title(HEBREW, 44) == plain(HEBREW) == f"{MARK}{HEBREW}{MARK}"
    assert name_in_title("Short", 44) == plain("Short") == "Short"
    data = table(300, titles=(HEBREW, "Refund", "Wrong", "Long"))
    ax = plots.changes(data, at="2026-02-10")
    assert any(re.search(rf"{HEBREW}{MARK}: ", text.get_text()) for text in ax.texts)
    said = finding(plots.theme.result_of(data, "issues"))
    lines = lines_of(said.replace("Long", HEBREW), 150, "medium")
    assert all(line.startswith(MARK) for line in lines if set(line) & set(HEBREW) - {" "})


@pytest.mark.parametrize("room", [250, 330, 480])
def test_no_line_of_a_title_is_one_lonely_word(room):
    said = "Of 274 conversations, 22% are negative (18% to 28%) and 42% are positive (36% to 48%)"
    lines = lines_of(said, room, "medium", "bold")
    assert " ".join(lines) == said
    lengths = [len(line) for line in lines]
    assert len(lines) > 1
    assert all(abs(one - other) < 16 for one, other in itertools.pairwise(lengths))
