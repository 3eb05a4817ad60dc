"""The bounds of the design, on fewer experiments than the full table, with exact binomial tolerance.

Run `experiment_truth.py` beside this file for the full table.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from benchmarks.truth import experiment_truth as truth
from benchmarks.truth.experiment_truth import FALSE_WINNERS, SURE, at_least, at_most


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


def test_the_world_has_the_rates_it_says():
    rng = np.random.default_rng(5)
    world = truth.draw_world(rng, 2, 0.10, passes=4000)
    assert world.rates[1:].max() - world.rates[0] == pytest.approx(0.10)
    assert world.completed.mean(axis=(0, 1)) == pytest.approx(world.rates, abs=0.01)
