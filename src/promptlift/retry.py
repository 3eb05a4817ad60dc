"""Shared by all retries of HTTP requests: the length of pauses, and reading ``Retry-After``."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["backoff", "read_retry_after"]


def backoff(attempt: int, *, first: float, longest: float, jitter: float = 0.5) -> float:
    """Return the seconds to pause after a failed attempt: exponential, bounded and spread.

    Parameters
    ----------
    attempt
        Attempts made so far, at least 1.
    first, longest
        Seconds after the first failure, doubled after each further one, and their maximum.
    jitter
        A number from 0 to 1 that spreads the pauses of many callers between half and full length.

    Examples
    --------
    >>> [backoff(attempt, first=1, longest=5, jitter=1) for attempt in (1, 2, 3, 4)]
    [1.0, 2.0, 4.0, 5.0]
    """
    return min(longest, first * 2.0 ** min(attempt - 1, 30)) * (0.5 + jitter / 2)


def read_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Return the seconds requested by a ``Retry-After`` header, ``None`` if it is unusable.

    Parameters
    ----------
    value
        The header: seconds or an HTTP date. A past date means no pause.
    now
        The reference time for a date; by default the current time.

    Examples
    --------
    >>> read_retry_after("17"), read_retry_after("soon")
    (17.0, None)
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, TypeError, OverflowError):
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        seconds = (date - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
