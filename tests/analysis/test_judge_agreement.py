"""The agreement of judge and person, beside statsmodels, by hand, and where nothing can be said."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from promptlift import analysis
from promptlift.errors import FrameError

FEELINGS = ["positive", "neutral", "negative"]
COUNTS = ("true_positive", "false_negative", "false_positive", "true_negative")


def tables(counts, column="task_completed", values=(True, False)):
    """Labels and verdicts of a table of counts: the person down, the judge across."""
    cells = [(i, j) for i, row in enumerate(counts) for j, count in enumerate(row) for _ in range(count)]
    ids = [f"c{place}" for place in range(len(cells))]
    said, judged = ([values[one] for one in side] for side in zip(*cells, strict=True))
    return [pd.DataFrame({"conversation_id": ids, column: pd.array(side)}) for side in (said, judged)]


def expected_kappa(counts, level=0.95):
    """Kappa as statsmodels has it, and the interval of its standard error with one half in every count."""
    table = np.asarray(counts)
    kappa = cohens_kappa(table).kappa
    adjusted = cohens_kappa(table + 0.5)
    half = norm.ppf(0.5 + level / 2) * adjusted.std_kappa
    return kappa, min(adjusted.kappa - half, kappa), min(1.0, max(adjusted.kappa + half, kappa))


@pytest.mark.parametrize(
    ("counts", "level"), [([[40, 6], [9, 25]], 0.8), ([[30, 0], [0, 10]], 0.95), ([[5, 60], [40, 3]], 0.95)]
)
def test_completion_agrees_with_statsmodels(counts, level):
    row = analysis.judge_agreement(*tables(counts), level=level).iloc[0]
    (tp, fn), (fp, tn) = counts
    n = tp + fn + fp + tn
    assert row[["question", "value"]].tolist() == ["task_completed", "completed"]
    assert row[["n", "agreed", *COUNTS]].tolist() == [n, tp + tn, tp, fn, fp, tn]
    for name, part, whole in (("agreement", tp + tn, n), ("tpr", tp, tp + fn), ("tnr", tn, tn + fp)):
        ends = proportion_confint(part, whole, alpha=1 - level, method="wilson")
        expected = pytest.approx([part / whole, *ends], abs=1e-12)
        assert [row[name], row[f"{name}_low"], row[f"{name}_high"]] == expected
    found = [row["kappa"], row["kappa_low"], row["kappa_high"]]
    assert found == pytest.approx(expected_kappa(counts, level), abs=1e-12)


def test_sentiment_is_compared_as_a_whole_and_one_by_one():
    counts = [[20, 4, 1], [5, 30, 6], [0, 3, 31]]
    table = analysis.judge_agreement(*tables(counts, "sentiment", FEELINGS))
    assert table["value"].tolist() == ["any", *FEELINGS]
    whole, neutral = table.iloc[0], table.iloc[2]
    assert whole["agreement"] == pytest.approx(0.81)
    assert whole[["kappa", "kappa_low", "kappa_high"]].tolist() == pytest.approx(
        expected_kappa(counts), abs=1e-12
    )
    assert math.isnan(whole["tpr"])
    assert whole["true_positive"] is pd.NA
    assert neutral[[*COUNTS]].tolist() == [30, 11, 7, 52]
    assert neutral[["tpr", "tnr"]].tolist() == pytest.approx([30 / 41, 52 / 59])
    assert neutral["kappa"] == pytest.approx(expected_kappa([[30, 11], [7, 52]])[0], abs=1e-12)


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
    assert table.head(2)[["n", "agreed", "n_unjudged"]].to_numpy().tolist() == [[2, 1, 1]] * 2
    empty = analysis.judge_agreement(labels.iloc[:0], insights)
    assert empty["n"].sum() == 0
    assert empty[["agreement", "kappa", "tpr"]].isna().all(axis=None)
    assert empty.dtypes.astype(str).to_dict() == table.dtypes.astype(str).to_dict()


def test_bad_input_says_what_to_do():
    labels, insights = tables([[7, 2], [3, 5]])
    glad, feeling = tables([[1]], "sentiment", ["glad"])[0], tables([[1]], "sentiment", ["positive"])[1]
    for error, said, *given in (
        (FrameError, r"browser\.labels", labels.drop(columns="conversation_id"), insights),
        (FrameError, r"lift\.conversations\(insights=True\)", labels, insights[["conversation_id"]]),
        (FrameError, "a column that the labels have", labels, insights.rename(columns={"task_completed": "sentiment"})),
        (ValueError, "one person with one judge at a time", pd.concat([labels, labels]), insights),
        (ValueError, "answers are positive, neutral, negative", glad, feeling),
    ):  # fmt: skip
        with pytest.raises(error, match=said):
            analysis.judge_agreement(*given)
