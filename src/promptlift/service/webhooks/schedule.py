"""When a delivery is attempted again."""

from __future__ import annotations

from promptlift.schema.limits import WEBHOOK_ATTEMPTS, WEBHOOK_DELAYS_SECONDS
from promptlift.service import clock


def next_attempt(attempts: int, *, failed_at: int) -> int | None:
    """Return when the next attempt is due after ``attempts`` of them failed; ``None`` after the last.

    Retry policy: attempt 2 one minute after the first failed, then five minutes, thirty minutes and two hours.

    Examples
    --------
    >>> [next_attempt(failed, failed_at=0) for failed in (1, 2, 3, 4, 5)]
    [60000, 300000, 1800000, 7200000, None]
    """
    # unspecified: whether a delay runs from the start or the end of the attempt before. Its end.
    if attempts >= WEBHOOK_ATTEMPTS:
        return None
    return failed_at + WEBHOOK_DELAYS_SECONDS[attempts] * clock.SECOND
