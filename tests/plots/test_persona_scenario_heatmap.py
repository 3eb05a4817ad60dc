"""Personas by scenarios by their artists."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from promptlift import analysis, plots
from support.drawn import points, said, words
from support.sentences import PLOTS
from support.synthetic_versions import simulations


def boxes(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def test_every_cell_has_difference_and_counts_and_only_the_largest_are_drawn():
    table = simulations(150)
    ax, found = plots.persona_scenario_heatmap(table), analysis.persona_scenario_heatmap(table)
    assert len(boxes(ax)) == len(found)
    counts = {f"{row.completed:,} : {row.completed_control:,} of {row.n:,}" for row in found.itertuples()}
    assert counts | {"Persona 0", "Scenario 0", "all personas", "all scenarios"} <= set(words(ax))
    many = said(plots.persona_scenario_heatmap(simulations(240, personas=40, scenarios=30, rehearsal=True)))
    assert "Shown: 6 of 40 personas, 14 of 30 scenarios" in many
    assert "REHEARSAL" in many


def test_cells_of_few_pairs_are_hollow_and_missing_ones_are_not_drawn():
    table = simulations(12, personas=6, scenarios=6)
    ax, found = plots.persona_scenario_heatmap(table, cells=True), analysis.persona_scenario_heatmap(table)
    assert len(boxes(ax)) == len(found)
    hollow = [box for box in boxes(ax) if box.get_facecolor()[3] == 0]
    assert len(hollow) == int(found["n"].lt(5).sum())
    assert PLOTS["few pairs"] in said(ax)


def test_better_and_worse_have_different_colours_and_signs():
    one = simulations(150, personas=1, scenarios=1, lift=0.4)
    ax = plots.persona_scenario_heatmap(one, color=("black", "blue"))
    filled = boxes(ax)[0].get_facecolor()
    assert filled[2] > filled[0]
    assert any(text.startswith("+") for text in words(ax))


def test_an_empty_table_says_so_on_a_dark_page_too():
    with plt.style.context("dark_background"):
        assert "No pairs of simulated conversations" in words(plots.persona_scenario_heatmap(simulations(0)))


def test_cells_of_few_pairs_become_two_lists_of_dots_with_intervals():
    table = simulations(60, personas=8, scenarios=14)
    ax, found = plots.persona_scenario_heatmap(table), analysis.persona_scenario_heatmap(table)
    parts = (("all", 1), ("persona", 6), ("scenario", 14))
    shown = pd.concat([found[found["part"] == part].head(most) for part, most in parts])
    assert [x for x, _ in points(ax, "o")] == pytest.approx(shown["difference"].tolist())
    assert not boxes(ax)
    assert {"By persona", "By scenario", "all pairs"} <= set(words(ax))


def test_the_screening_is_only_in_the_plot_on_request():
    screen, confirm = simulations(90, stage="screen"), simulations(60, seed=1)
    confirm["cell"] += 90
    table = pd.concat([screen, confirm], ignore_index=True)
    assert "screening" not in said(plots.persona_scenario_heatmap(table))
    assert "screening" in said(plots.persona_scenario_heatmap(table, stage="all"))
