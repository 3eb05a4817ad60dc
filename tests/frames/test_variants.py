"""The table of variants says what was given, in which unit, and what cannot be known."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift import frames, stats
from promptlift.frames.columns import dtype_of
from promptlift.frames.headline import headline_of, headlines_of
from promptlift.frames.lift_basis import POINTS, RELATIVE, UNKNOWN, GivenLift, bases_of


def foreign(rates, lifts, *, results=None, **winner):
    """Variants as the specification has them: an original and others."""
    variants = [
        {
            "id": f"v{number}",
            "name": f"n{number}",
            "isOriginal": number == 0,
            "content": "c",
            "metrics": {"taskCompletion": rate, "sentiment": 0.1, "quality": 70},
            **({"lift": lift} if number else {}),
            **({"isWinner": True} if f"v{number}" == winner.get("winner") else {}),
        }
        for number, (rate, lift) in enumerate(zip(rates, lifts, strict=True))
    ]
    optimization = {"id": "o1", "promptId": "p1", "status": "completed", "results": results or {}}
    return {"id": "o1", "optimization": optimization, "variants": variants}


def ours(number, counts, *, stage="confirm", look=1, max_looks=1, **more):
    said = stats.analyse_pairs(*counts, look=look, max_looks=max_looks)
    return {
        "id": f"v{number}",
        "name": f"n{number}",
        "isOriginal": False,
        "content": "c",
        "number": number,
        "stage": stage,
        "metrics": {"taskCompletion": 100 * said.p1, "sentiment": 0.2, "quality": 71},
        "originalTaskCompletion": 100 * said.p0,
        "lift": said.lift,
        "liftLow": said.lift_low,
        "liftHigh": said.lift_high,
        "liftPoints": said.lift_points,
        "liftExpected": said.lift_expected,
        "intervalLevel": said.interval_level,
        "confidence": said.confidence if stage == "confirm" else None,
        "n": said.n,
        "pairs": {**dict(zip(("n11", "n10", "n01", "n00"), counts, strict=True)), "n": said.n, "dropped": 3},
        "look": look,
        "maxLooks": max_looks,
        "warnings": ["Few pairs.", "Mind the panel."],
        "rehearsal": False,
        **more,
    }


def table(*items):
    frame, doubts, about = frames.variants_table(list(items))
    assert doubts == {}
    return frame, about


def test_dtypes_are_fixed_also_when_empty():
    for items in ([], [{"id": "o", "optimization": {}, "variants": []}], [foreign([70, 77], [None, 10])]):
        frame, _, _ = frames.variants_table(items)
        assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
            column.name: str(pd.Series([], dtype=dtype_of(column)).dtype) for column in frames.VARIANTS
        }


def test_the_worked_value_is_in_the_table():
    item = {
        "id": "o1",
        "optimization": {
            "id": "o1",
            "status": "completed",
            "rehearsal": False,
            "results": {
                "confidence": 0.919836,
                "confidenceNeeded": 0.9,
                "trace": [0.5, 0.92],
                "variantsTested": 3,
            },
        },
        "variants": [
            {"id": "v0", "name": "original", "isOriginal": True, "metrics": {"taskCompletion": 65.33}},
            ours(1, (84, 31, 14, 21), isWinner=True),
        ],
    }
    frame, about = table(item)
    row = frame.iloc[1]
    assert row["lift"] == pytest.approx(17.346939, abs=1e-6)
    assert row["task_completion"] == pytest.approx(115 / 150)
    assert row["original_task_completion"] == pytest.approx(98 / 150)
    assert row["lift_low"] == pytest.approx(5.761871, abs=1e-6)
    assert row["lift_high"] == pytest.approx(30.337395, abs=1e-6)
    assert row["confidence"] == pytest.approx(0.919836, abs=1e-6)
    assert row[["n", "n_pairs", "n_dropped", "n11", "n10", "n01", "n00"]].tolist() == [
        150,
        150,
        3,
        84,
        31,
        14,
        21,
    ]
    assert row[["lift_basis", "uncertainty_source", "is_winner"]].tolist() == [RELATIVE, "service", True]
    assert row["warnings"] == "Few pairs. Mind the panel."
    assert (row["n_variants_tested"], row["interval_level"]) == (3, 0.9)
    assert (about["threshold"], about["trace"], about["rehearsal"]) == (0.9, [0.5, 0.92], False)
    assert about["units"]["task_completion"] == "fraction"


def test_a_foreign_service_gives_no_interval_and_none_is_made_up():
    results = {"winnerSelected": True, "winningVariantId": "v1", "lift": 12.5, "confidence": 0.92}
    frame, about = table(foreign([72.0, 81.0, 70.0], [None, 12.5, -2.8], results=results))
    assert frame[["lift_low", "lift_high", "n", "n_pairs", "interval_level"]].isna().all(axis=None)
    assert frame["uncertainty_source"].tolist() == ["none"] * 3
    assert frame["is_winner"].tolist() == [False, True, False]
    assert frame["confidence"].tolist()[1] == 0.92
    assert frame["confidence"].isna().tolist() == [True, False, True]
    assert frame["task_completion"].tolist() == [0.72, 0.81, 0.70]
    assert frame["lift_basis"].tolist()[1:] == [RELATIVE] * 2
    assert (about["rehearsal"], about["trace"], about["threshold"]) == (None, [], None)


@pytest.mark.parametrize(
    ("rates", "given_as", "first"),
    [
        ([72.0, 81.0], "percent", 0.72),
        ([0.72, 0.81], "fraction", 0.72),
        ([1.0, 1.5], "fraction", 1.0),
        ([1.0, 1.6], "percent", 0.01),
        ([0.0, 0.0], "unknown", 0.0),
        ([None, None], "unknown", None),
    ],
)
def test_percent_and_fraction_are_told_apart(rates, given_as, first):
    frame, about = table(foreign(rates, [None, None]))
    assert about["task_completion_given_as"] == given_as
    value = frame["task_completion"].iloc[0]
    assert pd.isna(value) if first is None else value == pytest.approx(first)


def test_one_percent_of_our_service_stays_one_percent():
    item = foreign([0.0, 0.0], [None, None])
    item["variants"][1] = ours(1, (0, 1, 0, 99))
    frame, about = table(item)
    assert frame["task_completion"].iloc[1] == pytest.approx(0.01)
    assert about["task_completion_given_as"] == "percent"


def test_an_interval_without_ends_was_still_sent():
    item = foreign([10.0, 10.0], [None, None])
    item["variants"][1] = ours(1, (0, 3, 1, 11))
    row = table(item)[0].iloc[1]
    assert row[["lift_low", "lift_high"]].isna().all()
    assert row["uncertainty_source"] == "service"


def test_nothing_measured_yet_is_no_interval():
    fields = {
        "lift": None,
        "liftLow": None,
        "liftHigh": None,
        "intervalLevel": None,
        "pairs": {"n": 0},
        "n": 0,
    }
    item = foreign([None, None], [None, None])
    item["variants"][1] |= fields
    row = table(item)[0].iloc[1]
    assert (row["uncertainty_source"], row["n_pairs"], pd.isna(row["lift_basis"])) == ("none", 0, True)


@pytest.mark.parametrize(
    ("lift", "rate", "original", "basis"),
    [
        (12.5, 81.0, 72.0, RELATIVE),
        (9.0, 81.0, 72.0, POINTS),
        (12.5, 0.81, 0.72, RELATIVE),
        (9.0, 0.81, 0.72, POINTS),
        (13.0, 81.0, 72.0, RELATIVE),  # 12.5 % rounded
        (16.0, 81.0, 72.0, UNKNOWN),
        (0.125, 81.0, 72.0, UNKNOWN),
        (40.0, 50.0, 72.0, UNKNOWN),
        (17.3, 76.7, 65.3, RELATIVE),  # two rounded rates
        (5.0, None, 72.0, UNKNOWN),
        (5.0, 10.0, 0.0, UNKNOWN),
    ],
)
def test_a_lift_is_recomputed_from_the_printed_rates(lift, rate, original, basis):
    scale = 1.0 if rate is not None and rate < 1.5 else 100.0
    (found,) = bases_of([GivenLift(lift, rate, original)], scale=scale)
    assert found.name == basis
    checked = rate is not None and original
    assert bool(found.warning) == (basis == POINTS or (basis == UNKNOWN and bool(checked)))


def test_a_lift_as_a_fraction_is_recognised_in_words():
    (found,) = bases_of([GivenLift(0.125, 81.0, 72.0)], scale=100.0)
    assert "looks like a fraction" in found.warning


@pytest.mark.parametrize(
    ("rates", "lifts", "expected"),
    [
        # −2.0 fits both readings, 9.0 only the points.
        ([72, 81, 70], [9.0, -2.0], [POINTS, POINTS]),
        ([72, 70, 81], [-2.0, 9.0], [POINTS, POINTS]),
        ([72, 81, 70], [12.5, -2.0], [RELATIVE, RELATIVE]),
        # Nothing decides: the API calls it relative.
        ([72, 72, 70], [0.0, -2.0], [RELATIVE, RELATIVE]),
        # What decides does not agree, so neither speaks for the third.
        ([72, 81, 81, 70], [9.0, 12.5, -2.0], [POINTS, RELATIVE, RELATIVE]),
        # What fits nothing decides nothing.
        ([72, 81, 70], [40.0, -2.0], [UNKNOWN, RELATIVE]),
    ],
)
def test_the_lifts_of_an_optimization_have_one_basis(rates, lifts, expected):
    frame, _ = table(foreign(rates, [None, *lifts]))
    assert frame["lift_basis"].tolist()[1:] == expected
    in_points = frame["warnings"].str.contains("in percentage points").tolist()[1:]
    assert in_points == [basis == POINTS for basis in expected]


def test_the_basis_of_one_optimization_says_nothing_of_another():
    first, second = foreign([72, 81], [None, 9.0]), foreign([72, 70], [None, -2.0])
    second["id"] = second["optimization"]["id"] = "o2"
    assert table(first, second)[0]["lift_basis"].tolist()[1::2] == [POINTS, RELATIVE]


def test_a_lift_without_a_sample_size_is_warned_about():
    frame, _ = table(foreign([72.0, 81.0, 70.0], [None, 12.5, None]))
    assert ["no sample size" in said for said in frame["warnings"]] == [False, True, False]
    item = foreign([10.0, 10.0], [None, None])
    item["variants"][1] = ours(1, (84, 31, 14, 21))
    assert "no sample size" not in table(item)[0]["warnings"].iloc[1]


@given(
    st.integers(1, 400),
    st.integers(1, 400),
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from([1.0, 100.0]),
    st.booleans(),
)
def test_rounding_never_makes_a_true_lift_unknown(completed, other, rate_digits, lift_digits, scale, points):
    p1, p0 = completed / 400, other / 400
    lift = 100 * (p1 - p0) if points else 100 * (p1 / p0 - 1)
    digits = rate_digits if scale == 100.0 else rate_digits + 2
    rate, original = round(scale * p1, digits), round(scale * p0, digits)
    if original <= 0.5 * 10.0**-digits:
        return  # rounded to nothing
    (found,) = bases_of([GivenLift(round(lift, lift_digits), rate, original)], scale=scale)
    assert found.name != UNKNOWN


def test_a_service_that_contradicts_itself_is_flagged():
    row = table(foreign([72.0, 50.0], [None, 40.0]))[0].iloc[1]
    assert row["lift_basis"] == UNKNOWN
    assert "do not reproduce the lift of +40 %" in row["warnings"]


def test_several_optimizations_stand_under_each_other():
    first, second = foreign([72.0, 81.0], [None, 12.5]), foreign([50.0, 60.0], [None, 20.0])
    second["id"] = second["optimization"]["id"] = "o2"
    second["optimization"]["rehearsal"] = True
    frame, about = table(first, second)
    assert frame["optimization_id"].tolist() == ["o1", "o1", "o2", "o2"]
    assert frame["rehearsal"].tolist() == [pd.NA, pd.NA, True, True]
    assert list(about["optimizations"]) == ["o1", "o2"]
    assert about["rehearsal"] is True


def test_unknown_shapes_become_missing_and_are_counted():
    item = foreign([72.0, 81.0], [None, "much"])
    item["variants"][1] |= {"metrics": "good", "pairs": 7, "warnings": "none", "stage": "final", "n": "many"}
    frame, doubts, _ = frames.variants_table([item])
    assert frame.iloc[1][["lift", "task_completion", "n", "stage"]].isna().all()
    assert doubts == {"lift": 1, "stage": 1, "n": 1}


def test_each_lift_has_the_rates_of_its_own_pairs():
    mix = {"isHeadline": True, "lift": 25.0, "taskCompletion": 75.0, "originalTaskCompletion": 60.0}
    item = foreign([50.0], [None])
    item["variants"] += [ours(1, (30, 20, 5, 45), loggedMix=mix), ours(2, (30, 20, 5, 45), stage="screen")]
    table = frames.variants_table([item])[0]
    for tail in ("", "_logged"):
        rates = table[f"task_completion{tail}"], table[f"original_task_completion{tail}"]
        assert (100 * (rates[0] / rates[1] - 1) - table[f"lift{tail}"]).dropna().abs().max() < 1e-9
    # Where the lift on the logged mix comes first, its rates do too.
    names = ["lift", "task_completion", "original_task_completion"]
    assert headlines_of(table)[names].iloc[1].tolist() == [25.0, 0.75, 0.6]
    assert [headline_of(table.iloc[1])[name] for name in names] == [25.0, 0.75, 0.6]
    assert headlines_of(table)[names].iloc[2].tolist() == table[names].iloc[2].tolist()
