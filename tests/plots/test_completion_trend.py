"""The trend by its artists: points, whiskers, hollow points, gaps, lanes, labels."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection, LineCollection, PolyCollection
from matplotlib.colors import same_color, to_hex
from matplotlib.dates import date2num

from promptlift import analysis, plots
from promptlift.plots.palette import MARKERS, PALETTE
from promptlift.plots.theme import MAX_GROUPS
from support.drawn import whiskers, words
from support.sentences import PLOTS
from support.synthetic_tables import conversations, small


def marked(ax):
    return [line for line in ax.lines if line.get_marker() in MARKERS]


def joined(ax):
    return [line for line in ax.lines if line.get_marker() in ("None", None)]


def few_and_many():
    """Five conversations on one day, none on the next, two on the third."""
    days = ["2026-01-01"] * 5 + ["2026-01-03"] * 2
    return small(started_at=days, task_completed=[True, True, True, False, True, False, True])


def test_few_conversations_are_hollow_and_weak_and_none_are_a_gap():
    ax = plots.completion_trend(few_and_many(), freq="D")
    many, few = marked(ax)
    assert (many.get_ydata().tolist(), few.get_ydata().tolist()) == ([0.8], [0.5])
    assert same_color(many.get_markerfacecolor(), PALETTE[0])
    assert same_color(few.get_markerfacecolor(), ax.get_facecolor())
    strong, weak = (c for c in ax.collections if isinstance(c, LineCollection))
    assert weak.get_alpha() < strong.get_alpha()
    (line,) = joined(ax)
    assert np.isnan(line.get_ydata()).tolist() == [False, True, True]


def test_the_counts_stand_under_the_points():
    ax = plots.completion_trend(few_and_many(), freq="D")
    (bars,) = (c for c in ax.collections if isinstance(c, PolyCollection))
    heights = [np.ptp(path.vertices[:, 1]) for path in bars.get_paths()]
    assert len(heights) == 2
    assert heights[1] / heights[0] == pytest.approx(2 / 5)
    assert all(path.vertices[:, 1].max() < 0 for path in bars.get_paths())
    assert "n ≤ 5" in words(ax)


def test_groups_are_named_with_their_size_and_coloured():
    table = conversations(400, days=20)
    ax = plots.completion_trend(table, by="prompt_id", color={"b": "black"})
    totals = analysis.completion(table, by="prompt_id")["n"].tolist()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"a (n = {totals[0]:,})",
        f"b (n = {totals[1]:,})",
    ]
    # Which colour of the palette follows from the name; the legend has those of the lines.
    own, chosen = (to_hex(line.get_color()) for line in joined(ax))
    assert [own, chosen] == [to_hex(handle.get_color()) for handle in ax.get_legend().legend_handles]
    assert chosen == "#000000"
    assert own in {to_hex(color) for color in PALETTE}


def test_four_groups_get_a_lane_each():
    table = conversations(1_000, days=20, prompts=[*"abcd"])
    ax = plots.completion_trend(table, by="prompt_id", freq="D")
    expected = analysis.completion_trend(table, by="prompt_id", freq="D")
    first, second = (expected[expected["prompt_id"] == name] for name in "ab")
    assert ax.get_legend() is None
    np.testing.assert_allclose(joined(ax)[0].get_ydata(), first["rate"].where(first["n"] >= 5))
    np.testing.assert_allclose(joined(ax)[1].get_ydata() + 1.55, second["rate"].where(second["n"] >= 5))
    low, high = ax.get_ylim()
    assert np.min(whiskers(ax, 1)) > low
    assert np.max(whiskers(ax, 1)) < high
    assert sum(text.startswith(("a (n", "b (n", "c (n", "d (n")) for text in words(ax)) == 4


def test_only_the_largest_groups_are_drawn_and_a_note_says_so():
    names = [*"abcdefgh"]
    table = conversations(900, prompts=names)
    kept = table[(table["prompt_id"] != "c") | (np.arange(900) % 4 == 0)]
    ax = plots.completion_trend(kept, by="prompt_id", freq="MS")
    texts = [text[0] for text in words(ax) if " (n = " in text]
    assert len(texts) == MAX_GROUPS
    assert "c" not in texts
    assert any(PLOTS["largest groups"] in text for text in words(ax))


def test_conversations_that_cannot_say_are_counted_in_words():
    table = small(
        started_at=["2026-01-01"] * 3,
        status=["completed", "in_progress", "abandoned"],
        task_completed=[None, None, None],
    )
    texts = words(plots.completion_trend(table))
    assert "No ended conversation is judged" in texts
    assert any("Not counted: 2 with unknown completion, 1 in progress." in text for text in texts)


def test_bad_options_raise_as_in_the_analysis_and_leave_no_figure():
    with pytest.raises(ValueError, match="freq must be"):
        plots.completion_trend(conversations(5), freq="x")
    assert plt.get_fignums() == []


def test_more_than_sixty_periods_have_a_ribbon_instead_of_whiskers():
    table = conversations(3_000, days=90)
    ax = plots.completion_trend(table, freq="D")
    expected = analysis.completion_trend(table, freq="D")
    assert not whiskers(ax)
    ribbon = next(c for c in ax.collections if isinstance(c, FillBetweenPolyCollection))
    (path,) = ribbon.get_paths()
    assert path.vertices[:, 1].min() == pytest.approx(expected["rate_low"].min())
    assert path.vertices[:, 1].max() == pytest.approx(expected["rate_high"].max())


@pytest.mark.parametrize(
    ("freq", "days", "label"), [("h", 40, "Hour"), ("D", 400, "Day"), ("W", 200, "Week from Monday"), ("MS", 4_000, "Month")]
)  # fmt: skip
def test_every_tick_is_under_a_point_and_the_axis_says_period_and_zone(freq, days, label):
    table = conversations(500, days=days)
    ax = plots.completion_trend(table, freq=freq, tz="Europe/Berlin")
    assert (ax.get_xlabel(), ax.get_ylabel()) == (f"{label} (Europe/Berlin)", "Task completion rate")
    assert {"0%", "50%", "100%"} <= {text.get_text() for text in ax.get_yticklabels()}
    ticks = ax.get_xticks()
    assert 1 < len(ticks) <= 9
    starts = analysis.completion_trend(table, freq=freq, tz="Europe/Berlin")["period_start"]
    assert set(np.round(ticks, 6)) <= set(np.round(date2num(starts), 6))
