"""Personas by scenarios: pairs on the same cells, and their sums."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import FrameError
from promptlift.stats.effect import lift_interval
from support.synthetic_versions import simulations


def test_a_field_counts_its_own_pairs_and_all_parts_sum_to_all():
    table = simulations(150)
    found = analysis.where_it_differs(table)
    sums = found.groupby("part")[["n", "completed", "n11", "n10", "n01", "n00"]].sum()
    assert sums["n"].tolist() == [150] * 4
    assert (sums == sums.loc["all"]).all(axis=None)
    field = found.query("part == 'field'").iloc[0]
    mine = table[(table["persona"] == field["persona"]) & (table["scenario"] == field["scenario"])]
    wide = mine.pivot(index="cell", columns="variant_id", values="task_completed").astype(bool)  # noqa: PD010
    assert (field["n"], field["n10"]) == (len(wide), int((wide["v1"] & ~wide["v0"]).sum()))
    assert field["difference"] == pytest.approx(100 * (wide["v1"].mean() - wide["v0"].mean()))
    ends = lift_interval(*(int(field[name]) for name in ("n11", "n10", "n01", "n00")), level=0.95)
    assert field["difference_low"] == pytest.approx(ends.points_low)
    assert field["difference_high"] == pytest.approx(ends.points_high)


def test_the_variant_of_the_confirmation_is_taken_unless_another_is_named():
    screen = simulations(30, variants=3, stage="screen")
    confirm = simulations(15, variants=1, seed=1)
    confirm["cell"] += 30
    confirm.loc[~confirm["is_original"], "variant_id"] = "v2"
    table = pd.concat([screen, confirm], ignore_index=True)
    found = analysis.where_it_differs(table)
    assert found.attrs["promptlift"]["variant_id"] == "v2"
    assert found["n"].iloc[0] == 15
    assert found.attrs["promptlift"]["stages"] == ["confirm"]
    everything = analysis.where_it_differs(table, stage="all")
    assert everything["n"].iloc[0] == 45
    assert everything.attrs["promptlift"]["stages"] == ["screen", "confirm"]
    assert analysis.where_it_differs(table, stage="confirm")["n"].iloc[0] == 15
    assert analysis.where_it_differs(table, variant_id="v3")["n"].iloc[0] == 30


def test_cells_without_both_outcomes_are_dropped_and_counted():
    table = simulations(20)
    table.loc[0, "task_completed"] = pd.NA
    found = analysis.where_it_differs(table)
    assert found["n"].iloc[0] == 19
    assert found.attrs["promptlift"]["n_dropped"] == 1


def test_unknown_variants_stages_and_columns_are_refused():
    with pytest.raises(ValueError, match="no simulations of variant 'x'"):
        analysis.where_it_differs(simulations(5), variant_id="x")
    with pytest.raises(ValueError, match="stage must be one of"):
        analysis.where_it_differs(simulations(5), stage="done")
    with pytest.raises(FrameError, match="persona"):
        analysis.where_it_differs(simulations(5).drop(columns="persona"))


def test_a_cell_that_is_there_twice_is_no_pair():
    table = simulations(5)
    with pytest.raises(ValueError, match="appear twice"):
        analysis.where_it_differs(pd.concat([table, table], ignore_index=True))


def test_an_interval_ends_where_no_difference_can_be_larger():
    table = simulations(2)
    table["task_completed"] = pd.array([False, True] * 2, "boolean")
    row = analysis.where_it_differs(table).iloc[0]
    assert (row["difference"], row["difference_high"]) == (100.0, 100.0)
