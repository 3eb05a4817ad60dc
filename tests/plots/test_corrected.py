"""Plots of tables with labels: the judge's estimates hollow, the corrected ones filled, and words for which is which."""

from __future__ import annotations

import re

import pytest
from matplotlib.colors import to_rgba

from promptlift import analysis, plots
from support.labelled import judged, label


@pytest.fixture(scope="module")
def world():
    table, truth = judged(1_200)
    return table, label(analysis.label_plan(table, by="prompt", n=240), truth)


def points(ax):
    """Positions of the points on x and y, hollow and filled."""
    background = to_rgba(ax.get_facecolor())
    found = {True: [], False: []}
    for line in ax.lines:
        if line.get_linestyle() == "None":
            hollow = to_rgba(line.get_markerfacecolor()) == background
            found[hollow] += list(zip(line.get_xdata(), line.get_ydata(), strict=True))
    return found[True], found[False]


def title_of(ax):
    return ax.get_title("left").replace("\n", " ")


def words(ax):
    return " ".join(text.get_text() for text in [*ax.texts, *ax.figure.texts, ax.title]).replace("\n", " ")


def test_a_comparison_has_the_judges_difference_hollow_and_the_corrected_one_filled(world):
    table, labels = world
    result = analysis.compare(table, by="prompt", control="old", labels=labels)
    ax = plots.compare(result)
    hollow, filled = points(ax)
    assert [x for x, _ in hollow] == pytest.approx(result["difference_points"].tolist())
    assert [x for x, _ in filled] == pytest.approx(result["difference_points_corrected"].tolist())
    assert filled[0][1] < hollow[0][1]
    low, high = ax.get_xlim()
    assert low < result["difference_points_corrected_low"].iloc[0]
    assert high > result["difference_points_high"].iloc[0]
    assert "new: worse " in words(ax)
    assert "winner" not in words(ax).partition("Winner or worse")[0]
    assert "Hollow: as the judge says. Filled: corrected by 240 labels." in words(ax)


def test_a_trend_has_both_in_every_period_that_could_be_corrected(world):
    table, labels = world
    result = analysis.completion_trend(table, freq="MS", labels=labels)
    hollow, filled = points(plots.completion_trend(result))
    assert [y for _, y in hollow] == pytest.approx(result["rate"].tolist())
    assert [y for _, y in filled] == pytest.approx(result["rate_corrected"].dropna().tolist())
    weekly = analysis.completion_trend(table, freq="W", labels=labels.head(30))
    ax = plots.completion_trend(weekly)
    assert points(ax)[1] == []
    assert "nothing could be corrected by labels. Not corrected: 4 of 4. Too few labels (" in words(ax)


def test_segments_have_both_and_the_verdict_of_the_labels(world):
    table, labels = world
    result = analysis.segments(table, by="prompt", labels=labels)
    ax = plots.segments(result)
    hollow, filled = points(ax)
    assert [x for x, _ in hollow] == pytest.approx(result["difference_points"].tolist())
    assert [x for x, _ in filled] == pytest.approx(result["difference_points_corrected"].tolist())
    assert "prompt: old · higher" in words(ax)


def test_without_labels_a_plot_is_what_it_was(world):
    table, _ = world
    ax = plots.compare(table, by="prompt", control="old")
    assert points(ax)[0] == []
    assert "labels" not in words(ax)


@pytest.mark.slow
def test_titles_say_what_labels_say_or_that_it_is_uncorrected(world):
    table, labels = world
    compared = analysis.compare(table, by="prompt", control="old", labels=labels)
    assert (
        plots.compare(compared, title="auto")
        .get_title("left")
        .replace("\n", " ")
        .startswith("Corrected by 240 labels: new completes")
    )
    # The judge sees the other one ahead: a title has the numbers that its verdict comes from.
    segments = plots.segments(analysis.segments(table, by="prompt", labels=labels), title="auto")
    assert re.match(
        "Corrected by labels: “prompt: (old” completes .* more|new” completes .* less) ", title_of(segments)
    )
    several = table.assign(prompt=table["prompt"].where(table.index % 4 != 0, "third"))
    three = analysis.compare(several, by="prompt", control="old", labels=labels)
    assert "new completes" in title_of(plots.compare(three, title="auto"))
    assert " less than old" in title_of(plots.compare(three, title="auto"))
    trend = analysis.completion_trend(table, freq="MS", labels=labels)
    assert (
        plots.completion_trend(trend, title="auto")
        .get_title("left")
        .startswith("Uncorrected, as the judge says: ")
    )


@pytest.mark.slow
def test_an_overview_has_the_corrected_rate_beside_the_judges(world):
    table, labels = world
    table = table.assign(prompt_id=table["prompt"], issues=[[] for _ in range(len(table))])
    row = analysis.prompt_overview(table, labels=labels).iloc[0]
    figure = plots.prompt_overview(table, labels=labels)
    said = words(figure.axes[0])
    assert "completed, as the judge says" in said
    assert f"{row['rate_corrected']:.0%} corrected by 240 labels" in said
    refused = words(plots.prompt_overview(table, labels=labels.drop(columns="chance")).axes[0])
    assert "not corrected by labels" in refused
    assert "corrected" not in words(plots.prompt_overview(table).axes[0])
