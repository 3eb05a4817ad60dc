"""Simulated production: conversations with six metrics, before and after a deployment, day after day."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from promptlift.service import clock
from promptlift.service.deployments import watch
from support.deployed import AT_ONCE, Logged, World

if TYPE_CHECKING:
    from promptlift.service.store.database import Database

BEFORE = 0.60
# Failures fall from 40 to 15%, which is a verified fix.
FIXED = 0.85
PHASES = ("pending", "verified", "not_fixed")
HARMS = (0.10, 0.20, 0.30)
PER_DAY = 30


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


@dataclass(frozen=True)
class Life:
    """What became of one deployment.

    Attributes
    ----------
    conversations
        From the beginning of the harm, or of the deployment, to the rollback; ``None`` for never.
    kinds
        Events of the deployment and of its text.
    """

    conversations: int | None
    kinds: tuple[str, ...]


def logged(random: np.random.Generator, count: int, completion: float) -> list[Logged]:
    """Draw conversations as the service keeps them."""
    drawn = draw(random, count, completion=completion)
    return [
        Logged(
            completed=bool(drawn["task_completion"][n]),
            sentiment=float(drawn["sentiment"][n]),
            quality=float(drawn["quality"][n]),
            status="abandoned" if drawn["abandonment"][n] else "completed",
            response_seconds=float(drawn["response_time"][n]),
            messages=int(drawn["length"][n]),
        )
        for n in range(count)
    ]


class Production:
    """One deployed text and its conversations.

    Parameters
    ----------
    database
        Migrated.
    random
        What happens.
    before
        Conversations with the text before.
    per_day
        Conversations a day.
    """

    def __init__(
        self, database: Database, random: np.random.Generator, *, before: int = 500, per_day: int = PER_DAY
    ) -> None:
        self.world = World(database)
        self._random = random
        self._per_day = per_day
        self._days = 0
        self.world.log_each(logged(random, before, BEFORE), at=self.world.started)
        self._optimization = self.world.optimization(AT_ONCE)
        self._start = self.world.row(self._optimization).applied_at

    @property
    def row(self):
        return self.world.row(self._optimization)

    def day(self, completion: float) -> None:
        """Let a day pass, and the watcher look."""
        day = self._start + self._days * clock.DAY
        self._days += 1
        conversations = logged(self._random, self._per_day, completion)
        self.world.log_each(conversations, at=day, apart=clock.DAY // self._per_day)
        for row in watch.due(self.world.database, prompt_ids={self.world.prompt_id}):
            watch.check(self.world.database, row)

    def live(self, completion: float, *, days: int) -> Life:
        """Let days pass until the text is rolled back."""
        for day in range(1, days + 1):
            self.day(completion)
            if self.row.state != "live":
                return Life(day * self._per_day, tuple(self.world.kinds()))
        return Life(None, tuple(self.world.kinds()))


def harmed(database: Database, random: np.random.Generator, phase: str, harm: float, *, days: int) -> Life:
    """Live through one deployment that begins to do harm in a phase."""
    while True:
        production = Production(database, random)
        if phase != "pending":
            for _ in range(math.ceil(240 / PER_DAY)):
                production.day(FIXED if phase == "verified" else BEFORE)
        # Chance gives some another verdict: those are not what is asked for.
        if production.row.state == "live" and production.row.verification == phase:
            return production.live(BEFORE - harm, days=days)


def quiet(database: Database, random: np.random.Generator, *, days: int, per_day: int = 10) -> Life:
    """Live through one deployment that changes nothing."""
    return Production(database, random, before=300, per_day=per_day).live(BEFORE, days=days)
