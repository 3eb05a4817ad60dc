"""Simulated production: conversations with six metrics, before and after a deployment, day after day."""

from __future__ import annotations

import numpy as np

from promptlift.service.store.production import NEAREST
from promptlift.stats.production import look_number, metric_changes

STEP = 30


def draw(
    random: np.random.Generator,
    count: int,
    *,
    completion: float = 0.6,
    slower: float = 1.0,
    longer: float = 1.0,
) -> dict[str, np.ndarray]:
    """Draw conversations. Who does not reach the goal is less content, more often gone, and talks longer."""
    done = (random.random(count) < completion).astype(float)
    return {
        "task_completion": done,
        "sentiment": np.clip(random.normal(-0.1 + 0.4 * done, 0.4), -1.0, 1.0),
        "quality": np.clip(random.normal(50.0 + 20.0 * done, 18.0), 0.0, 100.0),
        "abandonment": (random.random(count) < 0.05 + 0.2 * (1.0 - done)).astype(float),
        "response_time": slower * random.lognormal(0.7, 0.6, count),
        "length": 2.0 * (1 + random.poisson(longer * (2.0 + 1.0 - done), count)),
    }


def first_harm(
    random: np.random.Generator,
    *,
    conversations: int,
    harm: float,
    begins: int,
    before: int,
    completion: float = 0.6,
) -> int | None:
    """Return after how many conversations harm is found, at looks as the service has them; ``None`` for never."""
    old = draw(random, before, completion=completion)
    new = {name: np.empty(0) for name in old}
    last = 0
    for count in range(STEP, conversations + 1, STEP):
        rate = completion - (harm if count > begins else 0.0)
        more = draw(random, STEP, completion=rate)
        new = {name: np.concatenate([values, more[name]])[-NEAREST:] for name, values in new.items()}
        look = look_number(count)
        if look > last:
            last = look
            if any(change.is_harm for change in metric_changes(old, new, look=look)):
                return count
    return None
