"""Scores of the same items, against SciPy and by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import rankdata

from promptlift.stats.scores import paired_score_test


def every_sign(differences):
    """Two-sided p over all patterns of signs, by brute force."""
    ranks = rankdata(np.abs(differences))
    seen = abs(ranks @ np.sign(differences))
    drawn = [abs(ranks @ np.array(signs)) for signs in product((-1, 1), repeat=len(ranks))]
    return np.mean([one >= seen - 1e-9 for one in drawn])


@pytest.mark.parametrize("n", [1, 2, 5, 6, 9])
def test_few_items_are_exact_with_ties(n):
    rng = np.random.default_rng(n)
    first, second = rng.integers(1, 6, n), rng.integers(1, 6, n)
    moved = (first - second)[first != second]
    assert paired_score_test(first, second).p == pytest.approx(
        every_sign(moved) if len(moved) else 1.0, abs=1e-12
    )


def test_nothing_to_compare_is_unknown():
    assert paired_score_test([], []).difference is None
    same = paired_score_test([1, 2, 3], [1, 2, 3])
    assert (same.p, same.difference, same.low, same.rank_direction) == (1.0, 0.0, None, 0)
    assert paired_score_test([1, np.nan], [2, 5]).n == 1
