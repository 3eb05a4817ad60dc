"""A prompt beside its line: quiet at the line, found below it, and taken back after it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from promptlift.stats.watch import watch
from support.live import alarm_night, nights


@pytest.mark.slow
def test_prompts_at_their_line_stay_quiet_for_90_nights():
    rng = np.random.default_rng(1)
    alarms = sum(alarm_night(nights(rng, [0.8] * 90), 0.8) is not None for _ in range(100))
    assert alarms <= 9


@pytest.mark.parametrize(
    ("line", "drop", "before", "within"), [(0.9, 0.1, 0, 11), (0.9, 0.1, 30, 17), (0.8, 0.2, 30, 8)]
)
def test_drops_are_found_in_a_few_nights_whenever_they_begin(line, drop, before, within):
    rng = np.random.default_rng(2)
    found = [
        alarm_night(nights(rng, [line] * before + [line - drop] * within), line, start=before)
        for _ in range(60)
    ]
    assert sum(night is not None for night in found) >= 51


def test_the_first_night_is_the_likelihood_ratio_of_the_drops():
    ratios = [binom.pmf(10, 20, 0.8 - drop) / binom.pmf(10, 20, 0.8) for drop in (0.10, 0.04)]
    assert watch([(20, 10)], 0.8).e_value == pytest.approx(0.8 * (0.8 * ratios[0] + 0.2 * ratios[1]))
    assert watch([], 0.8).e_value == 0.0
    assert not watch([(0, 0)], 0.8).is_below


def test_an_alarm_lasts_while_the_prompt_is_below_and_ends_after_it():
    bad, good = [(20, 10)] * 40, [(20, 18)] * 6
    below = watch(bad, 0.8)
    assert (below.is_below, below.since, below.n, below.completed) == (True, 0, 800, 400)
    assert watch([*bad, good[0]], 0.8).is_below
    recovered = watch([*bad, *good], 0.8)
    assert not recovered.is_below
    again = watch([*bad, *([(20, 18)] * 40), *bad[:5]], 0.8)
    assert (again.is_below, again.since, again.n, again.completed) == (True, 80, 100, 50)


def test_many_prompts_of_an_account_need_more_evidence_each():
    assert watch([], 0.8, prompts=12).threshold == 20.0
    assert watch([], 0.8, prompts=120).threshold == pytest.approx(200.0)


def test_extreme_counts_stay_finite_and_impossible_ones_are_refused():
    found = watch([(1_000_000, 0), (1_000_000, 1_000_000), (5, 5)], 0.999)
    assert np.isfinite(found.e_value)
    assert not found.is_below
    for line in (0.0, 1.0, 80, float("nan")):
        with pytest.raises(ValueError, match=r"0\.8"):
            watch([], line)
    with pytest.raises(ValueError, match="completed"):
        watch([(5, 6)], 0.8)
