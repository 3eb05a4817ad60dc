"""Sentiment of groups: against SciPy, by hand, and with nothing to compare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, contingency, fisher_exact, mannwhitneyu, ttest_ind

from promptlift.stats.scores import label_test, score_test


def test_labels_are_compared_by_chi2_and_cramers_v():
    table = np.array([[40, 30, 20], [25, 35, 40]])
    ours, oracle = label_test(table), chi2_contingency(table, correction=False)
    assert (ours.statistic, ours.p) == pytest.approx((oracle.statistic, oracle.pvalue), rel=1e-12)
    assert ours.cramers_v == pytest.approx(contingency.association(table, method="cramer"))
    assert (ours.method, ours.n) == ("chi2", 190)


def test_small_tables_are_compared_by_random_tables():
    table = [[3, 1], [1, 7]]
    ours = label_test(table)
    assert ours.method == "permutation"
    assert ours.p == pytest.approx(fisher_exact(table).pvalue, abs=0.015)
    assert label_test(table) == ours


@pytest.mark.parametrize("table", [[[5, 3]], [[5], [3]], [[5, 0], [3, 0]], [[0, 0], [0, 0]]])
def test_one_group_or_one_label_is_nothing_to_compare(table):
    ours = label_test(table)
    assert (ours.p, ours.cramers_v) == (1.0, None)


@pytest.mark.parametrize("bad", [[1, 2, 3], [[1, -1], [2, 2]]])
def test_what_is_no_table_is_refused(bad):
    with pytest.raises(ValueError, match="table of groups by labels"):
        label_test(bad)


def test_scores_are_compared_by_mann_whitney_and_welch():
    rng = np.random.default_rng(4)
    a, b = rng.normal(0.2, 0.5, 60), rng.normal(0, 0.3, 45)
    ours = score_test(a, b, level=0.9)
    assert ours.p == pytest.approx(mannwhitneyu(a, b).pvalue, rel=1e-12)
    oracle = ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    assert (ours.low, ours.high) == pytest.approx((oracle.low, oracle.high), abs=1e-12)
    delta = np.mean(np.sign(a[:, None] - b[None, :]))
    assert ours.cliffs_delta == pytest.approx(delta)
    assert (ours.n1, ours.n0) == (60, 45)


def test_scores_by_hand():
    # 1 and 3 against 2: one above, one below.
    assert score_test([1, 3], [2]).cliffs_delta == 0.0
    assert score_test([3, 4], [1, 2]).cliffs_delta == 1.0
    assert score_test([3, 4], [1, 2]).difference == 2.0
    assert (score_test([1, 3], [2]).low, score_test([1, 3], [2]).high) == (None, None)


def test_nan_is_left_out_and_nothing_gives_nothing():
    assert score_test([1, np.nan, 3], [2]) == score_test([1, 3], [2])
    assert score_test([], [1.0]).p == 1.0
    assert score_test([], [1.0]).difference is None


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.lists(st.floats(-1, 1), min_size=2, max_size=30)
)
def test_the_interval_encloses_the_difference_and_exchange_mirrors(first, second):
    ours, back = score_test(first, second), score_test(second, first)
    assert -1 <= ours.cliffs_delta <= 1
    assert back.cliffs_delta == pytest.approx(-ours.cliffs_delta, abs=1e-12)
    assert back.p == pytest.approx(ours.p, abs=1e-12)
    if ours.low is not None:
        assert ours.low <= ours.difference <= ours.high
