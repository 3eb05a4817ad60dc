"""Numbers and times as they are printed, the same on every machine."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, Final

__all__ = [
    "NOTHING",
    "clock_time",
    "confidence",
    "count",
    "day",
    "interval",
    "moment",
    "percent",
    "plain_number",
    "plural",
    "points",
    "relative",
    "signed",
]

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
NOTHING: Final = "–"


def percent(share: float) -> str:
    """Print a fraction as a percentage: 0.863 is 86%; what is above 0 and rounds to it is <1%."""
    if math.isnan(share):
        return NOTHING
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def signed(score: float) -> str:
    """Print a score with its sign and two digits."""
    if math.isnan(score):
        return NOTHING
    return "0.00" if round(score, 2) == 0 else f"{score:+.2f}".replace("-", "−")


def relative(change: float) -> str:
    """Print a relative change that is given in percent, with its sign and one digit."""
    return NOTHING if math.isnan(change) else f"{_one_digit(change)}%"


def points(difference: float) -> str:
    """Print a difference in percentage points, with its sign and one digit."""
    return NOTHING if math.isnan(difference) else _one_digit(difference)


def _one_digit(number: float) -> str:
    if math.isinf(number):
        return "+∞" if number > 0 else "−∞"
    return "0.0" if round(number, 1) == 0 else f"{number:+,.1f}".replace("-", "−")


def confidence(value: float) -> str:
    """Print a confidence with three digits, cut and not rounded: what is below a threshold is printed below it."""
    return NOTHING if math.isnan(value) else f"{math.floor(value * 1000 + 1e-9) / 1000:.3f}"


def plain_number(number: float) -> str:
    """Print a number of any size."""
    return NOTHING if math.isnan(number) else f"{number:,.4g}".replace("-", "−")


def interval(low: float, high: float, form: Any = percent) -> str:
    """Print the ends of an interval, or say that there is none."""
    return "no interval" if math.isnan(low) or math.isnan(high) else f"{form(low)} to {form(high)}"


def count(number: int) -> str:
    """Print a whole number with separators."""
    return f"{int(number):,}"


def plural(number: int, one: str, many: str | None = None) -> str:
    """Print a number with its noun."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def day(when: datetime) -> str:
    """Print a day in UTC."""
    local = when.astimezone(UTC)
    return f"{local.day} {_MONTHS[local.month - 1]} {local.year}"


def clock_time(when: datetime) -> str:
    """Print the time of day in UTC."""
    return when.astimezone(UTC).strftime("%H:%M")


def moment(when: datetime) -> str:
    """Print a day and its time in UTC."""
    return f"{day(when)}, {clock_time(when)} UTC"
