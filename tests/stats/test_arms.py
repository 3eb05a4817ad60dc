from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from promptlift.stats.arms import ArmOutcome, compare_arms
from promptlift.stats.intervals import wilson


def outcomes(*arms, clusters=None):
    """Outcomes of each arm in cells 1 and up; ``None`` was lost."""
    return [
        ArmOutcome(
            cell,
            arm,
            bool(done),
            0.5 if done else -0.5,
            80.0 if done else 30.0,
            clusters[cell - 1] if clusters else f"p{cell}",
        )
        for arm, column in enumerate(arms)
        for cell, done in enumerate(column, start=1)
        if done is not None
    ]


def table(n11, n10, n01, n00):
    """Two columns with this pair table: the second arm against the first."""
    second = [1] * (n11 + n10) + [0] * (n01 + n00)
    first = [1] * n11 + [0] * n10 + [1] * n01 + [0] * n00
    return first, second


def test_scores_and_pairs_are_those_of_the_pair_table():
    found = compare_arms(outcomes(*table(40, 12, 4, 24)), [0, 1])
    first, second = found.scores
    assert (first.n, second.n) == (80, 80)
    assert (first.rate, second.rate) == (44 / 80, 52 / 80)
    assert (second.rate_low, second.rate_high) == pytest.approx([float(end) for end in wilson(52, 80)])
    (one,) = found.comparisons
    assert (one.arm, one.reference, one.n11, one.n10, one.n01, one.n00) == (1, 0, 40, 12, 4, 24)
    assert one.points == pytest.approx(10.0)
    assert one.points_low < 10.0 < one.points_high
    oracle = mcnemar([[40, 12], [4, 24]], exact=False, correction=False).pvalue
    assert one.p == one.p_holm == pytest.approx(oracle)
    assert one.verdict == "better"
    assert one.sentiment.difference == pytest.approx(8 / 80)


@pytest.mark.slow
def test_the_verdict_of_one_arm_is_that_of_its_interval():
    """Also where the pairs of a persona move together, which widens the interval."""
    rng = np.random.default_rng(3)
    for n in rng.integers(1, 120, 200):
        clusters = [f"p{number}" for number in np.sort(rng.integers(0, n // 3 + 1, n))]
        columns = (rng.random((2, n)) < rng.random((2, 1))).astype(int).tolist()
        (one,) = compare_arms(outcomes(*columns, clusters=clusters), [0, 1]).comparisons
        clear = not one.points_low <= 0.0 <= one.points_high
        assert clear == (one.p < 0.05)
        assert (one.verdict != "unclear") == (clear and n >= 10)


def test_scores_are_of_the_cells_that_all_arms_have_and_pairs_of_those_that_two_have():
    found = compare_arms(outcomes([1, 1, 0, 1], [1, None, 0, 0], [0, 1, 1, 1]), [0, 1, 2])
    assert [one.n for one in found.scores] == [3, 3, 3]
    assert [one.rate for one in found.scores] == pytest.approx([2 / 3, 1 / 3, 2 / 3])
    assert [one.n for one in found.comparisons] == [3, 4]


def test_an_arm_that_lost_most_takes_no_cells_from_the_others():
    found = compare_arms(
        outcomes([1, 1, 0, 1], [1, None, None, None], [None] * 4, [0, 1, 1, 1]), [0, 1, 2, 3]
    )
    assert [one.n for one in found.scores] == [4, 1, 0, 4]
    assert found.scores[2].rate is None
    assert found.comparisons[1].points is None
    assert found.comparisons[1].not_worse is False


def test_against_the_best_an_arm_must_be_not_worse_than_every_other_one():
    base, equal = table(300, 3, 3, 94)
    worse = [0] * 60 + base[60:]
    found = compare_arms(outcomes(base, equal, worse), [0, 1, 2], reference="best")
    assert found.acceptable == (0, 1)
    # Against the worst one alone all would pass.
    assert compare_arms(outcomes(base, equal, worse), [0, 1, 2], reference=2).acceptable == (0, 1, 2)
