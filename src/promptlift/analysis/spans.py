"""Spans of time to compare: before and after a time, the last days and those before, or any two."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Span", "instant", "length", "two_spans"]

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

    def shortened(self, *, low: int | None = None, high: int | None = None) -> Span:
        """Return the span cut at the given ends, where they lie inside."""
        return Span(
            max(self.low, self.low if low is None else low),
            min(self.high, self.high if high is None else high),
        )

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
