"""Lift and confidence of variants: the service's numbers, nothing guessed."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import FrameError


def table(rows, **about):
    frame = pd.DataFrame(
        [
            {
                "optimization_id": "o1",
                "variant_id": f"v{number}",
                "name": f"n{number}",
                "is_original": number == 0,
                "is_winner": False,
                "stage": None,
                "lift": None,
                "lift_low": None,
                "lift_high": None,
                "uncertainty_source": "none",
                "confidence": None,
                **row,
            }
            for number, row in enumerate(rows)
        ]
    )
    frame.attrs["promptlift"] = {"table": "variants", "optimization_id": "o1", **about}
    return frame


FULL = table(
    [
        {"stage": "confirm"},
        {
            "stage": "screen",
            "lift": 30.0,
            "lift_low": -5.0,
            "lift_high": 70.0,
            "uncertainty_source": "service",
        },
        {
            "stage": "confirm",
            "lift": 17.3,
            "lift_low": 5.8,
            "lift_high": 30.3,
            "uncertainty_source": "service",
            "is_winner": True,
            "confidence": 0.92,
        },
        {
            "stage": "screen",
            "lift": -4.0,
            "lift_low": -4.5,
            "lift_high": -3.0,
            "uncertainty_source": "service",
        },
        {"stage": "screen", "lift": 2.0, "uncertainty_source": "service"},
        {"lift": None},
    ],
    status="completed",
    confidence=0.92,
    threshold=0.9,
    trace=[0.5, 0.8, 0.92],
    rehearsal=True,
)


def test_confirmed_before_screened_and_the_largest_lift_first():
    answer = analysis.variant_lift(FULL)
    assert answer["variant_id"].tolist() == ["v2", "v1", "v4", "v3", "v5"]
    assert answer["lift"].tolist()[:4] == [17.3, 30.0, 2.0, -4.0]
    assert answer["is_winner"].tolist() == [True, False, False, False, False]


def test_an_interval_without_ends_is_told_from_none():
    answer = analysis.variant_lift(FULL).set_index("variant_id")
    assert answer["low_unbounded"].to_dict() == {
        "v2": False,
        "v1": False,
        "v4": True,
        "v3": False,
        "v5": False,
    }
    assert answer["high_unbounded"].to_dict() == answer["low_unbounded"].to_dict()


@pytest.mark.parametrize(
    ("band", "words"),
    [
        (5.0, ["better", "unclear", "unclear", "equivalent", None]),
        (2.0, ["better", "unclear", "unclear", "worse", None]),
        (40.0, ["equivalent", "unclear", "unclear", "equivalent", None]),
    ],
)
def test_a_band_says_what_makes_no_practical_difference(band, words):
    answer = analysis.variant_lift(FULL, equivalence=band)
    assert [None if pd.isna(word) else word for word in answer["equivalence"]] == words
    assert answer.attrs["promptlift"]["equivalence"] == band


def test_without_a_band_or_an_interval_nothing_is_judged():
    assert analysis.variant_lift(FULL)["equivalence"].isna().all()
    bare = table([{}, {"lift": 50.0}])
    assert analysis.variant_lift(bare, equivalence=5)["equivalence"].isna().all()


@pytest.mark.parametrize("band", [0, -1, math.nan, math.inf])
def test_a_band_that_is_none_is_refused(band):
    with pytest.raises(ValueError, match="above 0"):
        analysis.variant_lift(FULL, equivalence=band)


def test_what_is_known_of_the_optimization_goes_along():
    for answer in (analysis.variant_lift(FULL), analysis.variant_confidence(FULL)):
        told = answer.attrs["promptlift"]
        assert (told["status"], told["confidence"], told["threshold"], told["rehearsal"]) == (
            "completed",
            0.92,
            0.9,
            True,
        )
        assert told["n_optimizations"] == 1


def test_two_columns_are_enough():
    answer = analysis.variant_lift(pd.DataFrame({"name": ["a", "b"], "lift": [1.0, 2.0]}))
    assert answer["name"].tolist() == ["b", "a"]
    assert answer["uncertainty_source"].tolist() == ["none", "none"]
    assert answer[["lift_low", "lift_high", "n_pairs", "confidence"]].isna().all(axis=None)


def test_no_variants_give_an_empty_table_with_the_same_columns():
    empty = FULL.iloc[:0]
    assert list(analysis.variant_lift(empty).columns) == list(analysis.variant_lift(FULL).columns)
    assert len(analysis.variant_lift(empty)) == 0


@pytest.mark.parametrize("column", ["name", "lift"])
def test_a_missing_column_says_what_to_read(column):
    with pytest.raises(FrameError, match=r"lift\.variants"):
        analysis.variant_lift(FULL.drop(columns=column))
    with pytest.raises(FrameError, match=r"lift\.variants"):
        analysis.variant_confidence(FULL.drop(columns="confidence"))


def test_the_trace_is_one_row_a_pass():
    answer = analysis.variant_confidence(FULL)
    assert answer["look"].tolist() == [1, 2, 3]
    assert answer["confidence"].tolist() == [0.5, 0.8, 0.92]
    assert answer["reached"].tolist() == [False, False, True]
    assert answer.attrs["promptlift"]["has_trace"] is True


def test_gaps_in_a_trace_stay_gaps():
    answer = analysis.variant_confidence(table([{}, {}], trace=[0.5, None, 0.7]))
    assert answer["confidence"].isna().tolist() == [False, True, False]
    assert answer["reached"].isna().all()


def test_without_a_trace_the_reported_confidence_is_alone():
    bare = table([{}, {"confidence": 0.4}, {"confidence": 0.92, "is_winner": True}, {"confidence": 0.97}])
    answer = analysis.variant_confidence(bare)
    assert answer["confidence"].tolist() == [0.92]
    assert answer["look"].isna().all()
    assert answer.attrs["promptlift"]["has_trace"] is False


def test_several_optimizations_keep_their_own_traces():
    both = pd.concat([FULL, FULL.assign(optimization_id="o2")], ignore_index=True)
    both.attrs["promptlift"] = {
        "table": "variants",
        "optimizations": {
            "o1": {"optimization_id": "o1", "trace": [0.6, 0.7], "threshold": 0.9},
            "o2": {"optimization_id": "o2", "trace": [], "confidence": 0.95, "threshold": 0.95},
        },
    }
    answer = analysis.variant_confidence(both)
    assert answer["optimization_id"].tolist() == ["o1", "o1", "o2"]
    assert answer["reached"].tolist() == [False, False, True]
    assert analysis.variant_lift(both)["optimization_id"].tolist() == ["o1"] * 5 + ["o2"] * 5
    assert analysis.variant_lift(both).attrs["promptlift"]["n_optimizations"] == 2
