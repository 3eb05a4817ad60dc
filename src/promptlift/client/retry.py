"""Whether and when a failed request is sent again: a decision from values alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from promptlift.errors import (
    ApiError,
    ConnectionFailed,
    LimitExceeded,
    RateLimited,
    ServerError,
    UnexpectedResponse,
)
from promptlift.retry import backoff

# These statuses mean that the service will never support the request.
_FINAL_STATUSES = frozenset({501, 505})

CUT_OFF = "CUT_OFF"
"""The client's own code for an answer that ended before it was complete."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A failed attempt to send a request.

    Attributes
    ----------
    number
        Attempts made for this request, including this one.
    elapsed
        Seconds since the first one began.
    repeatable
        Whether sending it again has no further effect.
    reached
        Whether the service has ever answered this client. A wrong address should be reported at once; a
        service that restarts deserves a longer wait.
    """

    number: int
    elapsed: float
    repeatable: bool
    reached: bool


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits of retrying a failed request. All times are seconds.

    Attributes
    ----------
    timeout
        How long a service that has answered before may be unreachable or failing.
    first_timeout
        The same for a service that has never answered.
    rate_timeout
        How long one request may be refused for the request rate.
    longest_wait
        A longer ``Retry-After`` is reported to the user instead of waited for.
    """

    first_pause: float = 0.2
    longest_pause: float = 5.0
    timeout: float = 30.0
    first_timeout: float = 1.5
    rate_timeout: float = 600.0
    longest_wait: float = 300.0

    def pause(self, error: ApiError, attempt: Attempt, *, jitter: float = 0.5) -> float | None:
        """Return the seconds to wait before the next attempt, or ``None`` to give up.

        Parameters
        ----------
        error
            Why the attempt failed. A quota (``LimitExceeded``) is never retried.
        jitter
            A number from 0 to 1 that spreads the attempts of many threads.
        """
        if not attempt.repeatable:
            return None
        if isinstance(error, RateLimited):
            wait = error.retry_after or 0.0
            return wait if wait <= self.longest_wait and attempt.elapsed + wait <= self.rate_timeout else None
        if not _passing(error):
            return None
        pause = backoff(attempt.number, first=self.first_pause, longest=self.longest_pause, jitter=jitter)
        timeout = self.timeout if attempt.reached else self.first_timeout
        return pause if attempt.elapsed + pause <= timeout else None


ONCE: Final = RetryPolicy(timeout=0.0, first_timeout=0.0, rate_timeout=0.0)
"""Never again: somebody waits, or it is tried later anyway."""


def leaves_open(error: ApiError) -> bool:
    """Return whether an error leaves open what the service offers because it could not answer."""
    if isinstance(error, ServerError):
        return error.status != 501
    return isinstance(error, RateLimited | LimitExceeded | ConnectionFailed) or error.code == CUT_OFF


def _passing(error: ApiError) -> bool:
    """Return whether the failure may be temporary."""
    if isinstance(error, ConnectionFailed):
        return True
    if isinstance(error, UnexpectedResponse):
        return error.code == CUT_OFF
    return isinstance(error, ServerError) and error.status not in _FINAL_STATUSES
