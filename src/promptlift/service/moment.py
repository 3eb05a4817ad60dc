"""Time inside the service: whole milliseconds since 1970, UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime

SECOND = 1_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR


def now() -> int:
    """The current time."""
    return time.time_ns() // 1_000_000


def wire(moment: int | None) -> str | None:
    """Write a time as the API does: ISO 8601 UTC with milliseconds and ``Z``."""
    if moment is None:
        return None
    seconds, milliseconds = divmod(moment, 1_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"


def of(value: datetime) -> int:
    """Milliseconds of an aware time."""
    return round(value.timestamp() * 1_000)


def billing_period(moment: int) -> tuple[int, int]:
    """Start and end of the billing period that a time lies in: the calendar month, UTC."""
    # unspecified: when a period starts. Calendar months, so that every account can tell.
    start = datetime.fromtimestamp(moment / 1_000, UTC).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    year, month = (start.year + 1, 1) if start.month == 12 else (start.year, start.month + 1)
    return of(start), of(start.replace(year=year, month=month))
