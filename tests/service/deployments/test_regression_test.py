"""Which conversations a regression test has, and what they say."""

from __future__ import annotations

import random

from promptlift.service.deployments.regression_test import (
    PAIRS,
    SCENARIOS,
    plan_cells,
    summarize,
)
from promptlift.service.simulations.personas import library
from promptlift.service.store.tables.runs import SimulationRow


def test_there_are_pairs_enough_to_exclude_ten_points_and_no_cell_comes_twice():
    for scenarios in (1, 5, 11, SCENARIOS):
        cells = plan_cells(library(), random.Random(1), scenarios=scenarios)
        assert len(cells) >= PAIRS >= 170
        assert {scenario for scenario, _ in cells} == set(range(scenarios))
    assert len({(scenario, persona.id) for scenario, persona in cells}) == len(cells)
    assert cells == plan_cells(library(), random.Random(1)) != plan_cells(library(), random.Random(2))


def outcomes(pairs):
    """Outcomes of pairs ``(live, new)``, and the scenario of each cell: 15 pairs each."""
    ended = [
        SimulationRow(cell=at, arm=arm, task_completed=completed)
        for at, pair in enumerate(pairs)
        for arm, completed in zip((0, 3), pair, strict=True)
    ]
    return {at: at // 15 for at in range(len(pairs))}, ended


NAMES = [f"S{n}" for n in range(12)]


def test_a_text_that_is_as_good_passes():
    scenario_of, ended = outcomes([(True, True)] * 150 + [(True, False), (False, True)] * 15)
    summary = summarize(NAMES, scenario_of, ended)
    assert summary.test.passed
    assert summary.reason is None
    document = summary.test.to_wire()
    assert document["verdict"] == "passed"
    assert document["summary"] == {"total": 12, "passed": 12, "regressed": 0}
    assert document["pairs"] == {"n": 180, "n11": 150, "n10": 15, "n01": 15, "n00": 0, "dropped": 0}
    assert document["liftPointsLow"] > -10
    assert [one["n"] for one in document["scenarios"]] == [15] * 12


def test_one_scenario_that_breaks_is_enough():
    scenario_of, ended = outcomes([(True, False)] * 15 + [(False, True)] * 30 + [(True, True)] * 135)
    summary = summarize(NAMES, scenario_of, ended)
    assert not summary.test.passed
    assert summary.test.to_wire()["verdict"] == "regressed"
    assert summary.test.to_wire()["summary"] == {"total": 12, "passed": 11, "regressed": 1}
    broken = summary.test.to_wire()["scenarios"][0]
    assert (broken["name"], broken["passed"], broken["delta"]) == ("S0", False, -100.0)
    assert summary.reason.endswith("; worse in: S0")


def test_scenarios_that_go_together_are_fewer_pairs_than_they_seem():
    """Half of the scenarios gain what the other half loses, too little each to be found."""
    better = [(False, True)] * 4 + [(True, True)] * 11
    worse = [(True, False)] * 4 + [(True, True)] * 11
    scenario_of, ended = outcomes((better + worse) * 6)
    document = summarize(NAMES, scenario_of, ended).test.to_wire()
    assert document["summary"]["regressed"] == 0
    mixed = outcomes([(False, True), (True, False), *[(True, True)] * 3] * 36)
    alike = summarize(NAMES, *mixed).test.to_wire()
    assert alike["verdict"] == "passed"
    assert document["liftPoints"] == alike["liftPoints"] == 0.0
    assert document["liftPointsLow"] < -10 < alike["liftPointsLow"]
    assert document["verdict"] == "inconclusive"


def test_a_lost_conversation_takes_its_pair_away():
    scenario_of, ended = outcomes([(True, True)] * 170 + [(None, True), (True, None), (None, None)])
    document = summarize(NAMES, scenario_of, ended[:-1]).test.to_wire()
    # The very last pair is not complete: it was not held yet.
    assert document["pairs"] == {"n": 170, "n11": 170, "n10": 0, "n01": 0, "n00": 0, "dropped": 2}


def test_a_test_that_ended_early_is_never_passed():
    scenario_of, ended = outcomes([(True, True)] * 180)
    summary = summarize(NAMES, scenario_of, ended, stopped="The model is gone")
    assert (summary.test.passed, summary.reason) == (False, "The model is gone")
    assert (summary.test.to_wire()["passed"], summary.test.to_wire()["verdict"]) == (False, "inconclusive")
    nothing = summarize(NAMES, scenario_of, [], stopped="The model is gone")
    assert (nothing.test.passed, nothing.reason) == (False, "The model is gone")
    assert nothing.test.to_wire()["summary"] == {"total": 0, "passed": 0, "regressed": 0}
