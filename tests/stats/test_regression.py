"""The regression test: what passes, what does not, and how rarely it cries wolf."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from promptlift.stats import lift_interval
from promptlift.stats.regression import ScenarioPairs, regression_test

FINE = [ScenarioPairs("refund", 30, 3, 2, 5), ScenarioPairs("change of seat", 25, 4, 4, 7)]


@pytest.mark.slow
def test_per_scenario_p_is_the_exact_binomial_with_holm():
    scenarios = [
        ScenarioPairs("a", 10, 1, 9, 2),
        ScenarioPairs("b", 12, 3, 4, 2),
        ScenarioPairs("c", 5, 6, 1, 0),
    ]
    result = regression_test(scenarios)
    p = [binomtest(s.n01, s.n01 + s.n10, alternative="greater").pvalue for s in scenarios]
    assert [scenario.p for scenario in result.scenarios] == pytest.approx(p, abs=1e-12)
    assert [scenario.p_holm for scenario in result.scenarios] == pytest.approx(
        list(multipletests(p, method="holm")[1]), abs=1e-12
    )
    assert [scenario.passed for scenario in result.scenarios] == [False, True, True]
    assert [scenario.name for scenario in result.scenarios] == ["a", "b", "c"]
    assert result.scenarios[0].delta == pytest.approx(100 * -8 / 22)
    assert (result.regressed, result.verdict) == (1, "regressed")


def test_automatic_deployment_wants_proof_that_nothing_large_was_lost():
    few = regression_test([ScenarioPairs("a", 6, 1, 1, 2)])
    assert (few.verdict, few.regressed) == ("inconclusive", 0)
    many = regression_test([ScenarioPairs("a", 120, 24, 22, 20)])
    assert many.verdict == "passed"
    assert many.pooled.lift_points_low == lift_interval(120, 24, 22, 20).points_low > -10


def test_the_power_says_what_drop_would_have_been_found():
    small, large = regression_test(FINE), regression_test([ScenarioPairs("a", 300, 30, 30, 40)])
    assert large.smallest_drop_found < small.smallest_drop_found
    assert regression_test([ScenarioPairs("a", 2, 0, 0, 0)]).smallest_drop_found is None


def test_bad_input_is_refused_and_no_pair_proves_nothing():
    assert regression_test([]).verdict == "inconclusive"
    with pytest.raises(ValueError, match="n01"):
        regression_test([ScenarioPairs("a", 1, 1, -1, 1)])
