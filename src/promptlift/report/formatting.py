"""Numbers and times as text, the same on every machine."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, Final

from promptlift.words import figures

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
NOTHING: Final = "–"


def percent(share: float) -> str:
    """Format a fraction as a percentage, as sentences do: 0.863 is 86%, and 0.001 is 0.1%."""
    return NOTHING if math.isnan(share) else figures.percent(share)[0]


def signed(score: float) -> str:
    """Format a score with its sign and two decimals."""
    return figures.signed(score, 2)


def confidence(value: float) -> str:
    """Format a confidence with three decimals, rounded down: below a threshold stays below it."""
    return f"{math.floor(value * 1000 + 1e-9) / 1000:.3f}"


def interval(low: float, high: float, form: Any = percent) -> str:
    """Format the bounds of an interval, or "no interval"."""
    return "no interval" if math.isnan(low) or math.isnan(high) else f"{form(low)} to {form(high)}"


def share_and_interval(share: float, low: float, high: float) -> tuple[str, str]:
    """Format a fraction and the bounds of its interval as the sentences of the report do.

    All three have as many decimals as keep them apart, and 0% and 100% are exact.
    """
    if math.isnan(share):
        return NOTHING, ""
    if math.isnan(low) or math.isnan(high):
        return figures.percent(share)[0], "no interval"
    shown, lower, upper = figures.percent(share, low, high)
    return shown, f"{lower} to {upper}"


def count(number: int) -> str:
    """Format a whole number with separators."""
    return f"{int(number):,}"


def omitted(characters: int) -> str:
    """Format the number of characters that are omitted from a message; empty for none."""
    return f"{count(characters)} characters omitted" if characters else ""


def day(when: datetime) -> str:
    """Format a day in UTC."""
    local = when.astimezone(UTC)
    return f"{local.day} {_MONTHS[local.month - 1]} {local.year}"


def clock_time(when: datetime) -> str:
    """Format the time of day in UTC."""
    return when.astimezone(UTC).strftime("%H:%M")


def date_time(when: datetime) -> str:
    """Format a day and its time in UTC."""
    return f"{day(when)}, {clock_time(when)} UTC"
