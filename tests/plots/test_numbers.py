"""Every plot shows the numbers of its analysis, where its labels say."""

from __future__ import annotations

import numpy as np
import pytest

from promptlift import analysis, plots
from promptlift.frames import variants_table
from support.drawn import points, whiskers
from support.searched_service import SearchedService
from support.segmented import segmented
from support.synthetic_tables import conversations
from support.trials import several

DATA = conversations(600)
PAIRED = {"by": "run", "pair": "task", "control": "a"}


@pytest.mark.parametrize(
    ("name", "data", "options", "drawing", "column"),
    [
        ("issues", DATA, {}, {}, "share"),
        ("topics", DATA, {}, {}, "share"),
        ("changes", DATA, {"at": "2026-02-10"}, {}, "difference"),
        ("changes", DATA, {"at": "2026-02-10", "of": "topics"}, {}, "difference"),
        ("sentiment_distribution", DATA, {}, {}, "share"),
        ("compare", several(), PAIRED, {}, "difference_points"),
        ("segments", segmented(np.random.default_rng(0), planted="metadata.returning"), {}, {"top": 6}, "difference_points"),
    ],
)  # fmt: skip
def test_points_and_intervals_are_those_of_the_analysis_in_its_order(name, data, options, drawing, column):
    expected = getattr(analysis, name)(data, **options).head(drawing.get("top", 99))
    ax = getattr(plots, name)(data, **options, **drawing)
    if name in ("changes", "compare"):
        expected = expected.sort_values(column, ascending=False)
    if name == "sentiment_distribution":
        expected = expected[::-1]
    from_the_top = sorted(points(ax, "o"), key=lambda place: -place[1])
    assert [x for x, _ in from_the_top] == pytest.approx(expected[column].tolist())
    assert [y for _, y in from_the_top] == list(range(len(expected)))[::-1]
    ends = expected[[f"{column}_low", f"{column}_high"]].to_numpy()
    np.testing.assert_allclose(sorted(whiskers(ax)), sorted(ends.tolist()))
    low, high = ax.get_xlim()
    assert low < min(0.0, ends.min())
    assert high >= ends.max()


@pytest.mark.parametrize(
    ("name", "options", "columns"),
    [("completion_trend", {}, ["rate"]), ("sentiment_trend", {"freq": "W"}, ["negative", "positive"])],
)
def test_rates_by_period_are_those_of_the_analysis(name, options, columns):
    table = conversations(2_000)
    expected = getattr(analysis, name)(table, **options)
    ax = getattr(plots, name)(table, **options)
    values = [expected["rate" if one == "rate" else f"{one}_share"] for one in columns]
    assert [y for _, y in points(ax)] == pytest.approx(np.concatenate(values).tolist())
    ends = np.concatenate([expected[[f"{one}_low", f"{one}_high"]] for one in columns])
    np.testing.assert_allclose(whiskers(ax, 1), ends)
    np.testing.assert_allclose(
        [x for x, _ in points(ax)][: len(expected)], expected["period_start"].astype("int64") / 86_400e6, atol=1
    )  # fmt: skip


@pytest.fixture
def candidates():
    service = SearchedService()
    items = [{"id": "o1", "optimization": service.optimizations[0], "variants": service.variants}]
    return variants_table(items)[0]


def test_a_search_has_its_candidates_the_best_bound_so_far_and_its_generations(candidates):
    ax, found = plots.search(candidates, title="auto"), analysis.search(candidates)
    markers = ("o", "D", "s", "X")
    places = sorted(zip(found["conversations"].astype(float), found["points"], strict=True))
    assert sorted(points(ax, *markers)) == places
    ends = found[["points_low", "points_high"]].to_numpy().tolist()
    np.testing.assert_allclose(sorted(whiskers(ax, 1)), sorted(ends))
    best = next(line for line in ax.lines if line.get_label() == "best lower bound so far")
    assert (best.get_drawstyle(), best.get_ydata()[0]) == ("steps-post", 0)
    np.testing.assert_allclose(best.get_ydata()[1:-1], found["best_low"])
    np.testing.assert_allclose(best.get_xdata()[1:-1], found["conversations"].astype(float))
    words = [" ".join(text.get_text().split()) for text in ax.texts]
    assert {"generation 1", "generation 2", "generation 3"} <= set(words)
    assert any("partly lucky" in text for text in words)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["in the pool (n = 4)", "finalist (n = 1)", "rejected (n = 1)"]
    assert "31 points above the original" in ax.get_title("left").replace("\n", " ")
    nothing = plots.search(candidates[candidates["is_original"]], title="auto")
    assert nothing.texts[0].get_text() == "This optimization has no search"
    lift = type("Lift", (), {"variants": None})
    with pytest.raises(ValueError, match="Name the optimization"):
        plots.search(lift)
