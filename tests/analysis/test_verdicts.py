"""Verdicts of a judge of one's own where a table of conversations goes: rates, trends, plans, agreement, corrections."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from promptlift import analysis

START = pd.Timestamp("2026-10-01", tz="UTC")


def verdicts(count=400, *, version=1, judge="refund", days=20, seed=1):
    """A table as ``lift.verdicts`` gives it, with the owner's answers in ``truth``."""
    draw = np.random.default_rng(seed)
    truth = draw.random(count) < 0.4
    wrong = draw.random(count) < 0.2
    return pd.DataFrame(
        {
            "conversation_id": [f"c{n}" for n in range(count)],
            "prompt": "Support",
            "status": "completed",
            "judge": judge,
            "judge_version": pd.array([version] * count, dtype="Int64"),
            "verdict": pd.array(truth ^ wrong, dtype="boolean"),
            "started_at": START + pd.to_timedelta(np.arange(count) % days, unit="D"),
            "truth": truth,
        }
    )


def labels_for(table, plan):
    truth = table.set_index("conversation_id")["truth"]
    return plan.assign(value=truth.reindex(plan["conversation_id"]).to_numpy())


def as_conversations(table):
    return table.drop(columns=["judge", "judge_version"]).rename(columns={"verdict": "task_completed"})


def test_verdicts_are_an_outcome_like_task_completion():
    table = verdicts()
    pd.testing.assert_frame_equal(analysis.completion(table), analysis.completion(as_conversations(table)))
    trend = analysis.completion_trend(table, freq="D")
    other = analysis.completion_trend(as_conversations(table), freq="D")
    pd.testing.assert_frame_equal(trend.drop(columns="judge_versions"), other)
    assert set(trend["judge_versions"]) == {"1"}
    facts = trend.attrs["promptlift"]
    assert (facts["judge"], facts["judge_versions"], facts["judge_changes"]) == ("refund", [1], [])
    assert "judge" not in other.attrs["promptlift"]
    of_polars = analysis.completion_trend(pl.from_pandas(table), freq="D")
    pd.testing.assert_frame_equal(of_polars, trend)


def test_a_trend_over_two_versions_is_marked_and_nothing_is_said_of_a_slope():
    one, two = verdicts(days=20), verdicts(version=2, days=20, seed=2)
    two["verdict"] = True
    day = pd.Timestamp("2026-10-11", tz="UTC")
    both = pd.concat([one[one["started_at"] < day], two[two["started_at"] >= day]], ignore_index=True)
    trend = analysis.completion_trend(both, freq="D")
    assert list(trend["judge_versions"]) == ["1"] * 10 + ["2"] * 10
    facts = trend.attrs["promptlift"]
    assert facts["judge_changes"] == [{"at": "2026-10-11T00:00:00+00:00", "before": "1", "after": "2"}]
    assert facts["judge_versions"] == [1, 2]
    # A jump from 40 to 100 %, which is the other judge's: of conversations it would be called a trend.
    assert facts["trends"] == []
    assert analysis.completion_trend(as_conversations(both), freq="D").attrs["promptlift"]["trends"]


def test_days_with_verdicts_of_both_versions_say_so_in_every_group():
    both = pd.concat([verdicts(), verdicts(version=2, seed=2)], ignore_index=True)
    both["prompt"] = np.where(np.arange(len(both)) % 2, "a", "b")
    trend = analysis.completion_trend(both, freq="W", by="prompt")
    assert set(trend["judge_versions"]) == {"1+2"}
    assert trend.attrs["promptlift"]["judge_changes"] == []


def test_verdicts_of_two_judges_are_never_one_rate():
    both = pd.concat([verdicts(), verdicts(judge="kind")])
    for use in (analysis.completion, analysis.completion_trend, analysis.label_plan):
        with pytest.raises(ValueError, match="2 judges, kind, refund"):
            use(both)


def test_labels_of_the_judges_question_correct_its_rate_and_others_do_not():
    table = verdicts(4_000)
    plan = analysis.label_plan(table, n=200)
    assert set(plan["question"]) == {"refund"}
    labels = labels_for(table, plan)
    row = analysis.completion(table, labels=labels).iloc[0]
    truth = table["truth"].mean()
    assert row["rate"] > truth + 0.02  # the judge errs in a fifth, more often on the larger side
    assert row["rate_corrected_low"] < truth < row["rate_corrected_high"]
    assert row["n_labels"] == 200
    other = analysis.completion(table, labels=labels.assign(question="task_completed")).iloc[0]
    assert np.isnan(other["rate_corrected"])
    assert "answer task_completed, not refund" in other["not_corrected"]


def test_agreement_is_of_each_version():
    one, two = verdicts(300), verdicts(300, version=2)
    two["verdict"] = two["truth"]
    both = pd.concat([one, two.head(250)], ignore_index=True)
    labels = labels_for(one, analysis.label_plan(one, n=100))
    found = analysis.judge_agreement(labels, both)
    assert list(found["judge_version"]) == [1, 2]
    assert set(found["question"]) == {"refund"}
    assert found["kappa"].iloc[0] < 0.8
    assert found["kappa"].iloc[1] == 1.0
    assert (found["n"] + found["n_unjudged"] == 100).all()
    alone = analysis.judge_agreement(labels.assign(question="task_completed"), as_conversations(one)).drop(
        columns=["question", "value"]
    )
    same = found.iloc[[0]].drop(columns=["judge", "judge_version", "question", "value"])
    pd.testing.assert_frame_equal(same, alone, check_dtype=False)
    wide = labels.rename(columns={"value": "refund"}).drop(columns="question")
    assert analysis.judge_agreement(wide, one)["agreed"].iloc[0] == found["agreed"].iloc[0]


def test_a_judge_without_verdicts_says_what_to_do():
    with pytest.raises(ValueError, match=r"lift\.judges\.plan"):
        analysis.judge_agreement(
            pd.DataFrame({"conversation_id": ["c1"], "question": "refund", "value": [True]}),
            verdicts(10).head(0),
        )
