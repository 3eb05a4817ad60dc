"""The targets of an optimization, measured on its pairs, and the hypothesis that is held against them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from promptlift.schema.results import OptimizationResults
from promptlift.service.optimizations.goal import intent_results
from promptlift.stats import analyse_pairs


def rows(*tables, arm=1):
    """Conversations in which each target has a table of pairs: both, only the variant, only the original, neither."""
    pairs = [
        [(True, True)] * both
        + [(True, False)] * variant
        + [(False, True)] * original
        + [(False, False)] * neither
        for both, variant, original, neither in tables
    ]
    return [
        SimpleNamespace(cell=cell, arm=number, criteria=[one[side] for one in outcomes])
        for cell, outcomes in enumerate(zip(*pairs, strict=True))
        for side, number in ((0, arm), (1, 0))
    ]


def results(intent, found, *, finalist=1, completion=(40, 20, 10, 30), look=3, looks=10):
    analysis = analyse_pairs(*completion, look=look, max_looks=looks)
    return shown(intent_results(intent, found, finalist=finalist, analysis=analysis))


def shown(found):
    """Results as the API has them."""
    return OptimizationResults(**found).to_wire()


def test_a_target_is_measured_as_task_completion_is():
    intent = {"targetImprovements": [" Name the day ", "Name the day", " "]}
    (target,) = results(intent, rows((40, 40, 5, 15)))["targets"]
    same = analyse_pairs(40, 40, 5, 15, look=3, max_looks=10)
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


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ((40, 40, 5, 15), "improved"),
        ((40, 5, 40, 15), "worse"),
        ((40, 11, 9, 40), "unclear"),
        ((2000, 0, 0, 2000), "unchanged"),
    ],
)
def test_a_change_is_named_by_its_interval(table, change):
    (target,) = results({"targetImprovements": ["a"]}, rows(table))["targets"]
    assert target["change"] == change


def test_several_targets_share_the_error():
    tables = [(40, 22, 8, 30)] * 5
    one = results({"targetImprovements": ["a"]}, rows(tables[0]))["targets"][0]
    several = results({"targetImprovements": list("abcde")}, rows(*tables))["targets"]
    assert [target["intervalLevel"] for target in several] == pytest.approx([0.98] * 5)
    assert several[0]["pointsLow"] < one["pointsLow"]
    assert [target["target"] for target in several] == list("abcde")


@pytest.mark.parametrize(
    ("tables", "held"),
    [
        ([(40, 40, 5, 15)], True),
        ([(40, 40, 5, 15), (40, 40, 5, 15)], True),
        ([(40, 40, 5, 15), (40, 11, 9, 40)], None),
        ([(40, 40, 5, 15), (40, 5, 40, 15)], False),
    ],
)
def test_a_hypothesis_held_where_every_target_improved(tables, held):
    intent = {"targetImprovements": list("abc"[: len(tables)]), "hypothesis": " Asking first helps. "}
    found = results(intent, rows(*tables))
    assert found["hypothesis"] == {"text": "Asking first helps.", "held": held, "measuredBy": "targets"}


@pytest.mark.parametrize(
    ("completion", "held"), [((40, 40, 5, 15), True), ((40, 5, 40, 15), False), ((40, 11, 9, 40), None)]
)
def test_without_targets_task_completion_decides(completion, held):
    found = results({"hypothesis": "It helps."}, [], completion=completion)
    assert found == {"hypothesis": {"text": "It helps.", "held": held, "measuredBy": "taskCompletion"}}


@pytest.mark.parametrize("intent", [{}, {"targetImprovements": [], "hypothesis": None}, {"hypothesis": " "}])
def test_without_an_intent_there_is_nothing_to_say(intent):
    assert results(intent, rows((1, 1, 1, 1))) == {}


def test_before_there_is_a_finalist_nothing_is_known():
    intent = {"targetImprovements": ["a"], "hypothesis": "h"}
    found = shown(intent_results(intent, rows((40, 40, 5, 15)), finalist=None, analysis=None))
    assert found["targets"][0] | {"n": 0, "change": "unclear", "points": None} == found["targets"][0]
    assert found["hypothesis"]["held"] is None


def test_pairs_that_lack_a_criterion_or_a_side_do_not_count():
    found = rows((1, 2, 0, 0))
    found[0].criteria = None
    found[2].criteria = [True, False]
    found.append(SimpleNamespace(cell=9, arm=1, criteria=[True]))
    (target,) = results({"targetImprovements": ["a"]}, found)["targets"]
    assert target["n"] == 1


@pytest.mark.slow
def test_targets_that_nothing_changes_are_rarely_called_improved():
    """Three targets of which none moves, looked at after every pass; the first that is called improved counts."""
    draws, looks, size = np.random.default_rng(20261122), 6, 15
    false = 0
    for _ in range(300):
        met = draws.random((2, looks * size, 3)) < 0.5
        for look in range(1, looks + 1):
            cells = look * size
            found = [
                SimpleNamespace(cell=cell, arm=arm, criteria=met[arm, cell].tolist())
                for cell in range(cells)
                for arm in (0, 1)
            ]
            changes = results({"targetImprovements": list("abc")}, found, look=look, looks=looks)["targets"]
            if any(one["change"] == "improved" for one in changes):
                false += 1
                break
    # One side of intervals that hold together in 90 %: 5 %, with the tolerance of 300 draws (exact binomial, 0.999).
    assert false <= 28
