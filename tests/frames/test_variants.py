"""The table of variants says what was given, in which unit, and what cannot be known."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift import frames, stats
from promptlift.frames.headline import headline_of, headlines_of
from promptlift.frames.lift_basis import POINTS, RELATIVE, UNKNOWN, GivenLift, bases_of


def foreign(*rates_and_lifts, results=None, key="o1", **about):
    """Variants as the specification has them: an original and others."""
    variants = [
        {"id": f"v{number}", "name": f"n{number}", "isOriginal": number == 0, "content": "c", "lift": lift,
         "metrics": {"taskCompletion": rate, "sentiment": 0.1, "quality": 70}}
        for number, (rate, lift) in enumerate(rates_and_lifts)
    ]  # fmt: skip
    optimization = {"id": key, "promptId": "p1", "status": "completed", "results": results or {}, **about}
    return {"id": key, "optimization": optimization, "variants": variants}


def ours(number, counts, *, stage="confirm", **more):
    said = stats.analyse_pairs(*counts, look=1, max_looks=1)
    return {
        "id": f"v{number}", "name": f"n{number}", "isOriginal": False, "content": "c", "number": number, "stage": stage,
        "metrics": {"taskCompletion": 100 * said.p1, "sentiment": 0.2, "quality": 71},
        "originalTaskCompletion": 100 * said.p0, "lift": said.lift, "liftLow": said.lift_low, "liftHigh": said.lift_high,
        "liftPoints": said.lift_points, "liftExpected": said.lift_expected, "intervalLevel": said.interval_level,
        "confidence": said.confidence if stage == "confirm" else None, "n": said.n,
        "pairs": {**dict(zip(("n11", "n10", "n01", "n00"), counts, strict=True)), "n": said.n, "dropped": 3},
        "look": 1, "maxLooks": 1, "warnings": ["Few pairs.", "Mind the panel."], "rehearsal": False, **more,
    }  # fmt: skip


def table(*items):
    frame, doubts, about = frames.variants_table(list(items))
    assert doubts == {}
    return frame, about


def test_the_worked_value_is_in_the_table():
    results = {"confidence": 0.919836, "confidenceNeeded": 0.9, "trace": [0.5, 0.92], "variantsTested": 3}
    item = foreign((65.33, None), results=results, rehearsal=False)
    item["variants"].append(ours(1, (84, 31, 14, 21), isWinner=True))
    frame, about = table(item)
    row = frame.iloc[1]
    worked = {"lift": 17.346939, "lift_low": 5.761871, "lift_high": 30.337395, "confidence": 0.919836}
    worked |= {"task_completion": 115 / 150, "original_task_completion": 98 / 150}
    assert row[[*worked]].tolist() == pytest.approx([*worked.values()], abs=1e-6)
    counts = {"n": 150, "n_pairs": 150, "n_dropped": 3, "n11": 84, "n10": 31, "n01": 14, "n00": 21, "n_variants_tested": 3}  # fmt: skip
    assert row[[*counts]].tolist() == [*counts.values()]
    assert row[["lift_basis", "uncertainty_source", "is_winner"]].tolist() == [RELATIVE, "service", True]
    assert (row["warnings"], row["interval_level"]) == ("Few pairs. Mind the panel.", 0.9)
    assert (about["threshold"], about["trace"], about["rehearsal"]) == (0.9, [0.5, 0.92], False)


def test_a_foreign_service_gives_no_interval_and_none_is_made_up():
    results = {"winnerSelected": True, "winningVariantId": "v1", "lift": 12.5, "confidence": 0.92}
    frame, about = table(foreign((72.0, None), (81.0, 12.5), (70.0, None), results=results))
    assert frame[["lift_low", "lift_high", "n", "n_pairs", "interval_level"]].isna().all(axis=None)
    assert frame["uncertainty_source"].tolist() == ["none"] * 3
    assert ["no sample size" in said for said in frame["warnings"]] == [False, True, False]
    assert frame["is_winner"].tolist() == [False, True, False]
    assert frame["confidence"].fillna(0).tolist() == [0, 0.92, 0]
    assert frame["task_completion"].tolist() == [0.72, 0.81, 0.70]
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
    frame, about = table(foreign(*((rate, None) for rate in rates)))
    assert about["task_completion_given_as"] == given_as
    value = frame["task_completion"].iloc[0]
    assert pd.isna(value) if first is None else value == pytest.approx(first)


def test_an_interval_without_ends_was_still_sent_and_one_percent_stays_one_percent():
    item = foreign((0.0, None), (10.0, None))
    item["variants"][1] = ours(1, (0, 3, 1, 11)) | {"metrics": {"taskCompletion": 1.0}}
    frame, about = table(item)
    row = frame.iloc[1]
    assert row[["lift_low", "lift_high"]].isna().all()
    assert (row["uncertainty_source"], row["task_completion"]) == ("service", pytest.approx(0.01))
    assert about["task_completion_given_as"] == "percent"
    assert "no sample size" not in row["warnings"]


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
    frame, _ = table(foreign(*zip(rates, [None, *lifts], strict=True)))
    assert frame["lift_basis"].tolist()[1:] == expected
    in_points = frame["warnings"].str.contains("in percentage points").tolist()[1:]
    assert in_points == [basis == POINTS for basis in expected]


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


def test_a_lift_that_looks_like_a_fraction_is_said_to():
    frame, _ = table(foreign((72.0, None), (81.0, 0.125)))
    assert frame["lift_basis"].iloc[1] == UNKNOWN
    assert "looks like a fraction" in frame["warnings"].iloc[1]


def test_several_optimizations_have_each_its_own_basis_and_rehearsal():
    first = foreign((72.0, None), (81.0, 9.0), (50.0, 40.0))
    second = foreign((72.0, None), (70.0, -2.0), key="o2", rehearsal=True)
    frame, about = table(first, second)
    assert frame["optimization_id"].tolist() == ["o1"] * 3 + ["o2"] * 2
    assert frame["lift_basis"].dropna().tolist() == [POINTS, UNKNOWN, RELATIVE]
    assert "do not reproduce the lift of +40%" in frame["warnings"][2]
    assert frame["rehearsal"].tolist() == [pd.NA] * 3 + [True] * 2
    assert list(about["optimizations"]) == ["o1", "o2"]
    assert about["rehearsal"] is True


def test_unknown_shapes_become_missing_and_are_counted():
    item = foreign((72.0, None), (81.0, "much"))
    item["variants"][1] |= {"metrics": "good", "pairs": 7, "warnings": "none", "stage": "final", "n": "many"}
    frame, doubts, _ = frames.variants_table([item])
    assert frame.iloc[1][["lift", "task_completion", "n", "stage"]].isna().all()
    assert doubts == {"lift": 1, "stage": 1, "n": 1}


def test_each_lift_has_the_rates_of_its_own_pairs():
    mix = {"isHeadline": True, "lift": 25.0, "taskCompletion": 75.0, "originalTaskCompletion": 60.0}
    item = foreign((50.0, None))
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
