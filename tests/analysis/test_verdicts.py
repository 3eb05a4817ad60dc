"""Verdicts of a judge of one's own where a table of conversations goes: rates, trends, plans, agreement, corrections."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis

START = pd.Timestamp("2026-10-01", tz="UTC")


def verdicts(count=400, *, version=1, judge="refund", days=20, seed=1):
    """A table as ``lift.judges.verdicts`` gives it, with the owner's answers in ``truth``."""
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


def by_models(count=400):
    """Verdicts of one version, for which another model answers from the eleventh day on."""
    table = verdicts(count)
    later = table["started_at"] >= START + pd.Timedelta(days=10)
    return table.assign(analyser=np.where(later, "llm:large", "llm:small"))


def test_a_change_of_the_model_within_a_version_is_marked_like_one_of_the_version():
    table = by_models()
    trend = analysis.completion_trend(table, freq="D")
    assert list(trend["judge_versions"]) == ["1 (small)"] * 10 + ["1 (large)"] * 10
    facts = trend.attrs["promptlift"]
    assert facts["judge_changes"] == [
        {"at": "2026-10-11T00:00:00+00:00", "before": "1 (small)", "after": "1 (large)"}
    ]
    assert (facts["judge_versions"], facts["judge_models"], facts["trends"]) == ([1], ["large", "small"], [])
    weeks = analysis.completion_trend(table, freq="W")
    assert "1 (large)+1 (small)" in set(weeks["judge_versions"])
    # One model in all is not said of every period.
    one = analysis.completion_trend(table.assign(analyser="llm:small"), freq="D")
    assert set(one["judge_versions"]) == {"1"}
    assert one.attrs["promptlift"]["judge_models"] == ["small"]
    assert one.attrs["promptlift"]["judge_changes"] == []


USES = {
    "completion": lambda table: analysis.completion(table, by="prompt"),
    "completion_trend": lambda table: analysis.completion_trend(table, by="prompt", freq="D"),
    "compare": lambda table: analysis.compare(table, by="prompt", control="a"),
    "segments": lambda table: analysis.segments(table, by=["prompt", "hour"]),
    "prompt_overview": lambda table: analysis.prompt_overview(table, by="prompt"),
}


def of_two_prompts(count=600):
    """Verdicts of two prompts, some of conversations in progress, some missing."""
    table = by_models(count)
    table["prompt"] = np.where(np.arange(count) % 3 == 0, "a", "b")
    table["status"] = np.where(np.arange(count) % 17 == 0, "in_progress", "completed")
    table.loc[table.index % 13 == 0, "verdict"] = pd.NA
    table["created_at"] = table["started_at"]
    return table


@pytest.mark.parametrize("use", USES)
def test_the_verdict_counts_as_task_completed_does_elsewhere(use):
    table = of_two_prompts()
    judged = as_conversations(table).assign(sentiment=None, sentiment_score=np.nan)
    result, same = USES[use](table), USES[use](judged)
    own = ["judge_versions", "warnings"]
    pd.testing.assert_frame_equal(
        result.drop(columns=own, errors="ignore"), same.drop(columns=own, errors="ignore")
    )
    facts = result.attrs["promptlift"]
    assert (facts["judge"], facts["judge_versions"], facts["judge_models"]) == (
        "refund",
        [1],
        ["large", "small"],
    )
    assert "judge" not in same.attrs["promptlift"]


def test_sentences_name_the_question_numbers_lead_to_their_conversations_and_several_models_are_warned_of():
    table = of_two_prompts().assign(reason="Because.", problem=None)
    table.loc[table["prompt"] == "b", "verdict"] = True
    compared = analysis.compare(table, by="prompt", control="a")
    assert "b has refund" in compared.attrs["promptlift"]["sentences"][0]
    assert compared["warnings"].str.contains("those of 2 models of the judge").all()
    found = analysis.segments(table)
    assert set(found["column"]) <= {"prompt", "hour", "truth"}
    assert "prompt a has refund" in " ".join(found.attrs["promptlift"]["sentences"])
    for result, mark in ((compared, ["a"]), (found, ["prompt", "a"]), (analysis.completion(table), [])):
        rows = analysis.conversations_of(result, table, *mark)
        assert list(rows) == list(table)
        assert len(rows) == analysis.completion(table[table["prompt"] == "a"] if mark else table)["n"].iloc[0]
    alone = USES["compare"](of_two_prompts().drop(columns="analyser"))["warnings"]
    assert not alone.str.contains("of the judge").any()


def test_verdicts_joined_to_conversations_count_where_they_are_asked_for():
    table = of_two_prompts()
    joined = table.assign(task_completed=pd.array(table["truth"], dtype="boolean"), sentiment="neutral")
    for name, use in (("compare", analysis.compare), ("segments", analysis.segments)):
        asked = use(joined, by="prompt", outcome="verdict")
        pd.testing.assert_frame_equal(asked, use(table, by="prompt"), obj=name)
        assert asked.attrs["promptlift"]["judge"] == "refund"
        assert "judge" not in use(joined, by="prompt").attrs["promptlift"]
    # Labels of the judge's question say nothing of task_completed.
    labels = labels_for(table, analysis.label_plan(table, n=200))
    row = analysis.completion(joined, labels=labels).iloc[0]
    assert row["rate"] == analysis.completion(joined.drop(columns=["judge", "verdict"]))["rate"].iloc[0]
    assert "answer refund, not task_completed" in row["not_corrected"]
    assert analysis.label_plan(joined, n=50)["question"].unique().tolist() == ["task_completed"]


def test_verdicts_of_two_judges_are_never_one_rate():
    both = pd.concat([verdicts(), verdicts(judge="kind")])
    for use in (analysis.label_plan, *USES.values()):
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


def test_a_judge_without_verdicts_says_what_to_do():
    with pytest.raises(ValueError, match=r"lift\.judges\.plan"):
        analysis.judge_agreement(
            pd.DataFrame({"conversation_id": ["c1"], "question": "refund", "value": [True]}),
            verdicts(10).head(0),
        )


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
    wide = labels.rename(columns={"value": "refund"}).drop(columns="question")
    assert analysis.judge_agreement(wide, one)["agreed"].iloc[0] == found["agreed"].iloc[0]
