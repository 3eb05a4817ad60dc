"""Times in the formats of other tools: ISO 8601 text, seconds or smaller units since 1970, date objects."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

__all__ = ["has_zone", "read_time"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER: Final = re.compile(r"\d{9,19}(\.\d+)?")
_ZONE_NAME: Final = re.compile(r"\s*(UTC|GMT)$")
_ZONE: Final = re.compile(r"(Z|[+-]\d\d:?\d\d(:?\d\d)?)$", re.IGNORECASE)


def read_time(value: Any) -> datetime | None:
    """Return a time in UTC, or ``None`` if the value is not a time.

    A time without a zone is taken as UTC. Numbers are seconds, milliseconds, microseconds or nanoseconds
    since 1970, distinguished by their size; numbers that would be before March 1973 are not times. Dates such
    as ``05/01/2024`` are not read, because day and month are ambiguous.
    """
    try:
        if isinstance(value, str):
            return _from_text(value.strip())
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return _from_number(value)
    except (ValueError, OverflowError, ArithmeticError):
        return None
    return None


def has_zone(value: Any) -> bool:
    """Return whether a time value includes its zone. Seconds since 1970 do."""
    if isinstance(value, datetime):
        return value.tzinfo is not None
    if isinstance(value, str):
        text = value.strip()
        return bool(_NUMBER.fullmatch(text) or _ZONE_NAME.search(text) or _ZONE.search(text))
    return not isinstance(value, date)


def _from_text(text: str) -> datetime | None:
    if _NUMBER.fullmatch(text):
        return _from_number(Decimal(text))
    time = datetime.fromisoformat(_ZONE_NAME.sub("+00:00", text))
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _from_number(number: float | Decimal) -> datetime | None:
    for smallest, per_second in ((1e17, 10**9), (1e14, 10**6), (1e11, 10**3), (1e8, 1)):
        if number >= smallest:
            microseconds = round(Decimal(str(number)) * 10**6 / per_second)
            return _EPOCH + timedelta(microseconds=microseconds)
    return None
