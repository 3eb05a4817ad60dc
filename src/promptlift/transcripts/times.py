"""Times in the formats of other tools: ISO 8601 text, seconds or smaller units since 1970, date objects."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

__all__ = ["read_time", "time_and_zone"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER: Final = re.compile(r"\d{9,19}(\.\d+)?")
_ZONE_NAME: Final = re.compile(r"\s*(UTC|GMT)$")


def read_time(value: Any) -> datetime | None:
    """Return a time in UTC, or ``None`` if the value is not a time.

    A time without a zone is taken as UTC. Numbers are seconds, milliseconds, microseconds or nanoseconds
    since 1970, distinguished by their size; numbers that would be before March 1973 are not times. Dates such
    as ``05/01/2024`` are not read, because day and month are ambiguous.
    """
    return time_and_zone(value)[0]


def time_and_zone(value: Any) -> tuple[datetime | None, bool]:
    """Return a time as `read_time` does, and whether the value includes its zone. Seconds since 1970 do."""
    try:
        if isinstance(value, str):
            text = value.strip()
            is_number = _NUMBER.fullmatch(text) is not None
            value = Decimal(text) if is_number else datetime.fromisoformat(_ZONE_NAME.sub("+00:00", text))
        elif isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - a day has no zone
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            value = _from_number(value)
        if isinstance(value, datetime):
            zoned = value.tzinfo is not None
            return (value.astimezone(UTC) if zoned else value.replace(tzinfo=UTC)), zoned
    except (ValueError, OverflowError, ArithmeticError):
        pass
    return None, True


def _from_number(number: float | Decimal) -> datetime | None:
    for smallest, per_second in ((1e17, 10**9), (1e14, 10**6), (1e11, 10**3), (1e8, 1)):
        if number >= smallest:
            microseconds = round(Decimal(str(number)) * 10**6 / per_second)
            return _EPOCH + timedelta(microseconds=microseconds)
    return None
