"""Decide whether and when to ask a language model again, from values alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

__all__ = ["RETRIED_STATUSES", "RetryPolicy", "read_retry_after"]

RETRIED_STATUSES: Final = frozenset({408, 425, 429, *range(500, 600)})


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
        """Give the seconds to wait before the next request, ``None`` when there is none.

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
        pause = min(self.longest, self.first * 2.0 ** min(attempt - 1, 30)) * (0.5 + chance / 2)
        if retry_after is not None:
            pause = max(pause, retry_after)
        return pause if elapsed + pause <= self.budget else None


def read_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Read a ``Retry-After`` header: seconds or an HTTP date. ``None`` when it says nothing usable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
