"""The bounds of the design, on fewer experiments than the full table, with exact binomial tolerance.

Run `experiment_truth.py` beside this file for the full table.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp

from promptlift.stats.shrinkage import VERIFIED_WEIGHT

# Loaded by its path: the file is also a program, and test folders are not packages.
_SPEC = importlib.util.spec_from_file_location(
    "experiment_truth", Path(__file__).with_name("experiment_truth.py")
)
truth = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = truth
_SPEC.loader.exec_module(truth)

# A bound is broken when the count seen would come up this rarely if it held.
SURE = 1e-3
FALSE_WINNERS = {"low": 0.20, "moderate": 0.10, "high": 0.05}


def at_most(count, n, bound):
    return binomtest(int(count), int(n), bound, alternative="greater").pvalue > SURE


def at_least(count, n, bound):
    return binomtest(int(count), int(n), bound, alternative="less").pvalue > SURE


@pytest.fixture(scope="module")
def identical():
    """Prompts without any difference."""
    return {
        (mode, variants): truth.simulate(0.0, variants, mode, runs=350, seed=1)
        for mode in truth.MODES
        for variants in (2, 5)
    }


@pytest.fixture(scope="module")
def different():
    """One of three variants is better by 5, 10 or 20 points."""
    return {
        (mode, size): truth.simulate(size, 3, mode, runs=250, seed=2)
        for mode in truth.MODES
        for size in (0.05, 0.10, 0.20)
    }


@pytest.fixture(scope="module")
def drawn():
    """Effects of three variants as the prior of the expected lift has them."""
    return {mode: truth.simulate("drawn", 3, mode, runs=400, seed=3) for mode in truth.MODES}


@pytest.mark.slow
def test_identical_prompts_rarely_have_a_winner(identical):
    for rows in identical.values():
        for row in rows:
            assert at_most(row.false_winners, row.runs, FALSE_WINNERS[row.confidence_mode]), row


def test_the_usual_ways_name_one_on_the_same_conversations(identical):
    for rows in identical.values():
        for row in rows:
            assert row.highest_mean_false / row.runs > 0.5
    moderate = [row for rows in identical.values() for row in rows if row.confidence_mode == "moderate"]
    ours, peeking = sum(row.false_winners for row in moderate), sum(row.z_false for row in moderate)
    assert peeking > 2 * ours


@pytest.mark.slow
def test_the_interval_covers_the_truth(identical, different, drawn):
    for rows in (*identical.values(), *different.values(), *drawn.values()):
        for row in rows:
            assert at_least(row.covered, row.runs, 0.86), row
            assert at_least(row.relative_covered, row.runs, 0.86), row


def test_a_real_difference_is_found(different):
    for (mode, size), bound in truth.POWER.items():
        row = next(r for r in different[mode, size] if r.confidence_mode == "moderate")
        assert at_least(row.right_winners, row.runs, bound)


def test_a_difference_of_ten_points_is_found_for_less_than_a_test_of_the_same_maximum(different):
    for mode in truth.MODES:
        for row in different[mode, 0.10]:
            shares = np.array(row.conversations) / row.budget
            assert ttest_1samp(shares, truth.CHEAP, alternative="greater").pvalue > SURE, row


def test_winners_are_truly_better_as_often_as_confidence_says(identical, different):
    for mode in truth.MODES:
        for at, name in enumerate(truth.CONFIDENCE_MODES):
            # Even prior odds: as many runs without a difference as with one.
            nothing = [rows[at] for key, rows in identical.items() if key[0] == mode]
            something = [rows[at] for key, rows in different.items() if key[0] == mode]
            weight = sum(row.runs for row in something) / sum(row.runs for row in nothing)
            false = weight * sum(row.false_winners for row in nothing) + sum(
                row.false_winners for row in something
            )
            won = weight * sum(row.winners for row in nothing) + sum(row.winners for row in something)
            said = np.mean(np.concatenate([row.confidence for row in something]))
            assert at_least(round(won - false), round(won), said - 0.03), (mode, name)


def test_the_expected_lift_of_winners_is_right_at_each_size_and_where_sizes_are_drawn(different, drawn):
    for rows in (*different.values(), *drawn.values()):
        for row in rows:
            errors = np.array(row.expected_error)
            if len(errors) < 8:
                continue
            for side, bound in (("greater", truth.EXPECTED_WITHIN), ("less", -truth.EXPECTED_WITHIN)):
                assert ttest_1samp(errors, bound, alternative=side).pvalue > SURE, row
                systematic = truth.expected_error_without_chance(row)
                assert ttest_1samp(systematic, bound, alternative=side).pvalue > SURE, row
    for rows in drawn.values():
        for row in rows:
            # The measured lift of the same winners is further off.
            assert abs(np.mean(row.expected_error)) < np.mean(row.lift_error)


def test_the_lift_of_fresh_pairs_is_right_at_each_size(different):
    for rows in different.values():
        for row in rows:
            errors = np.array(row.verified_error)
            assert len(errors) < 8 or ttest_1samp(errors, 0.0).pvalue > SURE, row
            assert at_least(row.verified_covered, len(errors), 0.86), row
            assert row.verification == [120 if spent else 0 for spent in row.verification]


def test_what_the_fresh_pairs_err_by_chance_is_no_bias_of_the_expected_lift():
    by_chance = [9.0, -3.0, 6.5, 0.0]
    row = truth.Row(0.05, 3, "exploratory", "high", verified_error=by_chance)
    row.expected_error = [
        VERIFIED_WEIGHT * error + rest for error, rest in zip(by_chance, (1, 2, 3, 2), strict=True)
    ]
    assert truth.bias_of_expected(row).points == pytest.approx(2.0)
    assert truth.bias_of_expected(row).error == pytest.approx(np.std([1, 2, 3, 2], ddof=1) / 2)
    assert np.mean(row.expected_error) > 4
    row.runs, row.conversations, row.budget = 4, [100], 345
    told = next(line for line in truth.operating_characteristics([row]).splitlines() if "at +5" in line)
    assert "+2.00 (standard error 0.41, 4 winners; with the chance of their fresh pairs +4.19)" in told


def test_pairing_pays(identical, different):
    ratios = np.concatenate(
        [row.variance_ratio for rows in (*identical.values(), *different.values()) for row in rows]
    )
    assert ratios.mean() >= 1.16


def test_the_same_seed_gives_the_same_answer():
    first, again = (truth.simulate(0.05, 3, "exploratory", runs=20, seed=9) for _ in range(2))
    assert first == again
    assert first != truth.simulate(0.05, 3, "exploratory", runs=20, seed=10)


def test_a_winner_costs_less_than_testing_everything(different):
    for rows in (different["validation", 0.10], different["validation", 0.20]):
        for row in rows:
            assert np.mean(row.conversations) < row.budget
            assert row.right_winners >= 0.8 * row.fixed_right


def test_the_world_has_the_rates_it_says():
    rng = np.random.default_rng(5)
    world = truth.draw_world(rng, 2, 0.10, passes=4000)
    assert world.rates[1:].max() - world.rates[0] == pytest.approx(0.10)
    assert world.completed.mean(axis=(0, 1)) == pytest.approx(world.rates, abs=0.01)


def test_what_a_test_of_fixed_size_needs_is_read_off_its_own_power():
    curve = truth.found_by_fixed_size(2, 0.20, runs=60, seed=4)
    assert curve[0] == 0.0
    assert curve[-1] > 0.95
    assert (np.diff(curve) >= 0).all()
    row = truth.Row(0.20, 2, "validation", "low", runs=100, right_winners=50, conversations=[450])
    told = truth.cost_of_finding_as_often([row], 0.20, runs=60, seed=4).splitlines()[-1]
    needed, share = (float(cell) for cell in told.strip("|").split("|")[-2:])
    assert 45 < needed < 30 * 45
    assert share == pytest.approx(450 / needed, abs=0.01)
    assert np.interp(needed / 45, np.arange(31), curve) == pytest.approx(0.5, abs=0.01)
