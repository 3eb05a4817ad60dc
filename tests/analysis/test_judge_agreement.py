"""The agreement of judge and person, beside statsmodels, by hand, and where nothing can be said."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from promptlift import analysis
from promptlift.errors import FrameError

FEELINGS = ["positive", "neutral", "negative"]


def answers(counts):
    """Label and verdict of every conversation of a table of counts: the person down, the judge across."""
    pairs = [(i, j) for i, row in enumerate(counts) for j, count in enumerate(row) for _ in range(count)]
    return [i for i, _ in pairs], [j for _, j in pairs]


def completion_tables(counts):
    person, judge = answers(counts)
    ids = [f"c{place}" for place in range(len(person))]
    return (
        pd.DataFrame(
            {
                "conversation_id": pd.Series(ids, dtype="str"),
                "task_completed": pd.array([i == 0 for i in person], dtype="boolean"),
            }
        ),
        pd.DataFrame(
            {
                "conversation_id": pd.Series(ids, dtype="str"),
                "task_completed": pd.array([j == 0 for j in judge], dtype="boolean"),
            }
        ),
    )


def sentiment_tables(counts):
    person, judge = answers(counts)
    ids = [f"c{place}" for place in range(len(person))]
    return (
        pd.DataFrame(
            {
                "conversation_id": ids,
                "sentiment": pd.Categorical([FEELINGS[i] for i in person], categories=FEELINGS),
            }
        ),
        pd.DataFrame(
            {
                "conversation_id": ids,
                "sentiment": pd.Categorical([FEELINGS[j] for j in judge], categories=FEELINGS),
            }
        ),
    )


def expected_kappa(counts, level=0.95):
    """Kappa as statsmodels has it, and the interval of its standard error with one half in every count."""
    from scipy.stats import norm

    table = np.asarray(counts)
    kappa = cohens_kappa(table).kappa
    adjusted = cohens_kappa(table + 0.5)
    half = norm.ppf(0.5 + level / 2) * adjusted.std_kappa
    return kappa, min(adjusted.kappa - half, kappa), min(1.0, max(adjusted.kappa + half, kappa))


@pytest.mark.parametrize(
    ("counts", "level"),
    [
        ([[40, 6], [9, 25]], 0.8),
        ([[1, 3], [2, 4]], 0.95),
        ([[30, 0], [0, 10]], 0.95),
        ([[5, 60], [40, 3]], 0.95),
    ],
)
def test_completion_agrees_with_statsmodels(counts, level):
    row = analysis.judge_agreement(*completion_tables(counts), level=level).iloc[0]
    (tp, fn), (fp, tn) = counts
    n = tp + fn + fp + tn
    assert (row["question"], row["value"], row["n"], row["agreed"]) == (
        "task_completed",
        "completed",
        n,
        tp + tn,
    )
    assert [row[name] for name in ("true_positive", "false_negative", "false_positive", "true_negative")] == [
        tp,
        fn,
        fp,
        tn,
    ]
    for name, part, whole in (("agreement", tp + tn, n), ("tpr", tp, tp + fn), ("tnr", tn, tn + fp)):
        low, high = proportion_confint(part, whole, alpha=1 - level, method="wilson")
        assert [row[name], row[f"{name}_low"], row[f"{name}_high"]] == pytest.approx(
            [part / whole, low, high], abs=1e-12
        )
    found = [row["kappa"], row["kappa_low"], row["kappa_high"]]
    assert found == pytest.approx(expected_kappa(counts, level), abs=1e-12)


def test_sentiment_is_compared_as_a_whole_and_one_by_one():
    counts = [[20, 4, 1], [5, 30, 6], [0, 3, 31]]
    table = analysis.judge_agreement(*sentiment_tables(counts))
    assert table["value"].tolist() == ["any", *FEELINGS]
    whole = table.iloc[0]
    assert whole["agreement"] == pytest.approx(0.81)
    assert [whole["kappa"], whole["kappa_low"], whole["kappa_high"]] == pytest.approx(
        expected_kappa(counts), abs=1e-12
    )
    assert math.isnan(whole["tpr"])
    assert whole["true_positive"] is pd.NA
    neutral = table[table["value"] == "neutral"].iloc[0]
    against = [[30, 11], [7, 52]]
    assert [
        neutral[name] for name in ("true_positive", "false_negative", "false_positive", "true_negative")
    ] == [30, 11, 7, 52]
    assert neutral["tpr"] == pytest.approx(30 / 41)
    assert neutral["tnr"] == pytest.approx(52 / 59)
    assert neutral["kappa"] == pytest.approx(expected_kappa(against)[0], abs=1e-12)


def test_full_agreement_is_not_certainty():
    row = analysis.judge_agreement(*completion_tables([[8, 0], [0, 4]])).iloc[0]
    assert row["kappa"] == 1
    assert row["kappa_low"] < 0.8
    assert row["agreement_low"] < 0.8


def test_one_and_the_same_answer_always_has_no_kappa():
    row = analysis.judge_agreement(*completion_tables([[9, 0], [0, 0]])).iloc[0]
    assert row["agreement"] == 1
    assert math.isnan(row["kappa"])
    assert math.isnan(row["tnr"])


def test_conversations_are_matched_by_id_and_missing_verdicts_are_counted():
    labels = pd.DataFrame(
        {
            "conversation_id": ["a", "b", "c", "d"],
            "task_completed": pd.array([True, False, True, None], dtype="boolean"),
            "sentiment": ["positive", None, "negative", "neutral"],
        }
    )
    insights = pd.DataFrame(
        {
            "conversation_id": ["x", "c", "b", "a"],
            "task_completed": pd.array([False, None, True, True], dtype="boolean"),
            "sentiment": ["negative", "negative", "neutral", "neutral"],
        }
    )
    table = analysis.judge_agreement(labels, insights)
    completed, feeling = table.iloc[0], table.iloc[1]
    assert [completed["n"], completed["agreed"], completed["n_unjudged"]] == [2, 1, 1]
    assert [feeling["n"], feeling["agreed"], feeling["n_unjudged"]] == [2, 1, 1]


def test_without_labels_the_table_says_nothing_and_keeps_its_columns():
    labels, insights = completion_tables([[2, 0], [0, 1]])
    table = analysis.judge_agreement(labels.iloc[:0], insights)
    assert table["n"].tolist() == [0]
    assert table[["agreement", "kappa", "tpr"]].isna().all(axis=None)
    assert (
        table.dtypes.astype(str).to_dict()
        == analysis.judge_agreement(labels, insights).dtypes.astype(str).to_dict()
    )


def test_the_analyser_is_told():
    labels, insights = completion_tables([[7, 2], [3, 5]])
    insights.attrs["promptlift"] = {"analyser": "lexicon"}
    told = analysis.judge_agreement(labels, insights).attrs["promptlift"]
    corrected = told.pop("corrected")
    assert told == {"table": "judge_agreement", "analyser": "lexicon", "basis": "words", "level": 0.95}
    # Every judged conversation has a label, so that nobody has to have drawn them.
    assert corrected["refused"] == {}
    more = pd.concat([insights, insights.head(1).assign(conversation_id="unlabelled")])
    corrected = analysis.judge_agreement(labels, more).attrs["promptlift"]["corrected"]
    assert "labels have no chance" in corrected["refused"]["all"]


def test_bad_input_says_what_to_do():
    labels, insights = completion_tables([[7, 2], [3, 5]])
    with pytest.raises(FrameError, match=r"browser\.labels"):
        analysis.judge_agreement(labels.drop(columns="conversation_id"), insights)
    with pytest.raises(FrameError, match=r"lift\.conversations\(insights=True\)"):
        analysis.judge_agreement(labels, insights[["conversation_id"]])
    with pytest.raises(FrameError, match="a column that the labels have"):
        analysis.judge_agreement(labels, insights.rename(columns={"task_completed": "sentiment"}))
    with pytest.raises(ValueError, match="one person with one judge at a time"):
        analysis.judge_agreement(pd.concat([labels, labels]), insights)
    with pytest.raises(ValueError, match="answers are positive, neutral, negative"):
        analysis.judge_agreement(
            pd.DataFrame({"conversation_id": ["a"], "sentiment": ["glad"]}),
            pd.DataFrame({"conversation_id": ["a"], "sentiment": ["positive"]}),
        )
    with pytest.raises(ValueError, match="level"):
        analysis.judge_agreement(labels, insights, level=95)
