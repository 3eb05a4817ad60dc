"""What a number of pairs can find: the table of the design, the exact sum, every path of a sequential run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from promptlift.stats import mcnemar_e_value, pairs_needed, smallest_findable_points
from promptlift.stats.evidence import log_e_values
from promptlift.stats.planning import power_of_pairs


@pytest.mark.parametrize(
    ("n", "points", "within"),
    [(45, 19, 0.5), (75, 15, 0.5), (150, 10.7, 0.05), (300, 7.6, 0.05), (600, 5.4, 0.05)],
)
def test_the_planning_table(n, points, within):
    assert smallest_findable_points(n) == pytest.approx(points, abs=within)


def test_fifteen_pairs_find_only_over_thirty_points():
    assert smallest_findable_points(15) > 30


def test_power_of_the_e_value_is_the_sum_over_all_outcomes():
    n, points, discordance, threshold = 40, 22.0, 0.4, 9.0
    wins = (discordance + points / 100) / 2 / discordance
    by_hand = sum(
        binom.pmf(d, n, discordance) * binom.pmf(k, d, wins)
        for d in range(n + 1)
        for k in range(d + 1)
        if mcnemar_e_value(k, d - k) >= threshold
    )
    assert power_of_pairs(n, points, discordance=discordance, e_threshold=threshold) == pytest.approx(
        by_hand, abs=1e-12
    )


@pytest.mark.parametrize(
    ("passes", "target", "threshold"), [(6, 0.10, 9.0), (16, 0.075, 9.0), (16, 0.075, 4.0)]
)
def test_one_look_comes_within_a_point_of_the_whole_sequential_run(passes, target, threshold):
    """Exact over every path: looks after each pass add power, stopping when hopeless takes some."""
    points = smallest_findable_points(15 * passes, e_threshold=threshold)
    assert 0.72 < sequential_power(passes, points / 100, target, threshold) < 0.90
    assert sequential_power(passes, points / 100 - 0.012, target, threshold) < 0.82


def sequential_power(passes: int, difference: float, target: float, threshold: float) -> float:
    size = 15 * passes + 1
    n10, n01 = np.meshgrid(np.arange(float(size)), np.arange(float(size)), indexing="ij")
    reached = log_e_values(n10, n01) >= math.log(threshold)
    up, down = (0.28 + difference) / 2, (0.28 - difference) / 2
    alive, found = np.zeros((size, size)), 0.0
    alive[0, 0] = 1.0
    for number in range(1, passes + 1):
        for _ in range(15):
            later = alive * 0.72
            later[1:] += up * alive[:-1]
            later[:, 1:] += down * alive[:, :-1]
            alive = later
        found += alive[reached].sum()
        n, s = 15 * number, n10 - n01
        variance = np.maximum((n10 + n01 + 1) / (n + 3) - (s / n) ** 2, 0.02)
        futile = (number >= 2) & (-(target * s - n * target**2 / 2) / variance > math.log(10))
        alive = np.where(reached | futile, 0.0, alive)
    return found


@pytest.mark.parametrize("threshold", [None, 4.0, 19.0])
@pytest.mark.parametrize("points", [5.0, 12.0, 30.0])
def test_pairs_needed_is_the_first_number_that_suffices(points, threshold):
    n = pairs_needed(points, e_threshold=threshold)
    assert power_of_pairs(n, points, e_threshold=threshold) >= 0.80
    assert power_of_pairs(n - 1, points, e_threshold=threshold) < 0.80
    assert smallest_findable_points(n, e_threshold=threshold) == pytest.approx(points, rel=0.05)


def test_more_pairs_find_less_and_a_higher_threshold_finds_more_only():
    found = [smallest_findable_points(n, e_threshold=9.0) for n in (30, 90, 240, 1000)]
    assert found == sorted(found, reverse=True)
    by_threshold = [smallest_findable_points(240, e_threshold=e) for e in (4.0, 9.0, 19.0)]
    assert by_threshold == sorted(by_threshold)
    assert smallest_findable_points(240, discordance=0.1) < smallest_findable_points(240, discordance=0.5)


def test_what_cannot_be_found_is_unknown():
    assert smallest_findable_points(0) is None
    assert smallest_findable_points(3, e_threshold=9.0) is None
    assert pairs_needed(0.0) is None
    assert pairs_needed(-4.0) is None
    assert pairs_needed(0.1, e_threshold=9.0) is None


@pytest.mark.parametrize("bad", [{"points": 101}, {"points": 5, "discordance": 1.2}, {"points": -1}])
def test_impossible_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="must"):
        power_of_pairs(10, **bad)
