"""Time inside the service: whole milliseconds since 1970, UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

SECOND = 1_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def now() -> int:
    """Return the current time."""
    return time.time_ns() // 1_000_000


def wire(moment: int | None) -> str | None:
    """Write a time as the API does: ISO 8601 UTC with milliseconds and ``Z``."""
    if moment is None:
        return None
    minute, rest = divmod(moment, 60 * SECOND)
    return f"{_wire_minute(minute)}:{rest // SECOND:02d}.{rest % SECOND:03d}Z"


# A page of a list writes three times a row, most of them near each other.
@lru_cache(maxsize=4_096)
def _wire_minute(minute: int) -> str:
    # Years below 1000 keep their zeros here, which strftime drops: transcripts may have any time.
    return (_EPOCH + timedelta(minutes=minute)).replace(tzinfo=None).isoformat(timespec="minutes")


def of(value: datetime) -> int:
    """Whole milliseconds of an aware time; never later than it, so that the last moment of all can be written."""
    return (value - _EPOCH) // _MILLISECOND


def billing_period(moment: int) -> tuple[int, int]:
    """Start and end of the billing period that a time lies in: the calendar month, UTC."""
    # unspecified: when a period starts. Calendar months, because every account knows them.
    start = datetime.fromtimestamp(moment / 1_000, UTC).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    year, month = (start.year + 1, 1) if start.month == 12 else (start.year, start.month + 1)
    return of(start), of(start.replace(year=year, month=month))
