"""The spread of sentiment by its artists."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import same_color

from promptlift import analysis, plots
from promptlift.plots.theme import MARKERS, SENTIMENT_COLORS
from support.drawn import words
from support.synthetic_tables import conversations, small


def dots(ax):
    return [line for line in ax.lines if line.get_marker() in MARKERS]


def test_points_and_whiskers_are_the_shares_and_their_intervals():
    table = conversations(300)
    ax = plots.sentiment_distribution(table)
    expected = analysis.sentiment_distribution(table)
    assert [dot.get_xdata()[0] for dot in dots(ax)] == pytest.approx(expected["share"].tolist())
    assert [dot.get_ydata()[0] for dot in dots(ax)] == [0, 1, 2]
    ends = np.concatenate([c.get_segments() for c in ax.collections if isinstance(c, LineCollection)])[
        :, :, 0
    ]
    np.testing.assert_allclose(ends, expected[["share_low", "share_high"]])


def test_labels_say_the_counts_and_colours_the_labels():
    ax = plots.sentiment_distribution(small(sentiment=["positive"] * 6 + ["negative"] * 2 + [None]))
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "negative\n2 of 8",
        "neutral\n0 of 8",
        "positive\n6 of 8",
    ]
    assert ax.get_xlabel() == "Share of conversations (n = 8)"
    assert [
        same_color(d.get_color(), c) for d, c in zip(dots(ax), SENTIMENT_COLORS.values(), strict=True)
    ] == [True] * 3
    assert any("1 without a sentiment" in text for text in words(ax))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (conversations(0), "No conversations"),
        (small(sentiment=[None, None]), "No conversations with insights"),
    ],
)
def test_without_labels_the_picture_says_so(table, said):
    ax = plots.sentiment_distribution(table)
    assert said in words(ax)
    assert not dots(ax)


def test_colours_can_be_chosen_by_label():
    ax = plots.sentiment_distribution(conversations(99), color={"negative": "black"})
    assert same_color(dots(ax)[0].get_color(), "black")
    assert same_color(dots(ax)[2].get_color(), SENTIMENT_COLORS["positive"])


def test_scores_of_a_word_list_are_drawn_around_the_usual_one_and_its_labels_nowhere():
    table = conversations(300, analyser="lexicon")
    ax = plots.sentiment_distribution(table, title="auto")
    expected = analysis.sentiment_distribution(table)
    assert [dot.get_xdata()[0] for dot in dots(ax)] == pytest.approx(expected["share"].tolist())
    assert [dot.get_ydata()[0] for dot in dots(ax)] == [0, 1, 2, 3, 4]
    assert all(same_color(dot.get_color(), SENTIMENT_COLORS["neutral"]) for dot in dots(ax))
    names = [label.get_text().partition("\n")[0] for label in ax.get_yticklabels()]
    assert names == ["far below", "below", "usual", "above", "far above"]
    texts, usual = words(ax), f"{expected.attrs['promptlift']['usual']:+.2f}"
    assert f"Sentiment as a word list scores it, relative to the usual score of {usual}" in texts
    assert any(text.endswith(f"The usual score is the median, {usual}.") for text in texts)
    assert not [text for text in texts if "positive" in text or "negative" in text]
    assert len(ax.conversations("far below usual")) == expected["n"].iloc[0]
