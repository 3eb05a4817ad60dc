"""The spread of sentiment against plain pandas: labels, and on a word list scores relative to the usual one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from promptlift import analysis
from support.synthetic_tables import conversations, small

ORDER = ["negative", "neutral", "positive"]
BANDS = ["far below usual", "below usual", "usual", "above usual", "far above usual"]


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


def scored(scores, analyser="lexicon", **columns):
    """Conversations that a word list scores; its labels call all of them positive."""
    score = pd.array(scores, dtype="Float64").to_numpy(float, na_value=np.nan)
    labels = np.where(np.isnan(score), None, "positive")
    return small(sentiment_score=score, sentiment=labels, analyser=[analyser] * len(score), **columns)


def test_scores_of_a_word_list_are_set_against_their_median():
    # Usual is 0.34: 0.04 and 0.64 are just below and above it, 0.24 and 0.44 just usual.
    scores = [0.34, 0.0399, 0.04, 0.2399, 0.24, 0.44, 0.4401, 0.64, 0.6401, None]
    result = analysis.sentiment_distribution(scored(scores))
    assert result["sentiment"].tolist() == BANDS
    assert result["n"].tolist() == [1, 2, 3, 2, 1]
    assert result["n_missing"].tolist() == [1] * 5
    assert result.attrs["promptlift"]["usual"] == 0.34
    assert result.attrs["promptlift"]["basis"] == "words"


@given(st.lists(st.none() | st.integers(-10_000, 10_000).map(lambda n: n / 10_000), min_size=1, max_size=60))
@settings(max_examples=20, deadline=None)
def test_the_bands_of_any_scores_count_every_conversation_once(scores):
    table = scored(scores)
    result, known = analysis.sentiment_distribution(table), table["sentiment_score"].dropna()
    assert result["total"].eq(len(known)).all()
    assert result["n"].sum() == len(known)
    usual = result.attrs["promptlift"]["usual"]
    if len(known):
        assert result["share"].sum() == pytest.approx(1)
        assert usual == pytest.approx(known.median(), abs=1e-6)
    for band, low, high in zip(BANDS[1:4], (-0.3, -0.1, 0.1), (-0.1, 0.1, 0.3), strict=True):
        found = analysis.conversations_of(result, table, band)["sentiment_score"] - usual
        assert found.between(low - 1e-6, high + 1e-6).all()


@pytest.mark.parametrize(
    ("analyser", "basis", "kinds"),
    [
        ("lexicon", "outcome", BANDS),
        ("mixed", "model", BANDS),
        ("llm:x", "words", ORDER),
        (None, None, ORDER),
    ],
)
def test_sentiment_has_the_basis_of_who_judged_it_whatever_completion_rests_on(analyser, basis, kinds):
    result = analysis.sentiment_distribution(scored([0.2, 0.4], analyser).assign(basis=basis))
    assert result["sentiment"].tolist() == kinds
