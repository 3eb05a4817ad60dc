"""Where a variant differs from the original, by the artists."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import analysis, plots
from support.drawn import points, said, words
from support.synthetic_versions import simulations


def test_personas_and_scenarios_with_enough_pairs_have_a_row_and_the_others_are_counted():
    table = simulations(60, personas=8, scenarios=14)
    ax, found = plots.where_it_differs(table), analysis.where_it_differs(table)
    parts = {part: found[found["part"] == part] for part in ("all", "persona", "scenario")}
    shown = pd.concat([rows[rows["n"] >= 5] for rows in parts.values()])
    assert [x for x, _ in points(ax, "o")] == pytest.approx(shown["difference"].tolist())
    few = int(parts["scenario"]["n"].lt(5).sum())
    assert 0 < few < 14
    assert f"Not shown: {few} scenarios with fewer than 5 pairs." in said(ax)
    assert {"By persona", "By scenario", "all pairs"} <= set(words(ax))
    many = said(plots.where_it_differs(simulations(240, personas=14, scenarios=30, rehearsal=True)))
    assert "Only the 12 personas with the most pairs are shown." in many
    assert "REHEARSAL" in many


def test_the_screening_is_only_in_the_plot_on_request():
    screen, confirm = simulations(90, stage="screen"), simulations(60, seed=1)
    confirm["cell"] += 90
    table = pd.concat([screen, confirm], ignore_index=True)
    assert "screening" not in said(plots.where_it_differs(table))
    assert "screening" in said(plots.where_it_differs(table, stage="all"))
