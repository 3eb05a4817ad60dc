"""The spread of sentiment labels against plain pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from promptlift import analysis
from promptlift.errors import FrameError
from support.synthetic_tables import conversations, small

ORDER = ["negative", "neutral", "positive"]


@pytest.mark.parametrize("by", [None, "prompt_id"])
def test_the_shares_are_what_value_counts_gives(by):
    table = conversations(900)
    result = analysis.sentiment_distribution(table, by=by)
    for name, rows in result.groupby(by) if by else [(None, result)]:
        part = table if by is None else table[table[by] == name]
        counts = part["sentiment"].value_counts().reindex(ORDER)
        assert rows["sentiment"].tolist() == ORDER
        assert rows["n"].tolist() == counts.tolist()
        np.testing.assert_allclose(rows["share"], counts / counts.sum())
        low, high = proportion_confint(counts.to_numpy(), counts.sum(), method="wilson")
        np.testing.assert_allclose(rows["share_low"], low)
        np.testing.assert_allclose(rows["share_high"], high)
        assert rows["n_missing"].eq(part["sentiment"].isna().sum()).all()


@pytest.mark.parametrize("n", [0, 1])
def test_all_three_labels_are_always_there(n):
    result = analysis.sentiment_distribution(conversations(n))
    assert result["sentiment"].tolist() == ORDER
    assert result["total"].tolist() == [result["n"].sum()] * 3


def test_an_unknown_label_is_missing_and_not_a_share():
    result = analysis.sentiment_distribution(small(sentiment=["positive", "furious", None]))
    assert result["n"].tolist() == [0, 0, 1]
    assert result["n_missing"].tolist() == [2, 2, 2]


@pytest.mark.parametrize("dtype", ["str", "object", "category", "string[pyarrow]"])
def test_labels_may_come_in_any_dtype(dtype):
    labels = pd.Series(["neutral", "positive", "positive", None]).astype(dtype)
    assert analysis.sentiment_distribution(pd.DataFrame({"sentiment": labels}))["n"].tolist() == [0, 1, 2]


def test_a_table_without_insights_is_refused():
    with pytest.raises(FrameError, match="insights=True"):
        analysis.sentiment_distribution(conversations(3).drop(columns="sentiment"))
