"""Experiments as the service answers them, with the conversations that a test wants."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from promptlift.schema.experiments import LiveArm, LiveExperiment, OfferedArm
from promptlift.service import clock
from promptlift.service.deployments.experiment_results import AssignedConversations

if TYPE_CHECKING:
    from collections.abc import Sequence

START = datetime(2026, 11, 1, 9, tzinfo=UTC)
HOURS = 240


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
    rng, arms = np.random.default_rng(7), len(names)
    rest = (0.05 if is_off else 1.0) / arms
    weights = [1.0 - rest * (arms - 1), *[rest] * (arms - 1)]
    offered = [
        OfferedArm(number=place, name=name, weight=weight, content=name)
        for place, (name, weight) in enumerate(zip(names, weights, strict=True))
    ]
    arm = np.tile(np.arange(arms), n)
    unknown = [None] * len(arm)
    known = dict(
        arm=arm,
        unit=[f"{place:016x}" for place in range(len(arm))],
        started_at=clock.from_datetime(START) + np.linspace(0, HOURS, len(arm)) * 3600 * clock.SECOND,
        basis=[basis] * len(arm),
        task_completed=rng.random(len(arm)) < 0.5 + effect * (arm > 0),
        **dict.fromkeys(("sentiment", "quality", "abandonment", "response_time", "label", "chance"), unknown),
        length=rng.integers(2, 9, len(arm)),
    )
    made = LiveExperiment(
        id=f"exp_{number:024x}",
        status="running",
        created_at=START,
        arms=[LiveArm(**one.model_dump(exclude={"content"})) for one in offered],
    )
    return AssignedConversations(offered, known).fill(made)
