"""What follows a win: pairs that decide nothing, and the expected lift that they make right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from promptlift.stats import Experiment, expected_lift
from promptlift.stats.shrinkage import kept_share
from support.experiments import chance, play


def test_the_fresh_pairs_enter_the_expected_lift_and_nothing_else():
    run = Experiment(1, "validation", "low", seed=1)
    answer = chance([0.55, 0.85], 11)
    while (step := run.next_pass()).stage == "confirm":
        play(run, answer, most=1)
    decided = run.verdict()
    assert (decided.status, decided.verification) == ("winner", None)
    table = (decided.analysis.n11, decided.analysis.n10, decided.analysis.n01, decided.analysis.n00)
    assert decided.analysis.lift_points_expected == pytest.approx(
        expected_lift(*table, standard_error_points=decided.analysis.standard_error_points).points
    )
    numbers = {cell.number for cell in step.cells}
    assert not numbers & set(range(15 * decided.progress.passes_done))
    verdict = play(run, answer)
    fresh = verdict.verification
    assert (fresh.n, fresh.look, fresh.max_looks) == (60, 1, 1)
    spread = fresh.lift_points - fresh.standard_error_points
    assert spread > 10.0
    shrunk = expected_lift(
        *table, prior_sd_points=spread, standard_error_points=decided.analysis.standard_error_points
    )
    assert verdict.analysis.lift_points_expected == pytest.approx(
        0.7 * fresh.lift_points + 0.3 * shrunk.points
    )
    same_but = ("lift_expected", "lift_expected_low", "lift_expected_high", "lift_points_expected")
    for name in decided.analysis.__dataclass_fields__:
        if name not in same_but:
            assert getattr(verdict.analysis, name) == getattr(decided.analysis, name)
    assert verdict.variants[0].analysis == verdict.analysis
    assert verdict.variants[0].n_pairs == decided.analysis.n


def test_pairs_lost_in_the_verification_are_a_warning_of_their_own():
    run = Experiment(1)
    answer = chance([0.2, 0.95], 5)
    while run.next_pass().stage != "verify":
        play(run, answer, most=1)
    play(run, lambda cell, arm: None if cell.number % 3 == 0 else arm == 1)
    assert any(said.startswith("Verification: 20 of 60 pairs") for said in run.verdict().warnings)
    assert run.verdict().n_dropped == 0


def test_what_expectations_were_worth_is_the_slope_through_0():
    rng = np.random.default_rng(7)
    inside, worlds = 0, 300
    for _ in range(worlds):
        expected = rng.uniform(3, 15, 8)
        found = expected * 0.6 + rng.normal(0, 2, 8) + rng.normal(0, 3, 8)
        kept = kept_share(list(zip(expected, found, [3.0] * 8, strict=True)))
        inside += kept.low <= 0.6 <= kept.high
    assert 0.92 < inside / worlds <= 1.0
    same = kept_share([(10.0, 5.0, 1.0)] * 5)
    assert (same.share, same.n) == (pytest.approx(0.5), 5)
    # Never narrower than by the errors alone, however well the pairs agree.
    assert same.high - same.share == pytest.approx(student.ppf(0.975, 4) * 1.0 / math.sqrt(5 * 10.0**2))
    assert kept_share([(10.0, 5.0, 1.0)] * 4) is None
    assert kept_share([(0.0, 5.0, 1.0)] * 6) is None
    with pytest.raises(ValueError, match="error"):
        kept_share([(1.0, 1.0, 0.0)] * 5)
