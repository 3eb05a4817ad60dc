"""The headline numbers agree with the analyses they sum up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.weightstats import DescrStatsW

from promptlift import analysis
from support.synthetic_tables import conversations


@pytest.mark.parametrize("by", [None, "prompt_id", "llm_model"])
def test_the_headline_numbers_are_those_of_the_analyses(by):
    table = conversations(700)
    result = analysis.prompt_overview(table, by=by)
    completion = analysis.completion(table, by=by)
    columns = ["n", "completed", "rate", "rate_low", "rate_high", "n_missing"]
    pd.testing.assert_frame_equal(result[columns], completion[columns])
    sentiment = analysis.sentiment_distribution(table, by=by)
    for label in ("negative", "neutral", "positive"):
        rows = sentiment[sentiment["sentiment"] == label].reset_index(drop=True)
        for mine, theirs in (("", "n"), ("_share", "share"), ("_low", "share_low"), ("_high", "share_high")):
            np.testing.assert_allclose(result[f"{label}{mine}"], rows[theirs])
    assert result["conversations"].sum() == 700
    assert (result["ended"] + result["in_progress"] == result["conversations"]).all()


def test_the_mean_sentiment_has_its_t_interval():
    table = conversations(300)
    row = analysis.prompt_overview(table).iloc[0]
    scores = table["sentiment_score"].dropna()
    assert row["sentiment_n"] == len(scores)
    assert row["sentiment_mean"] == pytest.approx(scores.mean())
    expected = DescrStatsW(scores).tconfint_mean()
    assert (row["sentiment_low"], row["sentiment_high"]) == pytest.approx(expected)
