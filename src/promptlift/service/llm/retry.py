"""Decide whether and when to ask a model again, and how long to wait for it; without any I/O."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from promptlift.retry import backoff

__all__ = ["ONE_ATTEMPT", "RETRIED_STATUSES", "AdaptiveTimeout", "RetryPolicy"]

RETRIED_STATUSES: Final = frozenset({408, 425, 429, *range(500, 600)})
_REMEMBERED: Final = 32
_ENOUGH: Final = 8


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential pauses within a budget of time and of requests.

    Attributes
    ----------
    attempts
        Requests at most, the first included.
    budget
        Seconds from the first request after which no other one is begun.
    first, longest
        Pause after the first failure, doubled for each further one, and its bound.
    answers
        Answers read at most: one that does not fit, or is empty, is asked for again.
    """

    attempts: int = 5
    budget: float = 180.0
    first: float = 1.0
    longest: float = 30.0
    answers: int = 2

    def pause(
        self, attempt: int, *, elapsed: float, retry_after: float | None = None, chance: float = 0.5
    ) -> float | None:
        """Return the seconds to wait before the next request, ``None`` when there is none.

        Parameters
        ----------
        attempt
            Requests made so far, at least 1.
        elapsed
            Seconds since the first request.
        retry_after
            What the endpoint asked for: the pause is never shorter. One that does not fit the budget ends it at once.
        chance
            A number from 0 to 1 that spreads the pauses of many callers over half to all of their length.
        """
        if attempt >= self.attempts:
            return None
        pause = backoff(attempt, first=self.first, longest=self.longest, jitter=chance)
        if retry_after is not None:
            pause = max(pause, retry_after)
        return pause if elapsed + pause <= self.budget else None


ONE_ATTEMPT: Final = RetryPolicy(attempts=1, answers=1)


@dataclass
class AdaptiveTimeout:
    """A time limit for one answer: all of ``limit`` for an unknown endpoint, far less for a fast one that hangs.

    The limit holds until a few answers for the purpose are known. From then on it is ``times`` the slowest of the last
    ones, at least ``shortest``, and doubles with every time-out of the same call up to the limit: what truly takes
    long gets its time in the end.

    Attributes
    ----------
    limit
        Seconds at most.
    shortest
        Seconds at least, unless the limit is lower.
    times
        How much longer than the slowest known answer one may take.
    """

    limit: float
    shortest: float = 20.0
    times: float = 6.0
    _took: dict[str, deque[float]] = field(default_factory=dict, init=False)

    def record(self, purpose: str, seconds: float) -> None:
        """Record how long a whole answer took."""
        self._took.setdefault(purpose, deque(maxlen=_REMEMBERED)).append(seconds)

    def seconds(self, purpose: str, *, timeouts: int = 0) -> float:
        """Return how long to wait for the next answer.

        Parameters
        ----------
        purpose
            What it is for: a judgement takes another time than a greeting.
        timeouts
            Time-outs of the same call so far.
        """
        if self.limit <= self.shortest:
            return self.limit
        known = self._took.get(purpose, ())
        usual = self.times * max(known) if len(known) >= _ENOUGH else self.limit
        return min(self.limit, max(self.shortest, usual) * 2.0 ** min(timeouts, 20))
