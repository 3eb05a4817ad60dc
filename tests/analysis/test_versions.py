"""The texts of a prompt, and promises beside production."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.stats import analyse_pairs
from promptlift.stats.differences import score_interval
from support.synthetic_tables import small
from support.synthetic_versions import variants, versions

JANUARY = [f"2026-01-{day:02d}" for day in range(1, 31)]
TEXTS = versions(["2026-01-05", "2026-01-11", "2026-01-21"], origins=["created", "applied", "updated"])


def production(rates=(0.5, 0.8, 0.6), a_day=10):
    """Ten conversations a day in January; the share completed changes on the 11th and the 21st."""
    at = np.repeat(pd.to_datetime(JANUARY) + pd.Timedelta(hours=9), a_day)
    rate = np.repeat(np.repeat(rates, 10), a_day)
    done = np.tile(np.arange(a_day), 30) < rate * a_day
    return small(started_at=list(at), task_completed=list(done))


def test_each_text_has_the_conversations_that_began_while_it_was_live():
    found = analysis.prompt_timeline(production(), versions=TEXTS)
    assert found["number"].tolist() == [1, 2, 3]
    assert found["n"].tolist() == [100, 100, 100]
    assert found["rate"].tolist() == pytest.approx([0.5, 0.8, 0.6])
    low, high = score_interval(80, 100, 50, 100)
    assert found.loc[1, ["difference", "difference_low", "difference_high"]].tolist() == pytest.approx(
        [30.0, 100 * float(low), 100 * float(high)]
    )
    assert np.isnan(found.loc[0, "difference"])
    assert found["live_until"].tolist()[:2] == found["live_from"].tolist()[1:]
    assert pd.isna(found["live_until"].iloc[2])


def test_logs_older_than_the_prompt_belong_to_the_text_it_was_created_with():
    found = analysis.prompt_timeline(production(), versions=TEXTS)
    assert found.attrs["promptlift"]["first_reaches_back"]
    cut = TEXTS[TEXTS["number"] > 1]
    assert analysis.prompt_timeline(production(), versions=cut)["n"].tolist() == [100, 100]


def test_conversations_of_other_prompts_are_left_out_or_asked_about():
    table = production().assign(prompt_id=["a", "b"] * 150)
    with pytest.raises(ValueError, match="of 2 prompts"):
        analysis.prompt_timeline(table, versions=TEXTS)
    known = analysis.prompt_timeline(table, versions=TEXTS.assign(prompt_id="b"))
    assert known["n"].sum() == 150
    by_attribute = TEXTS.copy()
    by_attribute.attrs["promptlift"] = {"filters": {"prompt_id": "a"}}
    assert analysis.prompt_timeline(table, versions=by_attribute)["n"].sum() == 150


PAIRS = {"n11": 84, "n10": 31, "n01": 14, "n00": 21}
IDS = {"optimization_id": "o1", "variant_id": "v1", "name": "Concise"}
TESTED = {**IDS, **PAIRS, "look": 2, "max_looks": 6, "n_pairs": 150}


def test_a_promise_stands_beside_what_happened():
    found = analysis.simulated_vs_production(variants([TESTED], rehearsal=True), production(), versions=TEXTS)
    assert found.attrs["promptlift"]["rehearsal"] is True
    (row,) = found.to_dict("records")
    promised = analyse_pairs(**PAIRS, look=2, max_looks=6)
    for name, said in {"predicted": "lift_points", "predicted_low": "lift_points_low", "predicted_expected": "lift_points_expected"}.items():  # fmt: skip
        assert row[name] == pytest.approx(getattr(promised, said))
    assert (row["n_before"], row["n_after"], row["cut_by"]) == (100, 100, 3)
    assert row["difference"] == pytest.approx(30.0)
    assert row["difference_low"] == pytest.approx(100 * float(score_interval(80, 100, 50, 100)[0]))
    assert not row["inside"]
    assert (row["after_until"], row["applied_at"]) == (pd.Timestamp("2026-01-21", tz="UTC"), pd.Timestamp("2026-01-11", tz="UTC"))  # fmt: skip


def test_a_window_cuts_both_sides():
    found = analysis.simulated_vs_production(variants([TESTED]), production(), versions=TEXTS, window="4D")
    assert found[["n_before", "n_after"]].to_numpy().tolist() == [[40, 40]]


def test_without_sample_size_no_interval_is_invented():
    bare = {"optimization_id": "o1", "variant_id": "v1", "task_completion": 0.8, "lift": 14.0}
    original = {"optimization_id": "o1", "variant_id": "v0", "is_original": True, "task_completion": 0.7}
    row = analysis.simulated_vs_production(variants([bare, original]), production(), versions=TEXTS).iloc[0]
    assert row["predicted"] == pytest.approx(10.0)
    assert row["predicted_basis"] == "rates"
    assert row[["predicted_low", "predicted_high", "predicted_n", "predicted_expected"]].isna().all()
    no_looks = {**TESTED, "look": np.nan, "max_looks": np.nan, "lift_points": 11.3}
    row = analysis.simulated_vs_production(variants([no_looks]), production(), versions=TEXTS).iloc[0]
    assert np.isnan(row["predicted_low"])
    assert row["predicted_n"] == 150


def test_a_lift_alone_is_measured_by_the_rate_before_and_sent_intervals_are_taken_as_they_are():
    only = {**IDS, "lift": 20.0, "lift_expected": 15.0}
    row = analysis.simulated_vs_production(variants([only]), production(), versions=TEXTS).iloc[0]
    assert row[["predicted", "predicted_expected", "predicted_basis"]].tolist() == [10.0, 7.5, "lift"]
    sent = {
        **IDS,
        "lift_points": 9.0,
        "interval_level": 0.9,
        "lift_expected": 10.0,
        "original_task_completion": 0.6,
    }
    table = variants([sent]).assign(lift_points_low=2.0, lift_points_high=16.0)
    row = analysis.simulated_vs_production(table, production(), versions=TEXTS).iloc[0]
    names = ["predicted", "predicted_low", "predicted_high", "predicted_level", "predicted_expected"]
    assert row[names].tolist() == pytest.approx([9.0, 2.0, 16.0, 0.9, 6.0])


def test_optimizations_with_their_winners_will_do():
    table = pd.DataFrame(
        {"optimization_id": ["o1", "o2"], "winning_variant_id": ["v1", None], "lift_pct": [20.0, np.nan]}
    )
    found = analysis.simulated_vs_production(table, production(), versions=TEXTS)
    assert found["predicted"].tolist() == pytest.approx([10.0])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "Say when the variants were applied"),
        ({"versions": TEXTS, "applied_at": "2026-01-11"}, "Say when the variants were applied"),
        ({"applied_at": {"v7": "2026-01-11"}}, "names 'v7', which matches 0"),
        ({"applied_at": "soon"}, "applied_at must be a time"),
    ],
)
def test_when_it_was_applied_must_be_told_once(more, said):
    with pytest.raises(ValueError, match=said):
        analysis.simulated_vs_production(variants([TESTED]), production(), **more)


def test_what_was_not_applied_is_counted_and_unknown_applies_have_no_promise():
    other = {"optimization_id": "o9", "variant_id": "v9"}
    found = analysis.simulated_vs_production(variants([other]), production(), versions=TEXTS)
    assert found.attrs["promptlift"]["n_not_applied"] == 1
    (row,) = found.to_dict("records")
    assert (row["variant_id"], row["predicted_basis"]) == ("v1", "none")
    assert np.isnan(row["predicted"])
    assert row["n_after"] == 100
