"""Sentiment over time by its artists."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import same_color

from promptlift import analysis, plots
from promptlift.plots.theme import MARKERS, PALETTE, SENTIMENT_COLORS
from support.drawn import words
from support.synthetic_tables import conversations, small


def points(ax):
    return [line for line in ax.lines if line.get_marker() in MARKERS]


def whiskers(ax):
    return np.concatenate([c.get_segments() for c in ax.collections if isinstance(c, LineCollection)])[
        :, :, 1
    ]


def test_negative_and_positive_are_drawn_with_their_intervals():
    table = conversations(2_000)
    ax = plots.sentiment_trend(table, freq="W")
    expected = analysis.sentiment_trend(table, freq="W")
    negative, positive = points(ax)
    np.testing.assert_allclose(negative.get_ydata(), expected["negative_share"])
    np.testing.assert_allclose(positive.get_ydata(), expected["positive_share"])
    ends = whiskers(ax)
    np.testing.assert_allclose(ends[: len(expected)], expected[["negative_low", "negative_high"]])
    np.testing.assert_allclose(ends[len(expected) :], expected[["positive_low", "positive_high"]])


def test_labels_are_told_apart_by_shape_and_colour_and_named():
    ax = plots.sentiment_trend(conversations(2_000), freq="W")
    assert [dots.get_marker() for dots in points(ax)] == ["v", "^"]
    assert [same_color(dots.get_color(), SENTIMENT_COLORS[name]) for dots, name in zip(points(ax), ("negative", "positive"), strict=True)] == [True, True]  # fmt: skip
    assert [text.get_text().split(" ")[0] for text in ax.get_legend().get_texts()] == ["negative", "positive"]
    assert (
        len([c for c in ax.collections if isinstance(c, PolyCollection)]) == 1
    )  # both count the same conversations


def test_the_mean_score_has_its_own_scale():
    table = conversations(2_000)
    ax = plots.sentiment_trend(table, freq="W", value="score")
    (dots,) = points(ax)
    np.testing.assert_allclose(dots.get_ydata(), analysis.sentiment_trend(table, freq="W")["sentiment_mean"])
    assert ax.get_ylabel() == "Mean sentiment score"
    assert {"−1", "0", "+1"} <= set(words(ax))
    low, high = ax.get_ylim()
    assert low < -1
    assert high > 1


def test_groups_are_compared_by_one_label():
    table = conversations(400, days=20)
    ax = plots.sentiment_trend(table, by="prompt_id", freq="W")
    assert ax.get_ylabel() == "Share of negative conversations"
    # Which marks and colours of the palette follows from the names.
    first, second = points(ax)
    assert first.get_marker() != second.get_marker()
    assert not same_color(first.get_color(), second.get_color())
    assert all(any(same_color(dots.get_color(), tone) for tone in PALETTE) for dots in (first, second))


def test_a_word_list_is_drawn_by_its_score_relative_to_the_usual_one():
    table = conversations(400, analyser="lexicon")
    ax = plots.sentiment_trend(table, freq="W", title="auto")
    (dots,) = points(ax)
    expected = analysis.sentiment_trend(table, freq="W")
    np.testing.assert_allclose(dots.get_ydata(), expected["sentiment_mean"])
    usual = expected.attrs["promptlift"]["usual"]
    assert ax.get_ylabel() == f"Mean score, relative to the usual {usual:+.2f}"
    low, high = ax.get_ylim()
    assert (low < -1 - usual, high > 1 - usual) == (True, True)
    assert not [text for text in words(ax) if "positive" in text or "negative" in text]
    for value in ("negative", ["negative", "positive"]):
        with pytest.raises(ValueError, match=r"labels say nothing\. Leave value out"):
            plots.sentiment_trend(table, value=value)


@pytest.mark.parametrize("table", [conversations(0), small(started_at=["2026-01-01"], sentiment=[None])])
@pytest.mark.parametrize("value", [None, "score"])
def test_without_labels_the_picture_says_so(table, value):
    ax = plots.sentiment_trend(table, value=value)
    assert any(text.startswith("No conversations") for text in words(ax))
    assert not points(ax)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"value": "angry"}, "value must be"),
        ({"value": ["score", "negative"]}, "value must be"),
        ({"value": []}, "value must be"),
        ({"value": ["negative", "positive"], "by": "prompt_id"}, "With by"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_any_figure(more, said):
    with pytest.raises(ValueError, match=said):
        plots.sentiment_trend(conversations(10), **more)
    assert plt.get_fignums() == []


def test_what_is_left_out_is_said():
    table = small(started_at=["2026-01-01", "2026-01-01", None], sentiment=["negative", None, "positive"])
    assert any("Not counted: 1 without a sentiment, 1 without a time." in text for text in words(plots.sentiment_trend(table)))  # fmt: skip
