"""An experiment that is written down and read back goes on as if nothing had happened."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift.stats import Experiment
from promptlift.stats.passes import Outcome


def outcomes_of(step, seed):
    """Outcomes that depend on the pass alone, as recorded model answers do."""
    rng = np.random.default_rng((seed, step.number))
    table = []
    for cell in step.cells:
        for arm in step.arms:
            draw = rng.random()
            completed = None if draw < 0.05 else bool(draw < 0.6 + 0.05 * arm)
            table.append(
                Outcome(
                    cell.number,
                    arm,
                    completed,
                    sentiment=float(rng.normal()) if rng.random() < 0.9 else None,
                    quality=float(rng.uniform(0, 100)),
                    persona=f"persona-{cell.persona % 7}" if rng.random() < 0.5 else cell.persona,
                )
            )
    return table


def through_json(run):
    return Experiment.from_state(json.loads(json.dumps(run.to_state(), allow_nan=False)))


@given(
    variants=st.integers(1, 5),
    mode=st.sampled_from(["exploratory", "validation"]),
    confidence_mode=st.sampled_from(["low", "moderate", "high"]),
    seed=st.integers(0, 10**6),
    estimand=st.sampled_from(["population", "panel"]),
)
@pytest.mark.slow
def test_a_run_that_is_restored_before_every_pass_is_the_uninterrupted_run(
    variants, mode, confidence_mode, seed, estimand
):
    def begin():
        return Experiment(variants, mode, confidence_mode, 3, 2, 6, seed, estimand=estimand)

    whole, broken = begin(), begin()
    while (step := whole.next_pass()) is not None:
        broken = through_json(broken)
        assert broken.next_pass() == step
        # A pass that was asked for but not recorded leaves no trace.
        broken = through_json(broken)
        whole.record(outcomes_of(step, seed))
        broken.record(outcomes_of(step, seed))
        assert broken.to_state() == whole.to_state()
        assert broken.verdict() == whole.verdict()
    broken = through_json(broken)
    assert broken.next_pass() is None
    assert broken.verdict() == whole.verdict()
    assert broken.verdict().status in {"winner", "no_winner"}


def test_the_state_is_plain_json_with_a_version():
    run = Experiment(3, "validation", seed=11)
    state = json.loads(json.dumps(run.to_state()))
    assert state == run.to_state()
    assert state["version"] == 1
    assert state["settings"]["variant_count"] == 3


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({}, "version None"),
        ({"version": 2}, "version 2"),
        ({"version": 1}, "not complete"),
        ({"version": 1, "settings": {"variants": 3}}, "not complete"),
        ({"version": 1, "settings": {"variant_count": 9}}, "variant_count"),
    ],
)
def test_a_state_that_cannot_be_read_says_why(state, message):
    with pytest.raises(ValueError, match=message):
        Experiment.from_state(state)
