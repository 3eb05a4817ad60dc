"""How often intervals hold the truth and tests raise an alarm: simulations and sums over all tables, with fixed seeds."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from promptlift.stats import change_point, lift_interval, trend_test
from promptlift.stats.arms import compare_arms
from promptlift.stats.differences import score_interval, stratified_difference
from promptlift.stats.experiment import Experiment
from promptlift.stats.multiplicity import rank_interval, ranks
from promptlift.stats.passes import Outcome
from promptlift.stats.regression import ScenarioPairs, regression_test
from promptlift.stats.reweighted import DrawnPair, reweighted_lift
from stats.test_arms import outcomes
from stats.test_trend import days

pytestmark = pytest.mark.benchmark


def test_the_score_interval_covers_what_it_says():
    """Exact, over all tables, also where rates are near 0 and 1: 92.6% at worst (10 and 10 to 15 and 15), 96% and more on average."""
    rates = np.array([0.001, 0.01, 0.02, *np.arange(0.05, 0.951, 0.05), 0.98, 0.99, 0.999])
    for n1, n0 in ((10, 10), (10, 15), (15, 15), (10, 100), (30, 30)):
        x1, x0 = np.mgrid[: n1 + 1, : n0 + 1]
        low, high = score_interval(x1, n1, x0, n0)
        covered = np.empty((len(rates), len(rates)))
        for (i, p1), (j, p0) in product(enumerate(rates), repeat=2):
            inside = (low <= p1 - p0 + 1e-9) & (p1 - p0 - 1e-9 <= high)
            covered[i, j] = (binom.pmf(x1, n1, p1) * binom.pmf(x0, n0, p0))[inside].sum()
        assert covered.min() > 0.92
        assert 0.95 < covered.mean() < 0.98


def test_the_interval_covers_the_truth_at_all_looks_together():
    """Six looks at pairs with a true difference of 8 points: about nine in ten whole histories are covered."""
    rng = np.random.default_rng(4)
    shares = [0.60, 0.18, 0.10, 0.12]
    inside = 0
    for _ in range(1500):
        tables = rng.multinomial(15, shares, size=6).cumsum(axis=0)
        looks = [lift_interval(*table, look=at + 1, max_looks=6) for at, table in enumerate(tables)]
        inside += all(look.points_low <= 8 <= look.points_high for look in looks)
    assert 0.87 < inside / 1500 < 0.94


@pytest.mark.parametrize("sizes", [(300, 300), (6,) * 60])
def test_the_stratified_interval_holds_the_truth_in_few_large_and_in_many_small_strata(sizes):
    """Of 2,000 draws, 95% hold it; of rates from 0.1 to 0.9, and groups of unequal size in each stratum."""
    rng, draws, held = np.random.default_rng(3), 2_000, 0
    size = np.array(sizes)
    base, share = np.linspace(0.2, 0.9, len(size)), np.linspace(0.2, 0.8, len(size))
    for _ in range(draws):
        n1 = rng.binomial(size, share)
        x1, x0 = rng.binomial(n1, base - 0.1), rng.binomial(size - n1, base)
        found = stratified_difference(x1, n1, x0, size - n1)
        held += found.low <= -0.1 <= found.high
    assert 0.935 < held / draws < 0.965


@pytest.mark.parametrize("rates", [(0.5, 0.5, 0.5, 0.5, 0.5), (0.8, 0.75, 0.7, 0.5, 0.45), (0.95, 0.9, 0.9)])
def test_the_true_rank_is_within_in_95_of_100(rates):
    """With equal rates every place from the best to the worst of the equals is true."""
    chance = np.random.default_rng(7)
    rates = np.array(rates)
    best = [1 + int(np.sum(rates > one)) for one in rates]
    worst = [int(np.sum(rates >= one)) for one in rates]
    missed = np.zeros(len(rates))
    worlds = 400
    n = np.array([60, 40, 80, 100, 30][: len(rates)])
    for _ in range(worlds):
        done = chance.binomial(n, rates)
        for place in range(len(rates)):
            low, high = rank_interval(place, done, n)
            assert low <= ranks(done, n)[place] <= high
            missed[place] += low > best[place] or high < worst[place]
    # Five of a hundred, and what four hundred worlds may be off.
    assert np.all(missed / worlds <= 0.085)


@pytest.mark.parametrize(("scenarios", "pairs"), [(3, 5), (15, 20)])
def test_false_alarms_are_rare_when_nothing_changed(scenarios, pairs):
    rng = np.random.default_rng(7)
    runs, failed, negative = 600, 0, 0
    for _ in range(runs):
        tables = rng.multinomial(pairs, [0.56, 0.14, 0.14, 0.16], size=scenarios)
        result = regression_test([ScenarioPairs(str(i), *table) for i, table in enumerate(tables)])
        failed += result.verdict == "regressed"
        negative += any(scenario.delta < 0 for scenario in result.scenarios)
    assert failed / runs < 0.05
    assert negative / runs > 0.6


def test_false_trends_are_five_in_a_hundred():
    found = [trend_test(*days(seed)).p < 0.05 for seed in range(3000)]
    assert 0.03 < np.mean(found) < 0.06


def test_false_jumps_are_five_in_a_hundred():
    found = [change_point(*days(seed)).p <= 0.05 for seed in range(600)]
    assert 0.025 < np.mean(found) < 0.08


def test_a_claim_that_any_arm_is_not_worse_is_wrong_in_at_most_five_percent():
    """Four arms that all lose exactly the margin: how often any of them passes."""
    rng = np.random.default_rng(20261122)
    wrong = 0
    runs = 200
    for _ in range(runs):
        ease = rng.random(150)
        base = ease < 0.75
        arms = [np.where(rng.random(150) < 0.8, ease < 0.70, rng.random(150) < 0.70) for _ in range(4)]
        found = compare_arms(outcomes(base, *arms), range(5), margin_points=5.0)
        wrong += found.acceptable != (0,)
    # Three standard errors of 200 runs above 5%.
    assert wrong / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


FAILURE_WEIGHT = 3.0


def drawn_order(rng, failed, others):
    """Logged conversations in an order in which failed ones come three times as readily; True is a failed one."""
    keys = np.concatenate([rng.exponential(size=failed) / FAILURE_WEIGHT, rng.exponential(size=others)])
    return keys.argsort() < failed


# Completion of original and variant on scenarios of failed conversations, and of the others.
WORLDS = {
    "a lift that only failed conversations have": ((0.35, 0.75), (0.85, 0.85)),
    "a lift on failed ones and a loss on the others": ((0.30, 0.80), (0.90, 0.84)),
    "more lift on the others": ((0.50, 0.52), (0.60, 0.80)),
    "no lift": ((0.40, 0.40), (0.80, 0.80)),
}


@pytest.mark.parametrize(("failed", "others"), [(250, 1_000), (40, 160)])
@pytest.mark.parametrize("world", WORLDS)
def test_the_interval_covers_the_lift_on_the_mix_of_the_logs(world, failed, others):
    """In whole experiments that stop by their own rules; the smaller log is almost used up, the larger one is not."""
    runs, covered, said, tested = 250, 0, [], []
    shares = {FAILURE_WEIGHT: failed, 1.0: others}
    (bad0, bad1), (good0, good1) = WORLDS[world]
    truth = 100 * ((bad1 - bad0) * failed + (good1 - good0) * others) / (failed + others)
    for seed in range(runs):
        rng = np.random.default_rng((3, seed))
        order = drawn_order(rng, failed, others)
        run = Experiment(1, "exploratory", "moderate", seed=seed, verification_passes=0)
        held = []
        while (step := run.next_pass()) is not None:
            outcomes = []
            for cell in step.cells:
                is_failed = bool(order[cell.number])
                rates = (bad0, bad1) if is_failed else (good0, good1)
                original, variant = (bool(rng.random() < rate) for rate in rates)
                held.append(DrawnPair(FAILURE_WEIGHT if is_failed else 1.0, variant, original, cell.persona))
                outcomes += [Outcome(cell.number, 0, original), Outcome(cell.number, 1, variant)]
            run.record(outcomes)
        analysis = run.verdict().analysis
        found = reweighted_lift(held, shares, look=analysis.look, max_looks=analysis.max_looks)
        covered += found.lift_points_low <= truth <= found.lift_points_high
        said.append(found.lift_points)
        tested.append(analysis.lift_points)
    # Three standard errors of a share of 250 below the promised 86%.
    assert covered / runs >= 0.86 - 3 * math.sqrt(0.86 * 0.14 / runs), covered / runs
    if world == "a lift that only failed conversations have" and failed == 250:
        # What this is for: on the tested mix, in which failed ones are 40%, the lift is about twice that of the logs.
        assert truth == pytest.approx(8.0)
        assert np.mean(tested) > truth + 6
        assert abs(np.mean(said) - truth) < 3
