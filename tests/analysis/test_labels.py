"""Labels of people correct what a judge says: the plan of the draw, the columns, and the refusals in words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from promptlift import analysis, plots
from promptlift.analysis import two_groups
from promptlift.analysis.findings import finding
from promptlift.errors import FrameError
from support.labelled import judged, label

CORRECTED = [
    *(f"rate_corrected{end}" for end in ("", "_low", "_high")),
    "n_labels",
    "n_effective",
    "not_corrected",
]


@pytest.fixture(scope="module")
def world():
    table, truth = judged()
    plan = analysis.label_plan(table, by="prompt", n=240)
    return table, truth, label(plan, truth)


# The plan


def test_a_plan_draws_from_every_group_and_verdict_with_its_chance(world):
    table, _, _ = world
    plan = analysis.label_plan(table, by="prompt", n=240)
    assert list(plan) == ["conversation_id", "question", "chance", "draw_id"]
    assert len(plan) == 240
    assert plan["conversation_id"].is_unique
    strata = plan.attrs["promptlift"]["strata"]
    assert {(one["group"], one["verdict"]) for one in strata} == {
        (g, v) for g in ("new", "old") for v in (True, False)
    }
    by_group = pd.DataFrame(strata).groupby("group")["n_labels"].sum()
    assert by_group.to_dict() == {"new": 120, "old": 120}
    mine = table.set_index("conversation_id").loc[plan["conversation_id"]]
    for one in strata:
        rows = (
            mine["prompt"].eq(one["group"]).to_numpy() & (mine["task_completed"] == one["verdict"]).to_numpy()
        )
        assert rows.sum() == one["n_labels"]
        assert plan.loc[rows, "chance"].to_numpy() == pytest.approx(one["n_labels"] / one["n"])


def test_a_known_judge_sends_labels_to_the_verdict_that_is_less_sure(world):
    table, _, _ = world
    old = table[table["prompt"] == "old"]
    blind = pd.DataFrame(analysis.label_plan(old, n=100).attrs["promptlift"]["strata"]).set_index("verdict")
    known = analysis.label_plan(old, n=100, tpr=0.6, tnr=0.95)
    known = pd.DataFrame(known.attrs["promptlift"]["strata"]).set_index("verdict")
    # A strict judge's "completed" is nearly always right.
    assert known.loc[True, "n_labels"] < 0.7 * blind.loc[True, "n_labels"]
    with pytest.raises(ValueError, match="tpr and tnr together"):
        analysis.label_plan(old, tpr=0.9)


def test_a_plan_is_one_of_its_seed_and_leaves_out_what_is_not_judged(world):
    table = world[0].copy()
    table.loc[:99, "status"] = "in_progress"
    table.loc[100:149, "task_completed"] = pd.NA
    plans = [analysis.label_plan(given, n=500, seed=seed) for given, seed in ((table, 0), (pl.from_pandas(table), 0), (table, 1))]  # fmt: skip
    pd.testing.assert_frame_equal(plans[0], plans[1])
    assert set(plans[0]["conversation_id"]) != set(plans[2]["conversation_id"])
    assert not set(plans[0]["conversation_id"]) & set(table["conversation_id"].head(150))
    assert plans[0].attrs["promptlift"]["n_left_out"] == 150
    assert len(analysis.label_plan(table.tail(30), n=100)) == 30
    for n in (0, 2.5, "many"):
        with pytest.raises(ValueError, match="n must be a whole number"):
            analysis.label_plan(table, n=n)
    with pytest.raises(ValueError, match="more than once"):
        analysis.label_plan(pd.concat([table, table.tail(1)]))


# Corrected columns


def test_labels_of_two_draws_with_chances_of_their_own_are_refused_where_they_meet(world):
    table, truth, _ = world
    one = label(analysis.label_plan(table, n=120, tpr=0.6, tnr=0.95), truth)
    other = label(analysis.label_plan(table, n=160, seed=1), truth)
    both = pd.concat([one, other]).drop_duplicates("conversation_id")
    found = analysis.completion(table, labels=both).iloc[0]
    first, second = one["draw_id"].iloc[0], other["draw_id"].iloc[0]
    assert np.isnan(found["rate_corrected"])
    assert found["not_corrected"].startswith("The labels come from 2 draws (")
    assert f"120 of {first}" in found["not_corrected"]
    assert "Correct by one of them, such as lift.labels(draw_id=" in found["not_corrected"]
    for draw in (first, second):
        alone = analysis.completion(table, labels=both[both["draw_id"] == draw]).iloc[0]
        assert alone["not_corrected"] == ""
    # Labels whose draw has no name are of another draw, too.
    unnamed = both.assign(draw_id=both["draw_id"].where(both["draw_id"] == first))
    assert "of no named draw" in analysis.completion(table, labels=unnamed).iloc[0]["not_corrected"]
    # Without any name they are taken as one, and what was chosen for certain needs no draw.
    assert analysis.completion(table, labels=both.drop(columns="draw_id")).iloc[0]["not_corrected"] == ""
    assert analysis.completion(table, labels=both.assign(chance=1.0)).iloc[0]["not_corrected"] == ""


def test_completion_has_raw_and_corrected_side_by_side(world):
    table, truth, labels = world
    plain = analysis.completion(table, by="prompt")
    found = analysis.completion(table, by="prompt", labels=labels)
    pd.testing.assert_frame_equal(found[list(plain)], plain)
    assert list(found)[len(plain.columns) :] == CORRECTED
    rows = found.set_index("prompt")
    for prompt in ("old", "new"):
        true = truth[table["prompt"].to_numpy() == prompt].mean()
        assert abs(rows.loc[prompt, "rate"] - true) > 0.1
        assert rows.loc[prompt, "rate_corrected_low"] < true < rows.loc[prompt, "rate_corrected_high"]
        assert rows.loc[prompt, "n_labels"] == 120 < rows.loc[prompt, "n_effective"]
    facts = found.attrs["promptlift"]["corrected"]
    assert facts["method"] == "PPI++"
    assert facts["worth"]["old"].startswith("120 labels and 880 judged conversations are as good as ")
    assert "corrected" not in plain.attrs["promptlift"]


def test_a_trend_corrects_the_periods_that_have_labels(world):
    table, truth, _ = world
    labels = label(analysis.label_plan(table, n=700), truth)
    found = analysis.completion_trend(table, freq="MS", labels=labels)
    assert found["n_labels"].sum() == 700
    assert found["not_corrected"].eq("").all()
    month = table["started_at"].dt.month.to_numpy()
    for row in found.to_dict("records"):
        true = truth[month == row["period_start"].month].mean()
        assert row["rate_corrected_low"] < true < row["rate_corrected_high"]
    by_prompt = analysis.completion_trend(table, freq="W", by="prompt", labels=labels)
    assert by_prompt["n_labels"].sum() == 700
    short = by_prompt[by_prompt["rate_corrected"].isna()]
    assert short["not_corrected"].str.contains("more of").all()


def test_a_comparison_that_the_judge_turns_round_is_turned_back(world):
    table, _, labels = world
    found = analysis.compare(table, by="prompt", control="old", labels=labels)
    (row,) = found.to_dict("records")
    # One verdict, of the corrected number; what it was without labels is in the details.
    assert row["verdict"] == "worse"
    without = found.attrs["promptlift"]["uncorrected"]
    judged = analysis.compare(table, by="prompt", control="old")
    assert without["verdict"] == judged["verdict"].tolist() == ["winner"]
    assert without["p_holm"] == judged["p_holm"].tolist() != [row["p_holm"]]
    assert without["sentences"] == judged.attrs["promptlift"]["sentences"]
    assert row["difference_points"] > 15
    assert row["difference_points_corrected_low"] < -20 < row["difference_points_corrected_high"] < 0
    assert row["p_equal_error"] < 0.001
    assert row["tpr_difference_low"] > 0
    assert row["tnr_difference_high"] < 0
    rates = analysis.completion(table, by="prompt", labels=labels).set_index("prompt")["rate_corrected"]
    assert row["rate_corrected"] == rates["new"]
    assert row["rate_control_corrected"] == rates["old"]
    assert row["difference_points_corrected"] == pytest.approx(100 * (rates["new"] - rates["old"]))
    (sentence,) = found.attrs["promptlift"]["sentences"]
    assert sentence.startswith("Corrected by 240 labels: new completes ")
    assert "points less than old" in sentence
    assert sentence.endswith(
        "The judge errs on the two unlike, so what it says of their difference is not to be trusted."
    )


def test_a_pooled_rectifier_is_wrong_where_errors_differ_and_says_so(world):
    table, _, labels = world
    found = analysis.compare(table, by="prompt", control="old", labels=labels, rectifier="pooled")
    assert found["difference_points_corrected"].iloc[0] > 20
    assert found["p_equal_error"].iloc[0] < 0.001
    assert found.attrs["promptlift"]["sentences"][0].endswith("a pooled correction is wrong then.")
    for options, words in (
        ({"rectifier": "mine"}, "must be 'own' or 'pooled'"),
        ({"rectifier": "pooled", "pair": "channel"}, "independent groups"),
    ):
        with pytest.raises(ValueError, match=words):
            analysis.compare(table, by="prompt", labels=labels, **options)


def test_segments_are_corrected_and_their_verdicts_are_those_of_the_labels(world):
    table, _, labels = world
    plain = analysis.segments(table, by=["prompt", "channel"])
    found = analysis.segments(table, by=["prompt", "channel"], labels=labels)
    decided = ["verdict", "p", "p_holm"]
    shown = ["column", "segment"]
    pd.testing.assert_frame_equal(
        found[list(plain)].drop(columns=decided).sort_values(shown, ignore_index=True),
        plain.drop(columns=decided).sort_values(shown, ignore_index=True),
    )
    assert plain.set_index("segment").loc["old", "verdict"] == "lower"
    assert "new" not in set(plain["segment"])
    rows = found.set_index("segment")
    rates = analysis.completion(table, by="prompt", labels=labels).set_index("prompt")["rate_corrected"]
    assert rows.loc["old", "rate_corrected"] == rates["old"]
    assert rows.loc["old", "difference_points_corrected"] == pytest.approx(
        100 * (rates["old"] - rates["new"])
    )
    assert rows.loc["old", "verdict"] == "higher"
    assert rows.loc["old", "difference_points_corrected_low"] > 0
    said = found.attrs["promptlift"]["sentences"][list(found["segment"]).index("old")]
    assert "clearly higher" in said


def test_what_labels_correct_on_a_word_list_is_told_and_drawn_as_theirs(world):
    table, _, labels = world
    found = analysis.segments(table.assign(analyser="lexicon", basis="words"), by=["prompt"], labels=labels)
    facts = found.attrs["promptlift"]
    assert facts["basis"] == "label"
    assert facts["summary"] == (
        "1 of 1 segment of 2,000 conversations clearly differs from the rest: prompt old."
    )
    title = finding(found)
    assert title.startswith("Corrected by labels: “prompt: old” completes ")
    drawn = plots.segments(found, title="auto").get_figure()
    said = " ".join(text.get_text() for text in drawn.findobj(lambda one: hasattr(one, "get_text")))
    assert "Uncorrected" not in said
    assert "Hollow" not in said
    assert "Corrected by 240 labels." in said
    # The score test is not that of corrected numbers.
    assert "score test" not in said
    for rate in found["rate_corrected"]:
        assert f"{rate:.0%} of 1,000" in said


def test_agreement_has_the_judges_rate_and_both_corrections(world):
    table, truth, _ = world
    plan = label(analysis.label_plan(table, n=300), truth)
    (row,) = analysis.judge_agreement(plan, table).to_dict("records")
    assert row["rate_judged"] == pytest.approx(table["task_completed"].mean())
    for name in ("rate_corrected", "rate_rogan_gladen"):
        assert row[f"{name}_low"] < truth.mean() < row[f"{name}_high"]
    assert row["not_corrected"] == ""
    wide = plan.rename(columns={"value": "task_completed"})[["conversation_id", "task_completed", "chance"]]
    assert analysis.judge_agreement(wide, table).to_dict("records") == [row]
    unknown = analysis.judge_agreement(wide.drop(columns="chance"), table)
    assert unknown["tpr"].iloc[0] == row["tpr"]
    assert np.isnan(unknown["rate_corrected"].iloc[0])
    assert unknown["not_corrected"].iloc[0].startswith("300 labels have no chance")


# A census


@pytest.mark.parametrize("chance", [None, 0.3])
@pytest.mark.slow
def test_labels_of_all_conversations_are_the_outcome_whoever_chose_them(world, chance):
    table, truth, _ = world
    table = table.assign(analyser="lexicon", basis="words")
    labels = truth.rename("task_completed").rename_axis("conversation_id").reset_index().assign(chance=chance)
    true = table.assign(task_completed=table["conversation_id"].map(truth).astype("boolean"), basis="outcome")
    for call in (
        lambda data, **known: analysis.completion(data, by="prompt", **known),
        lambda data, **known: analysis.completion_trend(data, freq="MS", **known),
        lambda data, **known: analysis.prompt_overview(data, by="prompt", **known),
        lambda data, **known: analysis.compare(data, by="prompt", control="old", **known),
        lambda data, **known: analysis.segments(data, by=["prompt", "channel"], **known),
    ):
        found = call(table, labels=labels)
        pd.testing.assert_frame_equal(found, call(true))
        assert found.attrs["promptlift"]["basis"] == "label"
    compared = analysis.compare(pl.from_pandas(table), by="prompt", control="old", labels=labels)
    assert "clearly lower" in compared.attrs["promptlift"]["sentences"][0]
    assert compared["verdict"].tolist() == ["worse"]
    two = table.assign(**{two_groups.COMPARED: table["prompt"]})
    parts = two_groups.answer(
        two, ("old", "new"), outcome="task_completed", level=0.95, tz="UTC", labels=labels
    )
    assert "clearly lower" in parts[0]
    assert "as the judge says" not in str(parts[3])
    assert "cannot be told" not in str(parts[2].attrs["promptlift"]["sentences"])
    agreement = analysis.judge_agreement(labels, table).iloc[0]
    assert agreement["rate_corrected"] == truth.mean()
    assert agreement["not_corrected"] == ""


def test_a_conversation_without_a_label_makes_a_census_a_draw_again(world):
    table, truth, _ = world
    labels = pd.DataFrame({"conversation_id": truth.index[1:], "task_completed": truth.to_numpy()[1:]})
    found = analysis.completion(table, labels=labels).iloc[0]
    assert np.isnan(found["rate_corrected"])
    assert "or label the 1 other as well" in found["not_corrected"]
    # It does not count as long as it has not ended, and neither does its verdict.
    running = table.assign(status=np.where(np.arange(len(table)) == 0, "in_progress", "completed"))
    assert analysis.completion(running, labels=labels)["rate"].iloc[0] == truth.iloc[1:].mean()


# Refusals


AT_RANDOM = "Draw at random; do not look for them."
PICKED = (
    "labels that were picked by hand, by low confidence or by search show where the judge errs, not how often. "
    "Draw at random, with analysis.label_plan, or label the 1,900 others as well: labels of all conversations need no draw."
)


def refusal(table, labels):
    found = analysis.completion(table, labels=labels)
    assert found["rate_corrected"].isna().all()
    assert found["rate"].notna().all()
    words = found["not_corrected"].iloc[0]
    assert found.attrs["promptlift"]["corrected"]["refused"] == {"all": words}
    return words


def test_labels_that_nobody_drew_at_random_are_refused(world):
    table, truth, _ = world
    plan = label(analysis.label_plan(table, n=100), truth)
    none = " No labels: at least 20 are needed."
    for picked in (plan.drop(columns="chance"), plan.assign(chance=np.nan)):
        assert (
            refusal(table, picked)
            == f"100 labels have no chance with which the conversation was drawn: {PICKED}{none}"
        )
    # A few that are known do not carry the others.
    mixed = plan.assign(chance=plan["chance"].where(np.arange(100) < 5))
    assert refusal(table, mixed).startswith(
        f"95 labels have no chance with which the conversation was drawn: {PICKED} Too few labels ("
    )


def test_labels_of_unknown_chance_never_enter_beside_drawn_ones(world):
    table, truth, labels = world
    rest = table[~table["conversation_id"].isin(labels["conversation_id"])]
    wrong = rest[rest["task_completed"].to_numpy(bool) != truth[rest["conversation_id"]].to_numpy()].head(80)
    picked = label(wrong[["conversation_id"]].assign(question="task_completed", chance=np.nan), truth)
    found = analysis.completion(table, labels=pd.concat([labels, picked]))
    assert (
        found["rate_corrected"].iloc[0] == analysis.completion(table, labels=labels)["rate_corrected"].iloc[0]
    )
    assert found.attrs["promptlift"]["corrected"]["n_without_chance"] == 80


def test_too_few_labels_and_those_of_another_question_are_refused(world):
    table, _, labels = world
    assert refusal(table, labels.head(17)) == f"Too few labels (17): 3 more are needed. {AT_RANDOM}"
    polite = labels.assign(question="was polite")
    words = "The labels answer was polite, not task_completed: a rate is corrected only by labels of its own question."
    assert refusal(table, polite) == words
    compared, judged = (analysis.compare(table, by="prompt", labels=given) for given in (polite, None))
    assert compared["not_corrected"].tolist() == [words]
    assert compared[["verdict", "p_holm"]].equals(judged[["verdict", "p_holm"]])
    assert compared.attrs["promptlift"]["sentences"] == judged.attrs["promptlift"]["sentences"]
    own = analysis.completion(table, labels=labels.assign(question="completed"))
    assert own["not_corrected"].tolist() == [""]


def test_a_majority_counts_and_a_tie_is_left_out(world):
    table, _, labels = world
    one = labels.assign(labeller="bob")
    opposite = one.assign(value=~one["value"].astype(bool), labeller="eve")
    agreed = analysis.completion(table, labels=pd.concat([labels, one, opposite]))
    pd.testing.assert_frame_equal(agreed, analysis.completion(table, labels=labels))
    tied = analysis.completion(table, labels=pd.concat([labels, opposite.head(40)]))
    assert tied["n_labels"].iloc[0] == 200
    assert tied.attrs["promptlift"]["corrected"]["n_disputed"] == 40
    words = f"No labels: at least 20 are needed. Conversations with as many yes as no do not count: {len(labels)}."
    assert refusal(table, pd.concat([labels, opposite])) == words


def test_labels_that_cannot_be_read_are_refused(world):
    table, _, labels = world
    for error, words, given, said in (
        (ValueError, "A label of a yes/no question is 'perhaps'", table, labels.assign(value="perhaps")),
        (ValueError, "chance must be above 0 and at most 1", table, labels.assign(chance=0.0)),
        (ValueError, "chance must be above 0 and at most 1", table, labels.assign(chance=1.5)),
        (FrameError, "one row per answer", table, labels.drop(columns="value")),
        (FrameError, "conversation_id", table.drop(columns="conversation_id"), labels),
        (ValueError, "is in the table more than once", pd.concat([table, table]), labels),
    ):
        with pytest.raises(error, match=words):
            analysis.completion(given, labels=said)
    with pytest.raises(ValueError, match="labels correct rates of true and false"):
        analysis.compare(table, by="prompt", outcome="sentiment_score", kind="score", labels=labels)
