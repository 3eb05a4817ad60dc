"""Sentiment over time: the shares of each period are those of its conversations alone."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy import stats as scipy_stats

from promptlift import analysis
from promptlift.errors import FrameError
from support.synthetic_tables import conversations, small


def test_each_period_has_the_numbers_of_its_own_conversations():
    table = conversations(2_000, undated=0)
    trend = analysis.sentiment_trend(table, freq="W")
    assert trend["n"].sum() + trend["n_missing"].sum() == len(table)
    start = trend["period_start"].iloc[3]
    week = table[(table["started_at"] >= start) & (table["started_at"] < start + pd.Timedelta(days=7))]
    row, alone = trend.iloc[3], analysis.sentiment_distribution(week)
    for label in ("negative", "neutral", "positive"):
        expected = alone[alone["sentiment"] == label].iloc[0]
        assert row[[label, f"{label}_share", f"{label}_low", f"{label}_high"]].tolist() == pytest.approx(
            expected[["n", "share", "share_low", "share_high"]].tolist()
        )
    scores = week["sentiment_score"].dropna()
    low, high = scipy_stats.t.interval(0.95, len(scores) - 1, scores.mean(), scores.sem())
    assert row[
        ["sentiment_n", "sentiment_mean", "sentiment_low", "sentiment_high"]
    ].tolist() == pytest.approx([len(scores), scores.mean(), low, high])


def test_what_cannot_be_read_is_refused():
    with pytest.raises(FrameError, match="sentiment"):
        analysis.sentiment_trend(small(started_at=["2026-01-01"]))
    with pytest.raises(FrameError, match="started_at"):
        analysis.sentiment_trend(small(sentiment=["positive"]))
