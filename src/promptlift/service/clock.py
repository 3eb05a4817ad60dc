"""Times inside the service: whole milliseconds since 1970, UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import overload

SECOND = 1_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def now() -> int:
    """Return the current time."""
    return time.time_ns() // 1_000_000


@overload
def iso(milliseconds: int) -> str: ...
@overload
def iso(milliseconds: int | None) -> str | None: ...
def iso(milliseconds: int | None) -> str | None:
    """Return a time as the API writes it: ISO 8601 UTC with milliseconds and ``Z``."""
    if milliseconds is None:
        return None
    minute, rest = divmod(milliseconds, 60 * SECOND)
    return f"{_iso_minute(minute)}:{rest // SECOND:02d}.{rest % SECOND:03d}Z"


# A page of a list formats three times per row, most of them close together.
@lru_cache(maxsize=4_096)
def _iso_minute(minute: int) -> str:
    # Years below 1000 keep their leading zeros, unlike with strftime: transcripts may have any time.
    return (_EPOCH + timedelta(minutes=minute)).replace(tzinfo=None).isoformat(timespec="minutes")


def from_datetime(value: datetime) -> int:
    """Return the whole milliseconds of an aware time, rounded down, so that even the latest possible time can be formatted."""
    return (value - _EPOCH) // _MILLISECOND


def moment() -> datetime:
    """Return the current time as an aware datetime, in whole milliseconds."""
    return to_datetime(now())


def to_datetime(milliseconds: int) -> datetime:
    """Return a time as an aware datetime, UTC."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def billing_period(now: int) -> tuple[int, int]:
    """Return the start and the end of the billing period of a time: the calendar month, UTC."""
    # unspecified: when a period starts. Calendar months, familiar to everyone.
    start = datetime.fromtimestamp(now / 1_000, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    year, month = (start.year + 1, 1) if start.month == 12 else (start.year, start.month + 1)
    return from_datetime(start), from_datetime(start.replace(year=year, month=month))
