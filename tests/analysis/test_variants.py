"""Lift and confidence of variants: the service's numbers, nothing guessed."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import FrameError

COLUMNS = ["stage", "lift", "lift_low", "lift_high", "uncertainty_source", "is_winner", "confidence"]


def table(*rows, **about):
    frame = pd.DataFrame(rows, columns=COLUMNS, dtype="object")
    names = [f"v{place}" for place in range(len(rows))]
    frame = frame.assign(optimization_id="o1", variant_id=names, name=names)
    frame["is_original"] = frame["variant_id"] == "v0"
    frame.attrs["promptlift"] = {"table": "variants", "optimization_id": "o1", **about}
    return frame


FULL = table(
    ("confirm", None, None, None, "none", False, None),
    ("screen", 30.0, -5.0, 70.0, "service", False, None),
    ("confirm", 17.3, 5.8, 30.3, "service", True, 0.92),
    ("screen", -4.0, -4.5, -3.0, "service", False, None),
    ("screen", 2.0, None, None, "service", False, None),
    (None, None, None, None, "none", False, None),
    status="completed",
    confidence=0.92,
    threshold=0.9,
    trace=[0.5, 0.8, 0.92],
    rehearsal=True,
)


def test_confirmed_come_before_screened_and_an_interval_without_ends_is_not_none():
    answer = analysis.variant_lift(FULL)
    assert answer["variant_id"].tolist() == ["v2", "v1", "v4", "v3", "v5"]
    assert answer["lift"].tolist()[:4] == [17.3, 30.0, 2.0, -4.0]
    assert answer["is_winner"].tolist() == [True, False, False, False, False]
    for end in ("low", "high"):
        assert answer[f"{end}_unbounded"].tolist() == [False, False, True, False, False]
    assert answer["equivalence"].isna().all()
    empty = analysis.variant_lift(FULL.iloc[:0])
    assert (list(empty.columns), len(empty)) == (list(answer.columns), 0)


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


@pytest.mark.parametrize("band", [0, -1, math.nan, math.inf])
def test_a_band_that_is_none_is_refused(band):
    with pytest.raises(ValueError, match="above 0"):
        analysis.variant_lift(FULL, equivalence=band)


def test_two_columns_are_enough_and_no_interval_is_guessed():
    answer = analysis.variant_lift(pd.DataFrame({"name": ["a", "b"], "lift": [1.0, 50.0]}), equivalence=5)
    assert answer["name"].tolist() == ["b", "a"]
    assert answer["uncertainty_source"].tolist() == ["none", "none"]
    assert answer[["lift_low", "lift_high", "n_pairs", "confidence", "equivalence"]].isna().all(axis=None)


@pytest.mark.parametrize("column", ["name", "lift"])
def test_a_missing_column_says_what_to_read(column):
    with pytest.raises(FrameError, match=r"lift\.variants"):
        analysis.variant_lift(FULL.drop(columns=column))
    with pytest.raises(FrameError, match=r"lift\.variants"):
        analysis.variant_confidence(FULL.drop(columns="confidence"))


def test_the_trace_is_one_row_a_pass_and_its_gaps_stay_gaps():
    answer = analysis.variant_confidence(FULL)
    assert answer["look"].tolist() == [1, 2, 3]
    assert answer["confidence"].tolist() == [0.5, 0.8, 0.92]
    assert answer["reached"].tolist() == [False, False, True]
    for told in (answer.attrs["promptlift"], analysis.variant_lift(FULL).attrs["promptlift"]):
        assert [told[name] for name in ("status", "confidence", "threshold", "rehearsal")] == [
            "completed", 0.92, 0.9, True,
        ]  # fmt: skip
    gaps = FULL.copy()
    gaps.attrs["promptlift"] = {"trace": [0.5, None, 0.7]}
    assert analysis.variant_confidence(gaps)["confidence"].isna().tolist() == [False, True, False]
    assert analysis.variant_confidence(gaps)["reached"].isna().all()
