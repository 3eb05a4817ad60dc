"""Foreign text is made harmless, names and colours are told apart, and loading is light."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.cbook import is_math_text
from matplotlib.colors import rgb_to_hsv, to_hex, to_rgb

from promptlift import plots
from promptlift.plots.palette import MARKERS, PALETTE, PALETTE_ON_DARK, slots_of
from promptlift.plots.theme import MAX_GROUPS, distinct_names, lines_of, plain
from support.drawn import points
from support.every_plot import HOSTILE, LONG, benchmark, table
from support.synthetic_versions import simulations

HEBREW = "שלום עולם"
MARK = "\N{LEFT-TO-RIGHT MARK}"


@pytest.mark.slow
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


def test_names_that_start_and_end_alike_are_told_apart_by_their_middle():
    shown = distinct_names(LONG, 28)
    assert all(city in name for city, name in zip(("Amsterdam", "Berlin", "Copenhagen"), shown, strict=False))
    assert not any("(2)" in name for name in shown)
    assert "Amsterdam" in plots.benchmark(benchmark(LONG, 60)).get_xlabel()
    pairs = simulations(300, personas=4, scenarios=3)
    for column in ("persona", "scenario"):
        pairs[column] = [f"{LONG[0]} {text}" for text in pairs[column]]
    drawn = [text.get_text() for text in plots.where_it_differs(pairs).texts]
    names = [text for text in drawn if text.startswith("Support")]
    assert len(names) == len(set(names)) == 7


def test_names_from_right_to_left_leave_the_numbers_around_them_in_order():
    assert plain(HEBREW) == f"{MARK}{HEBREW}{MARK}"
    ax = plots.changes(table(300, titles=(HEBREW, "Refund", "Wrong", "Long")), at="2026-02-10")
    assert any(f"{HEBREW}{MARK}: " in text.get_text() for text in ax.texts)
    lines = lines_of(f"Of 274 conversations, 22% have {HEBREW} and 42% have {HEBREW}", 150, "medium")
    assert all(line.startswith(MARK) for line in lines if set(line) & set(HEBREW) - {" "})


@pytest.mark.parametrize("name", ["issues", "sentiment_distribution"])
@pytest.mark.parametrize("names", [HOSTILE, LONG], ids=["hostile", "long"])
@pytest.mark.slow
def test_a_legend_is_above_everything_that_is_drawn(name, names):
    ax = getattr(plots, name)(table(100, names, HOSTILE[:4]), by="prompt_id", title="auto")
    ax.figure.canvas.draw()
    bottom = ax.get_legend().get_window_extent().y0
    marks = [ax.transData.transform(point)[1] for point in points(ax)]
    rows = [text.get_window_extent().y1 for text in ax.texts if text.xy[1] >= 0 and text.xy[0] in (0, 1)]
    assert len(marks) > 2
    assert max(marks) < bottom
    assert max(rows, default=0) < bottom + 3


@pytest.mark.parametrize("colors", [PALETTE, PALETTE_ON_DARK])
def test_no_two_colours_of_a_palette_have_one_hue_and_every_group_has_a_shape(colors):
    assert len(set(MARKERS)) == len(colors) == MAX_GROUPS
    for one, other in itertools.combinations(colors, 2):
        apart = abs(rgb_to_hsv(to_rgb(one))[0] - rgb_to_hsv(to_rgb(other))[0])
        assert min(apart, 1 - apart) > 15 / 360


def by_name(names):
    return pd.DataFrame(
        {
            "prompt": [name for name in names for _ in range(8)],
            "status": "completed",
            "task_completed": [number % 2 == 0 for _ in names for number in range(8)],
            "sentiment": [["positive", "negative"][number % 2] for _ in names for number in range(8)],
            "started_at": [*pd.date_range("2026-01-01", periods=8, tz="UTC")] * len(names),
        }
    )


def colours(ax):
    box = ax.get_legend()
    shown = [text.get_text().rpartition(" (n")[0] for text in box.get_texts()]
    return dict(zip(shown, [to_hex(handle.get_color()) for handle in box.legend_handles], strict=True))


def test_a_name_has_its_colour_in_every_plot_and_process():
    names = ["Support", "Search"]
    pair = colours(plots.completion_trend(by_name(names), by="prompt"))
    assert colours(plots.sentiment_distribution(by_name(names), by="prompt")) == pair
    # By their digests, not by Python's hashes, which differ between processes.
    assert slots_of(["Support", "Sales", "Billing", "Returns"], 6) == [2, 1, 0, 5]
