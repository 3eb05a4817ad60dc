"""Experiments as the service answers them, with results that a test wants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from promptlift.schema.basis import may_tell
from promptlift.schema.experiments import (
    LiveArm,
    LiveDifference,
    LiveDifferenceUntil,
    LiveExperiment,
    LiveGuardrail,
    LiveRate,
    UnitShares,
)
from promptlift.stats.live import Units, difference
from promptlift.words.sentences import side_by_side

if TYPE_CHECKING:
    from collections.abc import Sequence

START = datetime(2026, 11, 1, 9, tzinfo=UTC)


def experiment(
    names: Sequence[str] = ("v2", "v3"),
    n: int = 600,
    *,
    effect: float = 0.2,
    basis: str = "outcome",
    is_off: bool = False,
    number: int = 0,
) -> LiveExperiment:
    """Make an experiment with ``n`` units of each version, those after the first better by ``effect``."""
    rng, others = np.random.default_rng(7), len(names) - 1
    completed = [rng.random(n) < 0.5 + effect * bool(place) for place in range(len(names))]
    made = LiveExperiment(
        id=f"exp_{number:024x}", status="running", created_at=START, arms=[], basis=basis if n else None,
        sample_ratio=UnitShares(expected=[n] * len(names), observed=[n] * len(names), e_value=1.0, is_off=is_off),
    )  # fmt: skip
    for place, name in enumerate(names):
        arm = LiveArm(number=place, name=name, weight=1 / len(names), units=n, conversations=2 * n, labels=0)
        made.arms.append(arm)
        if not n:
            continue
        rate = 100.0 * float(completed[place].mean())
        arm.rate = LiveRate(basis=basis, conversations=2 * n, units=n, rate=rate, low=rate - 4, high=rate + 4)
        arm.rates = [arm.rate]
        if not place:
            continue
        arm.guardrails = [LiveGuardrail(metric="length", units=2 * n, harmed=False)]
        if not may_tell(basis):
            continue
        found = [
            (
                end,
                difference(
                    tuple(Units.of(completed[one][:end].astype(float)) for one in (place, 0)),
                    level=1 - 0.05 / others,
                ),
            )
            for end in np.unique(np.linspace(0, n, 41).astype(int)).tolist()[1:]
        ]
        values = [
            {
                "units": 2 * end,
                **{
                    key: None if (value := getattr(one, key)) is None else 100.0 * value
                    for key in ("estimate", "low", "high")
                },
            }
            for end, one in found
        ]
        arm.over_time = [
            LiveDifferenceUntil(until=START + timedelta(hours=240 * one["units"] / (2 * n)), **one)
            for one in values
        ]
        arm.difference = LiveDifference(**values[-1])
        arm.verdict = None if is_off else found[-1][1].direction
    compared = {
        arm.name: (arm.difference.estimate, arm.difference.low, arm.difference.high)
        for arm in made.arms
        if arm.difference is not None
    }
    made.sentence = side_by_side(names[0], compared, n * len(names), basis=made.basis, is_off=is_off)
    return made
