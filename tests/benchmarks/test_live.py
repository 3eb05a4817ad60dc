"""Versions side by side and the watch, in whole simulated worlds with fixed seeds; ``-s`` prints the figures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from promptlift.stats.live import sample_ratio
from support.live import alarm_night, nights, ramp, side_by_side, single_visits

pytestmark = pytest.mark.benchmark


def test_equal_texts_are_seldom_called_different_and_the_intervals_hold_the_truth():
    """1,000 worlds of 1,500 users an arm who come 1 to 20 times, looked at every hour for three weeks."""
    rng = np.random.default_rng(29)
    equal = [side_by_side(rng, base=0.7, effect=0.0) for _ in range(1_000)]
    named, missed = np.mean([one[0] for one in equal]), np.mean([one[1] for one in equal])
    other = [side_by_side(rng, base=0.7, effect=0.1) for _ in range(300)]
    missed_other = np.mean([one[1] for one in other])
    print(f"equal: named {named:.1%}, missed {missed:.1%}; +10 points: missed {missed_other:.1%}")
    assert named <= 0.05
    assert missed <= 0.05
    assert missed_other <= 0.05


@pytest.mark.parametrize(("effect", "most"), [(0.1, 500), (0.2, 170)])
@pytest.mark.parametrize("base", [0.45, 0.6, 0.7])
def test_differences_are_found_by_so_many_units_an_arm(base, effect, most):
    rng = np.random.default_rng(30)
    mean = np.mean([single_visits(rng, base=base, effect=effect) for _ in range(500)])
    print(f"{base:.0%} + {100 * effect:.0f}: {mean:.0f} units an arm")
    assert mean <= most


def test_the_shares_of_the_arms():
    """With 1% of false alarms, the most powerful test, which knows which arm is short, finds 52:48 at 5,000 units in 69%."""
    rng, ends, worlds = np.random.default_rng(31), np.arange(100, 20_001, 100), 600
    by = {}
    for share in (0.5, 0.52, 0.53, 0.54):
        counts = np.cumsum(rng.binomial(100, share, (worlds, len(ends))), axis=1)
        first = [
            next(
                (n for n, x in zip(ends, row, strict=True) if sample_ratio([x, n - x], [1, 1]).is_off), 10**9
            )
            for row in counts
        ]
        by[share] = np.array(first)
    bound = binom.sf(binom.isf(0.01, 5_000, 0.5), 5_000, 0.52)
    for share, first in by.items():
        print(
            f"{share:.0%}: at 5,000 units {np.mean(first <= 5_000):.1%}, ever {np.mean(first < 10**9):.1%}, "
            f"95% by {np.quantile(first, 0.95, method='higher'):,}"
        )
    print(f"one look at 5,000 units from one side, 1% of false alarms: 52:48 in {bound:.1%}")
    assert np.mean(by[0.5] < 10**9) <= 0.01
    assert np.mean(by[0.54] <= 5_000) >= 0.95
    assert np.mean(by[0.52] <= 17_000) >= 0.95


def test_ramps():
    """A look after every unit of the new text, at 5% and then, with other units, at 50%."""
    rng = np.random.default_rng(32)
    for base in (0.6, 0.7, 0.9):
        harmed = [ramp(rng, base=base, harm=0.2) for _ in range(400)]
        unharmed, all_on = (
            [ramp(rng, base=base, harm=0.0, share=share) for _ in range(400)] for share in (0.05, 0.5)
        )
        back = np.mean([action == "back" for action, _ in harmed])
        wrong = np.mean([action == "back" for action, _ in unharmed]) + np.mean(
            [action == "back" for action, _ in all_on]
        )
        print(
            f"{base:.0%}: harm of 20 points rolled back {back:.1%} after {np.mean([n for _, n in harmed]):.0f} units of "
            f"the new text; no harm rolled back {wrong:.1%}, on after {np.mean([n for _, n in unharmed]):.0f} and "
            f"{np.mean([n for _, n in all_on]):.0f}"
        )
        assert back >= 0.95
        assert wrong <= 0.05


@pytest.mark.parametrize("line", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("a_night", [5, 20, 100])
def test_the_watch_is_quiet_at_the_line(line, a_night):
    rng = np.random.default_rng(33)
    alarms = [alarm_night(nights(rng, [line] * 90, a_night=a_night), line) is not None for _ in range(600)]
    print(f"at {line:.0%}, {a_night} a night: {np.mean(alarms):.1%} of 90 nights with an alarm")
    assert np.mean(alarms) <= 0.05


@pytest.mark.parametrize(("line", "least"), [(0.8, 0.65), (0.9, 0.82), (0.95, 0.93)])
def test_the_watch_finds_drops(line, least):
    """10 points, 20 a night. One look at 150 conversations with 5% of false alarms, the bound, finds few more."""
    rng = np.random.default_rng(34)
    at_first = [alarm_night(nights(rng, [line - 0.1] * 60), line) or 10**6 for _ in range(1_000)]
    later = [
        alarm_night(nights(rng, [line] * 30 + [line - 0.1] * 60), line, start=30) or 10**6 for _ in range(300)
    ]
    most = binom.ppf(0.05, 150, line) - 1
    within = (np.mean(np.array(at_first) <= 7) + np.mean(np.array(at_first) <= 8)) / 2
    print(
        f"line {line:.0%}: within 150 conversations {within:.1%} (bound {binom.cdf(most, 150, line - 0.1):.1%}), 90% "
        f"within {20 * np.quantile(at_first, 0.9):.0f}; after 30 good nights half within {20 * np.median(later):.0f}, "
        f"90% within {20 * np.quantile(later, 0.9):.0f}"
    )
    assert within >= least


def test_an_account_of_100_prompts_has_quiet_weeks():
    """All exactly at their lines, for 13 weeks."""
    rng = np.random.default_rng(35)
    alarms, accounts = 0, 8
    for _ in range(accounts):
        weeks = set()
        for _ in range(100):
            night = alarm_night(nights(rng, [0.8] * 91), 0.8, prompts=100)
            weeks |= {night // 7} if night else set()
        alarms += len(weeks)
    print(f"100 prompts: {alarms / accounts / 13:.1%} of weeks with an alarm")
    assert alarms / accounts / 13 <= 0.05
