"""Sentiment of groups: against SciPy, by hand, and with nothing to compare."""

from __future__ import annotations

import numpy as np
import pytest

from promptlift.stats.scores import label_test, score_test


@pytest.mark.parametrize("table", [[[5, 3]], [[5], [3]], [[5, 0], [3, 0]], [[0, 0], [0, 0]]])
def test_one_group_or_one_label_is_nothing_to_compare(table):
    ours = label_test(table)
    assert (ours.p, ours.cramers_v) == (1.0, None)


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
