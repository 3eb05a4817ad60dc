from __future__ import annotations

import numpy as np
import pytest

from promptlift import analysis, plots
from promptlift.frames import variants_table
from support.searched_service import SearchedService


@pytest.fixture
def table():
    service = SearchedService()
    items = [{"id": "o1", "optimization": service.optimizations[0], "variants": service.variants}]
    return variants_table(items)[0]


def steps(ax):
    return next(line for line in ax.lines if line.get_label() == "best lower bound so far")


def test_each_candidate_is_a_point_with_its_interval(table):
    ax, found = plots.search(table), analysis.search(table)
    points = sorted(
        (x, y)
        for line in ax.lines
        if line.get_marker() not in ("None", None, "")
        for x, y in zip(*line.get_data(), strict=True)
    )
    assert points == sorted(zip(found["conversations"].astype(float), found["points"], strict=True))
    whiskers = [
        segment for part in ax.collections if hasattr(part, "get_segments") for segment in part.get_segments()
    ]
    ends = sorted((segment[0][0], segment[0][1], segment[1][1]) for segment in whiskers)
    assert ends == sorted(zip(found["conversations"], found["points_low"], found["points_high"], strict=True))


def test_the_line_is_the_best_lower_bound_so_far(table):
    line = steps(plots.search(table))
    found = analysis.search(table)
    assert line.get_drawstyle() == "steps-post"
    assert line.get_ydata()[0] == 0
    np.testing.assert_allclose(line.get_ydata()[1:-1], found["best_low"])
    np.testing.assert_allclose(line.get_xdata()[1:-1], found["conversations"].astype(float))


def test_generations_and_states_are_words(table):
    ax = plots.search(table, title="auto")
    words = [text.get_text() for text in ax.texts]
    assert {"generation 1", "generation 2", "generation 3"} <= set(words)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["in the pool (n = 4)", "finalist (n = 1)", "rejected (n = 1)"]
    assert any("partly lucky" in " ".join(text.split()) for text in words)
    assert "31 points above the original" in ax.get_title("left").replace("\n", " ")


def test_without_a_search_it_says_so(table):
    ax = plots.search(table[table["is_original"]], title="auto")
    assert next(text.get_text() for text in ax.texts) == "This optimization has no search"


def test_a_workspace_needs_the_optimization():
    class Lift:
        def variants(self, _):
            raise AssertionError

    with pytest.raises(ValueError, match="Name the optimization"):
        plots.search(Lift())
