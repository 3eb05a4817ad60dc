"""The comparison with a control by its artists."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import same_color

from promptlift import analysis, plots
from support.drawn import words
from support.sentences import PLOTS


def runs(n=80, rates=(0.5, 0.9, 0.1)):
    rng = np.random.default_rng(7)
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "run": name,
                    "task": range(n),
                    "task_completed": rng.random(n) < rate,
                    "quality": rng.normal(rate, 1, n),
                }
            )
            for name, rate in zip("abcdefgh", rates, strict=False)
        ],
        ignore_index=True,
    )


def points(ax):
    """Points that were drawn: x, y, hollow."""
    found = [
        (x, y, same_color(line.get_markerfacecolor(), ax.get_facecolor()))
        for line in ax.lines
        if line.get_marker() == "o"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]
    return sorted(found, key=lambda point: point[1])


def whiskers(ax):
    return [c for c in ax.collections if isinstance(c, LineCollection)]


@pytest.mark.parametrize(("value", "column"), [("difference", "difference_points"), ("lift", "lift_percent")])
def test_points_and_whiskers_are_the_numbers_of_the_analysis_the_best_on_top(value, column):
    table = runs()
    expected = analysis.compare(table, by="run", pair="task", control="a").sort_values(column)
    ax = plots.compare(table, by="run", pair="task", control="a", value=value)
    assert [x for x, _, _ in points(ax)] == pytest.approx(expected[column].tolist())
    assert [y for _, y, _ in points(ax)] == [0.0, 1.0]
    ends = np.concatenate([c.get_segments() for c in whiskers(ax)])[:, :, 0]
    np.testing.assert_allclose(ends, expected[[f"{column}_low", f"{column}_high"]])
    diamonds = [line for line in ax.lines if line.get_marker() == "D"]
    assert bool(diamonds) == (value == "lift")
    for diamond in diamonds:
        assert diamond.get_xdata().tolist() == pytest.approx(expected["lift_percent_expected"].tolist())


def test_the_control_is_a_line_at_nought_and_is_always_in_the_picture():
    ax = plots.compare(runs(rates=(0.2, 0.9)), by="run", pair="task", control="a")
    lines = [line for line in ax.lines if line.get_marker() in ("", "None", None)]
    assert [list(line.get_xdata()) for line in lines] == [[0.0, 0.0]]
    low, high = ax.get_xlim()
    assert low < 0.0 < high


def test_the_verdict_the_numbers_and_the_rule_stand_there_in_words():
    said = words(plots.compare(runs(), by="run", pair="task", control="a"))
    assert "b: winner" in said
    assert "c: worse" in said
    assert any("80 pairs · confidence" in text and text.endswith("that it is worse") for text in said)
    assert any("Winner or worse: confidence 0.90 or more" in text.replace("\n", " ") for text in said)
    assert "task completed, difference to a in percentage points (95 % interval)" in said


def test_a_variant_that_shares_no_item_is_not_compared_in_the_picture():
    table = runs()
    table.loc[table["run"].eq("c"), "task"] += 1_000
    said = words(plots.compare(table, by="run", pair="task", control="a"))
    assert "b: winner" in said
    assert "c: not compared" in said
    assert "0 pairs" in said


def test_without_an_interval_the_points_are_hollow_and_have_no_whiskers():
    ax = plots.compare(runs(), by="run", control="a", value="lift")
    assert all(hollow for _, _, hollow in points(ax))
    assert all(len(segment) < 2 for c in whiskers(ax) for segment in c.get_segments())
    said = words(ax)
    assert "Lift over a in percent" in said
    assert any(PLOTS["no interval"] in text for text in said)


def test_scores_are_drawn_in_their_own_unit():
    ax = plots.compare(runs(), by="run", pair="task", outcome="quality", control="a")
    assert ax.get_xlabel() == "quality, difference to a of means (95 % interval)"
    with pytest.raises(ValueError, match=PLOTS["no lift of a score"]):
        plots.compare(runs(), by="run", outcome="quality", value="lift")


def test_sentiments_are_drawn_by_their_positive_share_and_other_labels_without_a_point():
    table = runs().assign(
        sentiment=np.resize(["positive", "neutral", "negative", "neutral"], 240), end="STOP"
    )
    ax = plots.compare(table, by="run", outcome="sentiment", control="a")
    assert "sentiment: positive" in ax.get_xlabel()
    assert len(points(ax)) == 2
    ax = plots.compare(table, by="run", outcome="end", control="a")
    assert not points(ax)
    assert "c: no winner" in words(ax)


def test_no_rows_say_so():
    ax = plots.compare(runs().head(0), by="run", pair="task")
    assert "No variants to compare" in words(ax)
    assert not points(ax)


def test_at_most_twenty_variants_are_drawn_and_it_is_said():
    table = pd.concat([runs().assign(run=f"v{i}") for i in range(24)], ignore_index=True)
    ax = plots.compare(table, by="run", control="v0")
    assert len(points(ax)) == 20
    assert any(PLOTS["most trials"] in text.replace("\n", " ") for text in words(ax))


def test_axes_colours_and_bad_values():
    _, ax = plt.subplots()
    assert plots.compare(runs(), by="run", ax=ax, color="black", marker="o") is ax
    with pytest.raises(ValueError, match="'difference' or 'lift'"):
        plots.compare(runs(), by="run", value="points")
    with pytest.raises(ValueError, match="by must be"):
        plots.compare(runs())
