"""Deployment verdicts: the exact bound against SciPy, every status, and false verifications counted exactly."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest, norm

from promptlift.stats.deployment import FailureCounts, failure_reduction, fix_status, worsening


def fix(*counts, **options):
    return fix_status(FailureCounts(*counts), **options)


@pytest.mark.parametrize("check", [1, 2, 3])
@pytest.mark.parametrize("counts", [(20, 100, 3, 60), (8, 40, 0, 30), (5, 50, 9, 120), (1, 10, 1, 30)])
def test_the_interval_is_the_exact_conditional_one_of_scipy(counts, check):
    before_fail, before_n, after_fail, after_n = counts
    side = norm.sf([2.002, 1.9938, 1.9803][check - 1])
    share = binomtest(after_fail, before_fail + after_fail).proportion_ci(1 - 2 * side, method="exact")
    ours = failure_reduction(FailureCounts(*counts), check=check)

    def reduction(share):
        return 1 - share / (1 - share) * before_n / after_n

    assert ours.low == pytest.approx(reduction(share.high), abs=2e-3)
    assert ours.high == pytest.approx(reduction(share.low), abs=2e-3)
    assert ours.estimate == pytest.approx(1 - after_fail / after_n / (before_fail / before_n))


def test_p_of_worse_is_the_conditional_binomial_one():
    exact = binomtest(12, 17, 60 / 110, alternative="greater").pvalue
    assert worsening([FailureCounts(5, 50, 12, 60)]) == pytest.approx(exact, abs=1e-12)
    assert worsening([FailureCounts(5, 50, 0, 60)]) == 1.0


def test_every_status():
    assert fix(40, 100, 4, 60) == "verified"
    # Half the failures in half the conversations is no reduction.
    assert failure_reduction(FailureCounts(20, 100, 10, 50)).estimate == pytest.approx(0.0)
    assert fix(40, 100, 22, 60) == "not_fixed"
    assert fix(40, 100, 2, 29) == "pending"
    assert fix(8, 100, 2, 30) == "pending"
    assert fix(8, 100, 2, 30, deadline_passed=True) == "not_fixed"
    assert fix(0, 60, 0, 60) == "pending"


def test_worse_is_adjusted_over_the_issues():
    worse, same = FailureCounts(3, 60, 10, 60), FailureCounts(6, 60, 6, 60)
    p = worsening([worse])
    assert p < 0.05
    assert worsening([worse, *[same] * 5]) == pytest.approx(6 * p)


def test_bad_calls_are_refused_and_empty_periods_known_to_be_unknown():
    for act in (failure_reduction, lambda counts: worsening([counts])):
        with pytest.raises(ValueError, match="more than"):
            act(FailureCounts(1, 4, 11, 10))
    with pytest.raises(ValueError, match="check"):
        failure_reduction(FailureCounts(1, 2, 1, 2), check=4)
    with pytest.raises(ValueError, match="at least one issue"):
        worsening([])
    assert failure_reduction(FailureCounts(0, 0, 3, 30)).estimate is None
    assert failure_reduction(FailureCounts(0, 30, 3, 30)).low is None
    assert worsening([FailureCounts(0, 0, 3, 30)]) == 1.0
