"""Simulated worlds of users who come back, of ramps, and of watched prompts."""

from __future__ import annotations

import numpy as np

from promptlift.stats.live import Units, difference, ramp_verdict
from promptlift.stats.watch import watch

HOURS = 21 * 24


def looks(rng, units, rate, *, hours=HOURS):
    """The units of one arm at every hour: each comes 1 to 20 times, and differs from the others in its own rate."""
    visits = rng.integers(1, 21, units)
    own = rng.beta(4.0 * rate, 4.0 * (1.0 - rate), units)
    unit = np.repeat(np.arange(units), visits)
    gaps = rng.exponential(24.0, len(unit))
    first = np.r_[0, np.cumsum(visits)[:-1]]
    gaps[first] = rng.uniform(0.0, hours, units)
    at = np.cumsum(gaps)
    at -= np.repeat(at[first] - gaps[first], visits)
    completed = rng.random(len(unit)) < own[unit]
    number = np.arange(len(unit)) - np.repeat(first, visits) + 1
    before = np.cumsum(completed) - completed
    before = before - np.repeat(before[first], visits)
    now = (before + completed) / number
    was = np.where(number > 1, before / np.maximum(number - 1, 1), 0.0)
    order = np.argsort(at)
    ends = np.searchsorted(at[order], np.arange(1, hours + 1), side="right")
    steps = (number == 1, now - was, now**2 - was**2)
    totals = [np.r_[0.0, np.cumsum(step[order])][ends] for step in steps]
    return [Units(int(n), total, squares) for n, total, squares in zip(*totals, strict=True)]


def side_by_side(rng, *, base, effect, units=1_500):
    """Return whether the arms were ever called different, whether an interval missed, and the units an arm by then."""
    named, missed, by = False, False, units
    for pair in zip(looks(rng, units, base + effect), looks(rng, units, base), strict=True):
        found = difference(*pair)
        if found.low is None:
            continue
        missed |= not found.low <= effect <= found.high
        if found.direction != "unclear" and not named:
            named, by = True, min(found.new.n, found.original.n)
    return named, missed, by


def single_visits(rng, *, base, effect, most=4_000, every=5):
    """Return the units an arm, of one conversation each, after which a difference was named."""
    ends = np.arange(every, most + 1, every)
    new, old = (np.cumsum(rng.random(most) < rate)[ends - 1].tolist() for rate in (base + effect, base))
    for n, x1, x0 in zip(ends.tolist(), new, old, strict=True):
        if difference(Units(n, x1, x1), Units(n, x0, x0)).direction != "unclear":
            return n
    return most


def ramp(rng, *, base, harm, share=0.05, most=2_000):
    """Ramp a text, looked at after every unit of its; return ``back`` or ``on``, and the units of the new text by then."""
    sizes = most, round(most * (1 - share) / share)
    rates = base - harm, base
    drawn = {
        "task_completion": [rng.random(n) < rate for n, rate in zip(sizes, rates, strict=True)],
        "sentiment": [rng.normal(0.2, 0.4, n) for n in sizes],
    }
    sums = {
        name: [(np.cumsum(arm, dtype=float), np.cumsum(np.square(arm, dtype=float))) for arm in arms]
        for name, arms in drawn.items()
    }
    for n in range(5, most):
        by = n, round(n * (1 - share) / share)
        metrics = {
            name: tuple(
                Units(k, total[k - 1], squares[k - 1]) for k, (total, squares) in zip(by, arms, strict=True)
            )
            for name, arms in sums.items()
        }
        found = ramp_verdict(metrics, share=share)
        if found.action != "wait":
            return found.action, n
    return "wait", most


def nights(rng, rates, *, a_night=20):
    return [(a_night, int(rng.binomial(a_night, rate))) for rate in rates]


def alarm_night(seen, line, *, prompts=1, start=0):
    """Return the number of nights from ``start`` on after which an alarm was raised; ``None`` if there was none."""
    for night in range(start + 1, len(seen) + 1):
        if watch(seen[:night], line, prompts=prompts).is_below:
            return night - start
    return None
