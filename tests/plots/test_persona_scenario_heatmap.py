"""Personas by scenarios by their artists."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from promptlift import analysis, plots
from support.drawn import words
from support.sentences import PLOTS
from support.synthetic_versions import simulations


def boxes(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def test_every_field_says_difference_and_counts():
    table = simulations(150)
    ax = plots.persona_scenario_heatmap(table)
    found = analysis.persona_scenario_heatmap(table)
    assert len(boxes(ax)) == len(found)
    texts = words(ax)
    for row in found.to_dict("records"):
        assert f"{row['completed']:,} : {row['completed_control']:,} of {row['n']:,}" in texts
    assert {"Persona 0", "Scenario 0", "all personas", "all scenarios"} <= set(texts)


def test_fields_of_few_pairs_are_hollow_and_missing_ones_are_not_drawn():
    table = simulations(12, personas=6, scenarios=6)
    ax = plots.persona_scenario_heatmap(table, cells=True)
    found = analysis.persona_scenario_heatmap(table)
    assert len(boxes(ax)) == len(found)
    hollow = [box for box in boxes(ax) if box.get_facecolor()[3] == 0]
    assert len(hollow) == int(found["n"].lt(5).sum())
    assert any(PLOTS["few pairs"] in text for text in words(ax))


def test_better_and_worse_have_different_colours_and_signs():
    ax = plots.persona_scenario_heatmap(
        simulations(150, personas=1, scenarios=1, lift=0.4), color=("black", "blue")
    )
    filled = boxes(ax)[0].get_facecolor()
    assert filled[2] > filled[0]
    assert any(text.startswith("+") for text in words(ax))


def test_only_the_largest_are_drawn_and_a_note_says_so():
    ax = plots.persona_scenario_heatmap(simulations(240, personas=40, scenarios=30, rehearsal=True))
    texts = words(ax)
    assert any("Shown: 6 of 40 personas, 14 of 30 scenarios" in text for text in texts)
    assert "REHEARSAL" in texts


def test_an_empty_table_says_so_on_a_dark_page_too():
    with plt.style.context("dark_background"):
        assert "No pairs of simulated conversations" in words(plots.persona_scenario_heatmap(simulations(0)))


@pytest.mark.slow
def test_cells_of_few_pairs_become_two_lists_of_dots_with_intervals():
    table = simulations(60, personas=8, scenarios=14)
    ax = plots.persona_scenario_heatmap(table)
    found = analysis.persona_scenario_heatmap(table)
    drawn = [x for line in ax.lines if line.get_marker() == "o" for x in line.get_xdata()]
    shown = [
        found[found["part"] == part].head(most)
        for part, most in (("all", 1), ("persona", 6), ("scenario", 14))
    ]
    assert sorted(drawn) == pytest.approx(sorted(pd.concat(shown)["difference"]))
    assert not boxes(ax)
    assert {"By persona", "By scenario", "all pairs"} <= set(words(ax))


def test_the_screening_is_only_in_the_picture_on_request():
    screen, confirm = simulations(90, stage="screen"), simulations(60, seed=1)
    confirm["cell"] += 90
    table = pd.concat([screen, confirm], ignore_index=True)
    assert not any("screening" in text for text in words(plots.persona_scenario_heatmap(table)))
    assert any("screening" in text for text in words(plots.persona_scenario_heatmap(table, stage="all")))
