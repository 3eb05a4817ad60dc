"""An experiment on real users as a picture: differences over time, and nothing that its basis does not permit."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import same_color

from promptlift import plots
from promptlift.analysis.reading import WORDS_NOTE
from promptlift.plots.periods import day_numbers
from promptlift.schema.basis import UNTOLD
from promptlift.schema.experiments import RampStep
from support.drawn import points, said, whiskers
from support.side_by_side import START, experiment

DIRECTIONS = ("more than v2 (", "less than v2 (", "points measured", "better", "worse", "rises", "falls")


def test_each_version_has_its_line_its_newest_interval_and_its_units():
    found = experiment()
    ax = plots.compare(found, title="auto")
    last = found.arms[1].over_time[-1]
    assert points(ax) == [(day_numbers([last.until])[0], last.estimate)]
    assert whiskers(ax, 1) == [[last.low, last.high]]
    line = next(line for line in ax.lines if len(line.get_xdata()) > 2)
    times = [one for one in found.arms[1].over_time if one.low is not None]
    assert list(line.get_ydata()) == [one.estimate for one in times]
    low, high = ax.get_ylim()
    assert low < min(0.0, last.low) < last.high < high
    shown = said(ax)
    assert found.sentence in shown
    assert "v3 completes" in shown
    assert "v3 (units = 600)" in shown
    assert "v2: 600 units, " in shown
    assert "however often one looks" in shown


def test_a_ramp_has_its_share():
    found = experiment()
    found.ramp = [RampStep(share=0.05, since=START), RampStep(share=0.5, since=START)]
    assert "Since 50% got the new version" in said(plots.compare(found))


def test_versions_that_were_assigned_wrongly_are_grey():
    shown = plots.compare(experiment(is_off=True), title="auto")
    assert all(same_color(line.get_color(), "0.55") for line in shown.lines[:-1])
    assert "no difference can be trusted" in said(shown)


def test_of_many_versions_those_that_differ_most_surely_are_drawn():
    ax = plots.compare(experiment([f"v{number}" for number in range(2, 11)]))
    assert len(whiskers(ax)) == 6
    assert len({tuple(x) for x in whiskers(ax)}) == 6  # beside each other
    assert "Only the 6 versions that differ most surely" in said(ax)


@pytest.mark.parametrize(("n", "words"), [(0, "No ended conversation is judged yet"), (8, "Too few units")])
def test_without_an_interval_the_sentence_is_shown(n, words):
    ax = plots.compare(experiment(n=n))
    assert words in said(ax)
    assert not whiskers(ax)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 300), st.floats(-0.5, 0.5), st.integers(2, 5), st.booleans())
def test_on_words_no_version_is_called_better(n, effect, count, is_off):
    names = [f"v{number}" for number in range(2, 2 + count)]
    found = experiment(names, n, effect=effect, basis="words", is_off=is_off)
    ax = plots.compare(found, title="auto")
    shown = said(ax)
    plt.close(ax.figure)
    assert not any(word in text for text in (shown, found.sentence) for word in DIRECTIONS)
    assert not whiskers(ax)
    assert is_off or not n or UNTOLD in found.sentence
    assert not n or WORDS_NOTE in shown
