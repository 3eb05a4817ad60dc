"""The targets of an optimization, measured on its pairs, and the hypothesis that is held against them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from promptlift.schema.results import OptimizationResults
from promptlift.service.optimizations.goal import intent_results
from promptlift.stats import analyse_pairs

BETTER, WORSE, UNCLEAR = (40, 40, 5, 15), (40, 5, 40, 15), (40, 11, 9, 40)


def rows(*tables):
    """Conversations in which each target has a table of pairs: both, only the variant, only the original, neither."""
    sides = ((True, True), (True, False), (False, True), (False, False))
    pairs = [
        [side for side, count in zip(sides, table, strict=True) for _ in range(count)] for table in tables
    ]
    return [
        SimpleNamespace(cell=cell, arm=number, criteria=[one[side] for one in outcomes])
        for cell, outcomes in enumerate(zip(*pairs, strict=True))
        for side, number in ((0, 1), (1, 0))
    ]


def results(intent, found, *, finalist=1, completion=(40, 20, 10, 30), look=3, looks=10):
    """Results as the API has them."""
    analysis = analyse_pairs(*completion, look=look, max_looks=looks)
    return OptimizationResults(
        **intent_results(intent, found, finalist=finalist, analysis=analysis)
    ).to_wire()


def test_a_target_is_measured_as_task_completion_is():
    intent = {"targetImprovements": [" Name the day ", "Name the day", " "]}
    (target,) = results(intent, rows(BETTER))["targets"]
    same = analyse_pairs(*BETTER, look=3, max_looks=10)
    assert target == {
        "target": "Name the day",
        "change": "improved",
        "original": 45.0,
        "variant": 80.0,
        "points": same.lift_points,
        "pointsLow": same.lift_points_low,
        "pointsHigh": same.lift_points_high,
        "intervalLevel": 0.9,
        "n": 100,
    }


def test_several_targets_share_the_error():
    tables = [(40, 22, 8, 30)] * 5
    one = results({"targetImprovements": ["a"]}, rows(tables[0]))["targets"][0]
    several = results({"targetImprovements": list("abcde")}, rows(*tables))["targets"]
    assert [target["intervalLevel"] for target in several] == pytest.approx([0.98] * 5)
    assert several[0]["pointsLow"] < one["pointsLow"]
    assert [target["target"] for target in several] == list("abcde")


@pytest.mark.parametrize(
    ("tables", "changes", "held"),
    [
        ([BETTER], ["improved"], True),
        ([BETTER, UNCLEAR], ["improved", "unclear"], None),
        ([BETTER, WORSE], ["improved", "worse"], False),
        ([(2000, 0, 0, 2000)], ["unchanged"], False),
    ],
)
def test_a_change_is_named_by_its_interval_and_a_hypothesis_held_where_every_target_improved(
    tables, changes, held
):
    intent = {"targetImprovements": list("abc"[: len(tables)]), "hypothesis": " Asking first helps. "}
    found = results(intent, rows(*tables))
    assert [one["change"] for one in found["targets"]] == changes
    assert found["hypothesis"] == {"text": "Asking first helps.", "held": held, "measuredBy": "targets"}


def test_without_targets_task_completion_decides_and_without_an_intent_there_is_nothing_to_say():
    for completion, held in ((BETTER, True), (WORSE, False), (UNCLEAR, None)):
        found = results({"hypothesis": "It helps."}, [], completion=completion)
        assert found == {"hypothesis": {"text": "It helps.", "held": held, "measuredBy": "taskCompletion"}}
    for intent in ({}, {"targetImprovements": [], "hypothesis": None}, {"hypothesis": " "}):
        assert results(intent, rows((1, 1, 1, 1))) == {}


def test_pairs_that_lack_a_finalist_a_criterion_or_a_side_do_not_count():
    intent = {"targetImprovements": ["a"], "hypothesis": "h"}
    found = results(intent, rows(BETTER), finalist=None)
    (target,) = found["targets"]
    assert (target["n"], target["change"], target["points"], found["hypothesis"]["held"]) == (
        0,
        "unclear",
        None,
        None,
    )
    lacking = rows((1, 2, 0, 0))
    lacking[0].criteria = None
    lacking[2].criteria = [True, False]
    lacking.append(SimpleNamespace(cell=9, arm=1, criteria=[True]))
    (target,) = results({"targetImprovements": ["a"]}, lacking)["targets"]
    assert target["n"] == 1


@pytest.mark.slow
def test_targets_that_nothing_changes_are_rarely_called_improved():
    """Three targets of which none moves, looked at after every pass; the first that is called improved counts."""
    draws, looks, size = np.random.default_rng(20261122), 6, 15
    false = 0
    for _ in range(300):
        met = draws.random((2, looks * size, 3)) < 0.5
        for look in range(1, looks + 1):
            found = [
                SimpleNamespace(cell=cell, arm=arm, criteria=met[arm, cell].tolist())
                for cell in range(look * size)
                for arm in (0, 1)
            ]
            changes = results({"targetImprovements": list("abc")}, found, look=look, looks=looks)["targets"]
            if any(one["change"] == "improved" for one in changes):
                false += 1
                break
    # One side of intervals that hold together in 90%: 5%, with the tolerance of 300 draws (exact binomial, 0.999).
    assert false <= 28
