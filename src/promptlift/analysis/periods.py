"""Periods of local time: which hour, day, week or month an instant belongs to, across clock changes."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_PERIODS = 100_000
_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
_LENGTHS = {"h": _HOUR, "D": _DAY, "W": 7 * _DAY, "MS": 30 * _DAY}
_STEPS = {"D": pd.DateOffset(days=1), "W": pd.DateOffset(days=7), "MS": pd.DateOffset(months=1)}
_SPELLINGS = {"h": "h", "H": "h", "D": "D", "d": "D", "W": "W", "w": "W", "MS": "MS", "ME": "MS", "M": "MS"}


def check_freq(freq: str) -> str:
    """Return the standard spelling of a frequency: ``h``, ``D``, ``W``, ``MS`` or ``auto``.

    Raises
    ------
    ValueError
        When it is none of them.
    """
    if freq == "auto":
        return freq
    known = _SPELLINGS.get(str(freq))
    if known is None:
        raise ValueError(f"freq must be 'h', 'D', 'W' (from Monday), 'MS' (months) or 'auto', not {freq!r}.")
    return known


def check_zone(tz: str | tzinfo) -> tzinfo:
    """Return the time zone of a name.

    Raises
    ------
    ValueError
        When there is no such zone.
    """
    if isinstance(tz, tzinfo):
        return tz
    try:
        return UTC if tz == "UTC" else ZoneInfo(tz)
    except (KeyError, ValueError, TypeError, OSError):
        raise ValueError(f"tz must name a time zone, such as 'UTC' or 'Europe/Berlin', not {tz!r}.") from None


def zone_name(zone: tzinfo) -> str:
    """Return the name of a time zone as people write it."""
    return "UTC" if zone is UTC else str(getattr(zone, "key", None) or zone)


@lru_cache(maxsize=32)
def grain(zone: tzinfo, freq: str) -> int:
    """Return the longest span, in microseconds, that no border of a period cuts: a day, an hour, or less.

    Every border of a local day lies at a whole multiple of it since 1970 UTC. Offsets are looked up month by
    month; before 1973 some zones had offsets of odd seconds, which no log has.
    """
    if zone is UTC:
        return _HOUR if freq == "h" else _DAY
    start = datetime(1973, 1, 15, tzinfo=UTC)
    offsets = {(start + timedelta(days=30 * month)).astimezone(zone).utcoffset() for month in range(820)}
    minutes = (round(offset.total_seconds() / 60) for offset in offsets if offset is not None)
    return math.gcd(60, *minutes) * 60_000_000


def periods(ticks: NDArray[np.int64], freq: str, zone: tzinfo) -> tuple[pd.DatetimeIndex, NDArray[np.intp]]:
    """Find the period of each tick.

    Parameters
    ----------
    ticks
        Sorted instants in microseconds since 1970 UTC, at multiples of the grain. For ``h`` without holes.
    freq
        ``h``, ``D``, ``W`` or ``MS``.
    zone
        Zone whose clock cuts the periods. A local day is one day, be it 23, 24 or 25 hours long.

    Returns
    -------
    starts, index
        Start of every period from the first tick's to the last one's, in ``zone``, none left out; and the place
        of each tick's period in it.

    Raises
    ------
    ValueError
        When there are more than ``MAX_PERIODS`` periods.
    """
    if len(ticks) == 0:
        return pd.DatetimeIndex([], dtype=pd.DatetimeTZDtype("us", zone)), np.zeros(0, np.intp)
    expected = int(ticks[-1] - ticks[0]) // _LENGTHS[freq] + 1
    if expected > MAX_PERIODS:
        first, last = (
            np.datetime64(int(tick), "us").astype("datetime64[D]") for tick in (ticks[0], ticks[-1])
        )
        raise ValueError(
            f"The conversations lie between {first} and {last}: {expected:,} periods of freq={freq!r}, more than "
            f"{MAX_PERIODS:,}. Choose a longer freq, or leave out rows whose started_at is wrong."
        )
    local = _wall_clock(ticks, zone)
    if freq == "h":
        return _hours(ticks, local, zone)
    number = _period_number(local, freq)
    step = 7 if freq == "W" else 1
    numbers = np.arange(number[0], number[-1] + 1, step)
    unit: Any = "M" if freq == "MS" else "D"
    naive = pd.DatetimeIndex(numbers.astype(f"datetime64[{unit}]").astype("datetime64[us]"))
    starts = _localize(naive, zone)
    # A day that a zone left out (Samoa, 30 December 2011) would start with the next one, or after it.
    kept = np.append(np.diff(starts.asi8) > 0, True)
    return starts[kept], np.searchsorted(numbers[kept], number)


def last_period_end(starts: pd.DatetimeIndex, freq: str) -> pd.DatetimeIndex:
    """Return when the last period ends, which is when the next one would start; empty when there is no period.

    Parameters
    ----------
    starts
        Starts of periods as `periods` gives them.
    freq
        ``h``, ``D``, ``W`` or ``MS``.
    """
    last = starts[-1:]
    if freq == "h":
        return last + pd.Timedelta(hours=1)
    # By the calendar of the zone: a local day may have 23 or 25 hours, and may start at one o'clock.
    midnight = last.tz_localize(None).normalize()
    return _localize(midnight + _STEPS[freq], starts.tz)


def _localize(naive: pd.DatetimeIndex, zone: tzinfo | None) -> pd.DatetimeIndex:
    return naive.tz_localize(zone, ambiguous=np.ones(len(naive), bool), nonexistent="shift_forward")


def _wall_clock(ticks: NDArray[np.int64], zone: tzinfo) -> NDArray[np.int64]:
    if zone is UTC:
        return ticks
    index = pd.DatetimeIndex(ticks.view("datetime64[us]"), tz="UTC")
    return index.tz_convert(zone).tz_localize(None).asi8


def _hours(
    ticks: NDArray[np.int64], local: NDArray[np.int64], zone: tzinfo
) -> tuple[pd.DatetimeIndex, NDArray[np.intp]]:
    starts, index = np.unique(ticks - local % _HOUR, return_inverse=True)
    return pd.DatetimeIndex(starts.view("datetime64[us]"), tz="UTC").tz_convert(zone), index


def _period_number(local: NDArray[np.int64], freq: str) -> NDArray[np.int64]:
    days = local // _DAY
    if freq == "D":
        return days
    if freq == "W":
        return days - (days + 3) % 7  # day 0, 1970-01-01, was a Thursday
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


_END = np.iinfo(np.int64).max
_START = np.iinfo(np.int64).min + 1


@dataclass(frozen=True)
class Span:
    """From ``low`` to before ``high``, in microseconds since 1970 UTC."""

    low: int = _START
    high: int = _END

    def contains(self, at: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask of the instants that lie in the span."""
        return np.asarray((at >= self.low) & (at < self.high))

    @property
    def ends(self) -> tuple[pd.Timestamp | None, pd.Timestamp | None]:
        """Both ends as times, None where it is open."""
        return _time(self.low), _time(self.high)


def _time(microseconds: int) -> pd.Timestamp | None:
    if microseconds in (_START, _END):
        return None
    return pd.Timestamp(microseconds, unit="us", tz="UTC")


def instant(value: Any, name: str) -> int:
    """Return anything that pandas reads as a time in microseconds since 1970 UTC; without a zone it is UTC.

    Raises
    ------
    ValueError
        When it is no time.
    """
    time: Any = None
    with suppress(TypeError, ValueError):
        time = pd.Timestamp(value)
    if time is None or time is pd.NaT:
        raise ValueError(f"{name} must be a time, such as '2026-03-01' or a pandas.Timestamp, not {value!r}.")
    time = time.tz_localize("UTC") if time.tzinfo is None else time
    return int(time.to_datetime64().astype("datetime64[us]").astype(np.int64))


def length(value: Any, name: str) -> int:
    """Return anything that pandas reads as a length of time in microseconds.

    Raises
    ------
    ValueError
        When it is none, or not positive.
    """
    span: Any = None
    with suppress(TypeError, ValueError):
        span = pd.Timedelta(value)
    if span is None or span is pd.NaT or span <= pd.Timedelta(0):
        raise ValueError(f"{name} must be a length of time, such as '30D', not {value!r}.")
    return int(span.to_timedelta64().astype("timedelta64[us]").astype(np.int64))


def two_spans(started: NDArray[np.int64], *, at: Any, window: Any, periods: Any) -> tuple[Span, Span]:
    """Make the earlier and the later span of a comparison.

    Parameters
    ----------
    started
        When the conversations began.
    at
        The instant between both.
    window
        How long each is; without ``at`` the later one ends with the last conversation.
    periods
        Both, as two pairs of times.

    Raises
    ------
    ValueError
        When the arguments do not determine what to compare, or contradict each other.
    """
    if periods is not None:
        if at is not None or window is not None:
            raise ValueError("Pass either periods, or at and window, not both.")
        try:
            (a, b), (c, d) = periods
        except (TypeError, ValueError):
            raise ValueError(
                "periods must be two pairs of times, such as (('2026-01-01', '2026-02-01'), ('2026-02-01', "
                "'2026-03-01'))."
            ) from None
        spans = tuple(
            Span(instant(low, "periods"), instant(high, "periods")) for low, high in ((a, b), (c, d))
        )
        if any(span.low >= span.high for span in spans) or spans[0].high > spans[1].low:
            raise ValueError("periods must each begin before they end, and the second after the first.")
        return spans[0], spans[1]
    if at is None and window is None:
        raise ValueError(
            "Say what to compare: at= a time (before it against after it), window= a length such as '30D' (the "
            "last 30 days against the 30 before them), or periods= two pairs of times."
        )
    span = None if window is None else length(window, "window")
    if at is not None:
        cut = instant(at, "at")
        return Span(_START if span is None else cut - span, cut), Span(
            cut, _END if span is None else cut + span
        )
    last = int(started.max()) + 1 if len(started) else 0
    assert span is not None  # noqa: S101  (for mypy: one of the two is there)
    return Span(last - 2 * span, last - span), Span(last - span, last)
