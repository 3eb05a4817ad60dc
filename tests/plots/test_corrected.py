"""Plots of tables with labels: the judge's estimates hollow, the corrected ones filled, and words for which is which."""

from __future__ import annotations

import re

import pytest
from matplotlib.colors import same_color

from promptlift import analysis, plots
from support.drawn import said
from support.labelled import judged, label


@pytest.fixture(scope="module")
def world():
    table, truth = judged(1_200)
    return table, label(analysis.label_plan(table, by="prompt", n=240), truth)


def estimates(ax, axis=0):
    """The hollow and the filled points along an axis."""
    found = {True: [], False: []}
    for line in ax.lines:
        if line.get_linestyle() == "None" and line.get_marker() != "|":
            found[same_color(line.get_markerfacecolor(), ax.get_facecolor())] += list(line.get_data()[axis])
    return found[True], found[False]


def title_of(ax):
    return ax.get_title("left").replace("\n", " ")


@pytest.mark.parametrize(
    ("name", "options", "column", "text"),
    [
        ("compare", {"by": "prompt", "control": "old"}, "difference_points", "new: lower "),
        ("segments", {"by": "prompt"}, "difference_points", "prompt old · higher"),
        (
            "completion_trend",
            {"freq": "MS"},
            "rate",
            "Hollow: as the judge says. Filled: corrected by 240 labels.",
        ),
    ],
)
def test_the_judges_estimate_is_hollow_and_the_corrected_one_filled(world, name, options, column, text):
    table, labels = world
    result = getattr(analysis, name)(table, labels=labels, **options)
    ax = getattr(plots, name)(result)
    hollow, filled = estimates(ax, axis=1 if column == "rate" else 0)
    assert hollow == pytest.approx(result[column].tolist())
    assert filled == pytest.approx(result[f"{column}_corrected"].dropna().tolist())
    assert text in said(ax)
    without = getattr(plots, name)(table, **options)
    assert estimates(without)[0] == []
    assert "labels" not in said(without)


def test_titles_say_that_labels_correct_them_or_that_they_are_uncorrected(world):
    table, labels = world
    several = table.assign(prompt=table["prompt"].where(table.index % 4 != 0, "third"))
    for rows in (table, several):
        ax = plots.compare(rows, by="prompt", control="old", labels=labels, title="auto")
        assert re.search(
            r"orrected by .*labels.* new completes .* less than old", title_of(ax).replace(":", "")
        )
    # The judge sees the other one ahead: a title has the numbers that its verdict comes from.
    ax = plots.segments(table, by="prompt", labels=labels, title="auto")
    said = "Corrected by labels: “prompt: (old” completes .* more|new” completes .* less) "
    assert re.match(said, title_of(ax))
    ax = plots.completion_trend(table, freq="MS", labels=labels, title="auto")
    assert title_of(ax).startswith("Uncorrected, as the judge says: ")


def test_an_overview_has_the_corrected_rate_beside_the_judges(world):
    table, labels = world
    table = table.assign(prompt_id=table["prompt"], issues=[[] for _ in range(len(table))])
    row = analysis.prompt_overview(table, labels=labels).iloc[0]
    text = said(plots.prompt_overview(table, labels=labels))
    assert "completed, as the judge says" in text
    assert f"{row['rate_corrected']:.0%} corrected by 240 labels" in text
    refused = said(plots.prompt_overview(table, labels=labels.drop(columns="chance")))
    assert "not corrected by labels" in refused
