"""Two groups that somebody brings along, against SciPy and statsmodels, and on real runs with known truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep

from promptlift.stats import compare_paired, compare_unpaired
from promptlift.stats.differences import newcombe, sign_test_p
from support.shared_data import load, needs_shared


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (3, 17), (17, 3), (8, 8), (5, 9), (400, 350)])
def test_the_sign_test_is_the_exact_mcnemar_of_statsmodels(wins, losses):
    oracle = mcnemar(np.array([[10, wins], [losses, 4]]), exact=True).pvalue
    assert sign_test_p(wins, losses) == pytest.approx(min(oracle, 1.0), abs=1e-12)


@given(st.integers(0, 200), st.integers(0, 200))
def test_the_one_sided_sign_test_is_the_binomial_one(wins, losses):
    oracle = binomtest(losses, wins + losses, alternative="greater").pvalue if wins + losses else 1.0
    assert sign_test_p(wins, losses, alternative="worse") == pytest.approx(oracle, abs=1e-12)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
def test_newcombe_is_the_one_of_statsmodels(level):
    rng = np.random.default_rng(1)
    n1, n0 = rng.integers(1, 200, 200), rng.integers(1, 200, 200)
    x1, x0 = rng.binomial(n1, 0.7), rng.binomial(n0, 0.6)
    low, high = newcombe(x1, n1, x0, n0, level=level)
    for at in range(200):
        oracle = confint_proportions_2indep(
            x1[at], n1[at], x0[at], n0[at], method="newcomb", compare="diff", alpha=1 - level
        )
        assert (low[at], high[at]) == pytest.approx(oracle, abs=1e-12)


def test_newcombe_of_an_empty_group_is_unknown_and_not_a_warning():
    low, high = newcombe([3, 0], [5, 0], [0, 2], [0, 4])
    assert np.isnan([*low, *high]).all()


@given(st.integers(1, 300), st.integers(1, 300), st.data())
def test_newcombe_encloses_the_difference_stays_in_range_and_mirrors(n1, n0, data):
    x1, x0 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n0))
    low, high = newcombe(x1, n1, x0, n0)
    assert -1 - 1e-12 <= low <= x1 / n1 - x0 / n0 + 1e-12
    assert x1 / n1 - x0 / n0 - 1e-12 <= high <= 1 + 1e-12
    back_low, back_high = newcombe(x0, n0, x1, n1)
    assert (float(back_low), float(back_high)) == pytest.approx((-float(high), -float(low)), abs=1e-12)


@pytest.mark.parametrize("table", [(23, 40, 10, 38), (0, 5, 4, 5), (30, 30, 29, 30), (7, 10, 7, 10)])
def test_unpaired_groups_are_compared_by_fisher(table):
    x1, n1, x0, n0 = table
    result = compare_unpaired(x1, n1, x0, n0)
    assert result.p == pytest.approx(min(fisher_exact([[x1, n1 - x1], [x0, n0 - x0]]).pvalue, 1.0), abs=1e-9)
    assert result.lift == pytest.approx(100 * (x1 / n1 / (x0 / n0) - 1))
    assert result.lift_points == pytest.approx(100 * (x1 / n1 - x0 / n0))
    low, high = newcombe(x1, n1, x0, n0)
    assert (result.lift_points_low, result.lift_points_high) == pytest.approx((100 * low, 100 * high))


def test_the_direction_is_decided_by_the_exact_p():
    assert compare_unpaired(38, 40, 20, 40).direction == "better"
    assert compare_unpaired(20, 40, 38, 40).direction == "worse"
    assert compare_unpaired(21, 40, 20, 40).direction == "unclear"
    assert compare_paired(10, 15, 2, 10).direction == "better"
    assert compare_paired(10, 2, 15, 10).direction == "worse"
    assert compare_paired(10, 5, 3, 10).direction == "unclear"


def test_an_empty_group_decides_nothing():
    result = compare_unpaired(0, 0, 4, 5)
    assert (result.direction, result.p, result.p1, result.lift, result.lift_points) == (
        "unclear",
        1.0,
        None,
        None,
        None,
    )
    assert compare_unpaired(4, 5, 0, 5).lift is None
    assert compare_paired(0, 0, 0, 0).direction == "unclear"


def test_impossible_groups_are_refused():
    with pytest.raises(ValueError, match="between 0 and n"):
        compare_unpaired(6, 5, 1, 5)
    with pytest.raises(ValueError, match="n10"):
        compare_paired(1, -1, 0, 0)
    with pytest.raises(ValueError, match="level"):
        compare_paired(1, 1, 0, 0, level=95)


@needs_shared
@pytest.mark.parametrize("name", ["tau2-airline", "tau2-retail"])
def test_real_variants_on_the_same_tasks_agree_with_the_libraries(name):
    done = {}
    for record in load(name):
        of_run = done.setdefault(record["metadata"]["run"], {})
        of_run.setdefault(record["metadata"]["taskId"], record["truth"]["taskCompleted"])
    control, directions = done["gpt-4o"], set()
    for run, variant in done.items():
        items = control.keys() & variant.keys()
        if run == "gpt-4o" or not items:
            continue
        pairs = [(bool(variant[item]), bool(control[item])) for item in items]
        table = [pairs.count(kind) for kind in ((True, True), (True, False), (False, True), (False, False))]
        paired = compare_paired(*table)
        oracle = mcnemar(np.array([table[:2], table[2:]]), exact=True).pvalue
        assert paired.p == pytest.approx(min(oracle, 1.0), abs=1e-9)
        directions.add(paired.direction)
        x1, x0, n = table[0] + table[1], table[0] + table[2], len(pairs)
        apart = compare_unpaired(x1, n, x0, n)
        assert apart.p == pytest.approx(fisher_exact([[x1, n - x1], [x0, n - x0]]).pvalue, abs=1e-9)
        ends = confint_proportions_2indep(x1, n, x0, n, method="newcomb", compare="diff", alpha=0.05)
        assert (apart.lift_points_low / 100, apart.lift_points_high / 100) == pytest.approx(ends, abs=1e-9)
    assert "unclear" in directions
    assert directions & {"better", "worse"}
