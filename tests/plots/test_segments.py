"""The plot of segments shows the numbers of the analysis, and says what it cannot find."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from promptlift import analysis, plots
from support.hostile import ENCODABLE
from support.segmented import segmented


def words(ax):
    texts = (text.get_text() for text in [*ax.texts, *ax.figure.texts, ax.xaxis.label])
    return " ".join(" ".join(texts).split())


@pytest.fixture(scope="module")
def table():
    return segmented(np.random.default_rng(0), planted="metadata.returning")


@pytest.mark.slow
def test_points_and_whiskers_are_those_of_the_analysis_the_surest_on_top(table):
    expected = analysis.segments(table).head(6)
    ax = plots.segments(table, top=6)
    drawn = [
        place for line in ax.lines if line.get_marker() == "o" for place in zip(*line.get_data(), strict=True)
    ]
    top_down = [x for x, y in sorted(drawn, key=lambda place: -place[1])]
    assert top_down == pytest.approx(expected["difference_points"].tolist())
    ends = np.concatenate([c.get_segments() for c in ax.collections if isinstance(c, LineCollection)])[
        :, :, 0
    ]
    assert sorted(ends[:, 0]) == pytest.approx(sorted(expected["difference_points_low"]))


def test_it_says_the_verdict_the_rule_and_what_may_be_missed(table):
    said = words(plots.segments(table))
    assert "metadata.returning: yes · lower" in said
    assert (
        "2 of 39 segments clearly differ: p of the score test below 0.05, adjusted for 37 comparisons" in said
    )
    assert "not a cause" in said
    assert "Drops of less than 13 points may be missed." in said
    assert "Only the 12 surest are shown." in said
    assert "llama · " not in said


@pytest.mark.slow
def test_hostile_and_long_values_stay_apart_and_on_the_page():
    texts = [*ENCODABLE[:30], "x" * 400 + "a", "x" * 400 + "b"]
    table = pd.DataFrame(
        {
            "task_completed": pd.array([True, False] * 10 * len(texts), "boolean"),
            "channel": np.repeat(texts, 20),
        }
    )
    ax = plots.segments(table, top=None)
    ax.figure.canvas.draw()
    left = [text.get_text() for text in ax.texts if text.get_text().startswith("channel: ")]
    assert len(left) == len(set(left)) > 25
    with pytest.raises(ValueError, match="top"):
        plots.segments(table, top=0)
