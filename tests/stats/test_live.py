"""Versions side by side: intervals that may be looked at, shares of the arms, ramps; the whole worlds are benchmarks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

from promptlift.stats.live import (
    RAMP,
    Units,
    difference,
    label_corrected,
    ramp_verdict,
    sample_ratio,
)
from support.live import looks, ramp, side_by_side, single_visits


@pytest.mark.slow
def test_users_who_come_back_are_one_unit_each_and_equal_texts_are_not_called_different():
    rng = np.random.default_rng(1)
    arm = looks(rng, 200, 0.7)
    assert [one.n for one in arm] == sorted(one.n for one in arm)
    assert arm[-1].n == 200
    assert arm[-1].mean == pytest.approx(0.7, abs=0.05)
    worlds = [side_by_side(rng, base=0.7, effect=0.0, units=400) for _ in range(40)]
    assert sum(named for named, _, _ in worlds) <= 4
    assert sum(missed for _, missed, _ in worlds) <= 4


def test_differences_are_found_by_few_users():
    rng = np.random.default_rng(2)
    assert np.mean([single_visits(rng, base=0.6, effect=0.1) for _ in range(60)]) < 500
    assert np.mean([single_visits(rng, base=0.6, effect=0.2) for _ in range(60)]) < 170


def test_the_interval_is_the_normal_mixture_tuned_for_400_units_an_arm():
    new, old = Units(400, 300.0, 300.0), Units(400, 240.0, 240.0)
    found = difference(new, old)
    variance = (0.75 * 0.25 + 0.6 * 0.4) / 400
    tuned = -2 * math.log(0.035)
    r = tuned + math.log(tuned) + 1
    half = math.sqrt(variance * (1 + 1 / r) * math.log((1 + r) / 0.035**2))
    assert found.high - found.estimate == pytest.approx(half, rel=0.003)
    # For any other time of tuning, the interval at 400 units an arm would be wider.
    assert half < min(
        math.sqrt(variance * (1 + 1 / other) * math.log((1 + other) / 0.035**2)) for other in (r / 2, 2 * r)
    )


def test_few_units_have_a_difference_without_an_interval_and_no_direction():
    few = difference(Units.of([1.0] * 19), Units.of([0.0] * 50))
    assert (few.estimate, few.low, few.direction) == (1.0, None, "unclear")
    same = difference(Units.of([1.0] * 50), Units.of([1.0] * 50))
    assert (same.estimate, same.low) == (0.0, None)
    one_sided = difference(Units.of([1.0] * 50), Units.of([1.0] * 30 + [0.0] * 20))
    assert 0.0 < one_sided.low < 0.4 < one_sided.high
    assert difference(Units.of([]), Units.of([1.0])).estimate is None
    with pytest.raises(ValueError, match="level"):
        difference(Units.of([]), Units.of([]), level=95)


def test_labels_repair_what_a_judge_gets_wrong_in_one_arm():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(40):
        arms = []
        for true_rate, calls_failures_completed in ((0.6, 0.5), (0.6, 0.0)):
            truth = rng.random(2_000) < true_rate
            judged = truth | (rng.random(2_000) < calls_failures_completed)
            labels = np.where(rng.random(2_000) < 0.2, truth, np.nan)
            arms.append((Units.of(judged), Units.of(label_corrected(judged, labels, 0.2))))
        assert difference(arms[0][0], arms[1][0]).direction == "better"
        corrected = difference(arms[0][1], arms[1][1])
        covered += corrected.low <= 0.0 <= corrected.high
    assert covered >= 37
    with pytest.raises(ValueError, match="chance"):
        label_corrected([1], [1], 0.0)


def test_arms_that_lose_units_are_noticed_and_right_shares_are_not():
    rng = np.random.default_rng(4)
    ends = range(100, 10_001, 100)

    def noticed(share, weights):
        found = np.cumsum(rng.binomial(100, share, len(ends)))
        return next(
            (n for n, x in zip(ends, found, strict=True) if sample_ratio([x, n - x], weights).is_off), None
        )

    assert sum(noticed(0.5, [1, 1]) is not None for _ in range(100)) <= 4
    assert sum((noticed(0.54, [1, 1]) or math.inf) <= 5_000 for _ in range(60)) >= 55
    assert sum(noticed(0.07, [0.05, 0.95]) is not None for _ in range(20)) == 20


def test_the_ratio_is_the_mixture_of_likelihood_ratios():
    x, n = 260, 500
    grid = np.linspace(0.0005, 0.9995, 1_000)
    mixed = np.average(binom.pmf(x, n, grid) / binom.pmf(x, n, 0.5), weights=beta.pdf(grid, 250.0, 250.0))
    assert sample_ratio([x, n - x], [0.5, 0.5]).e_value == pytest.approx(mixed, rel=1e-6)
    assert sample_ratio([5, 3, 2], [2, 1, 1]).e_value == sample_ratio([2, 5, 3], [1, 2, 1]).e_value
    assert not sample_ratio([0, 0], [1, 1]).is_off
    assert sample_ratio([1_000_000, 0], [1, 1]).is_off
    for units, weights in (([1], [1, 1]), ([-1, 1], [1, 1]), ([1, 1], [0, 1])):
        with pytest.raises(ValueError, match="weight"):
            sample_ratio(units, weights)


def test_a_ramp_goes_back_with_harm_and_on_without():
    rng = np.random.default_rng(5)
    harmed = [ramp(rng, base=0.7, harm=0.2)[0] for _ in range(25)]
    unharmed = [ramp(rng, base=0.7, harm=0.0)[0] for _ in range(25)]
    assert harmed.count("back") >= 23
    assert unharmed.count("on") >= 23


def test_a_ramp_excludes_10_points_before_all_users_get_the_text_and_then_stays():
    pair = (Units(300, 225.0, 225.0), Units(300, 225.0, 225.0))
    verdicts = {share: ramp_verdict({"task_completion": pair}, share=share).action for share in RAMP}
    assert verdicts == {0.05: "on", 0.5: "wait", 1.0: "wait"}
    larger = tuple(Units(*(5 * one for one in arm)) for arm in pair)
    assert ramp_verdict({"task_completion": larger}, share=0.5).action == "on"
    assert ramp_verdict({}, share=0.05).action == "wait"


def test_a_ramp_goes_back_where_another_metric_is_harmed_by_enough_to_matter():
    rng = np.random.default_rng(6)
    completed = (Units(3_000, 2_250.0, 2_250.0),) * 2

    def verdict(name, new, old):
        pairs = (
            Units.of(rng.normal(new, 0.1 * abs(old), 3_000)),
            Units.of(rng.normal(old, 0.1 * abs(old), 3_000)),
        )
        return ramp_verdict({"task_completion": completed, name: pairs}, share=0.05)

    assert (verdict("quality", 60, 70).action, verdict("quality", 60, 70).harmed) == ("back", ["quality"])
    assert verdict("quality", 69, 70).action == "on"
    assert verdict("quality", 80, 70).action == "on"
    assert verdict("response_time", 13, 10).harmed == ["response_time"]
    assert verdict("response_time", 11, 10).action == "on"
    assert verdict("response_time", 5, 10).action == "on"
