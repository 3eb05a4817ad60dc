"""Experiments that are played to the end with made-up answers."""

from __future__ import annotations

import numpy as np

from promptlift.stats.passes import Outcome


def play(run, answer, *, most=10_000):
    """Run to the end: ``answer(cell, arm)`` says who completes."""
    while most and (step := run.next_pass()) is not None:
        run.record(Outcome(cell.number, arm, answer(cell, arm)) for cell in step.cells for arm in step.arms)
        most -= 1
    return run.verdict()


def record_table(run, completed):
    """Record a pass: who completes, one row a cell and one column an arm."""
    step = run.next_pass()
    run.record(
        Outcome(cell.number, arm, done)
        for cell, row in zip(step.cells, completed, strict=True)
        for arm, done in zip(step.arms, row, strict=True)
    )


def chance(rates, seed):
    """Answers with a completion rate for each arm."""
    rng = np.random.default_rng(seed)
    return lambda _cell, arm: bool(rng.random() < rates[arm])


def same(_cell, _arm):
    return True


def only_variants(_cell, arm):
    return arm > 0


def outcomes(step, **changes):
    return [Outcome(c.number, a, True)._replace(**changes) for c in step.cells for a in step.arms]
