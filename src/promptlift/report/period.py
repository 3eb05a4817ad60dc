"""The period of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from promptlift.report.formatting import day

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PeriodLike", "Window", "window_of"]

Bound = date | datetime | str | None
PeriodLike = int | Sequence[Bound] | None
_HELP = (
    "period is a number of days up to now, or (first day, last day) such as ('2026-01-01', '2026-01-31'); "
    "either may be None."
)


@dataclass(frozen=True)
class Window:
    """From ``start`` up to but not including ``end``, in UTC; ``None`` is unbounded.

    ``previous`` is the period of the same length before it, ``None`` where it has no length.
    """

    start: datetime | None = None
    end: datetime | None = None
    words: str = ""
    previous: Window | None = None

    def contains(self, times: pd.Series[Any]) -> NDArray[Any]:
        """Return which times are inside. Without bounds all are, also unknown ones."""
        kept = pd.Series(data=True, index=times.index)
        if self.start is not None:
            kept &= times >= pd.Timestamp(self.start)
        if self.end is not None:
            kept &= times < pd.Timestamp(self.end)
        return kept.to_numpy(dtype=bool)


def window_of(period: PeriodLike, now: datetime) -> Window:
    """Read the ``period`` of a report.

    Raises
    ------
    ValueError
        When it cannot be read, or is empty.
    """
    if period is None:
        return Window()
    if isinstance(period, int) and not isinstance(period, bool):
        if not 1 <= period <= 36500:
            raise ValueError(f"period={period} days is not between 1 and 36500. {_HELP}")
        since = now - timedelta(days=period)
        return Window(since, None, f"last {period} days", _previous(since, now))
    if isinstance(period, str) or not isinstance(period, Sequence) or len(period) != 2:
        raise ValueError(f"period={period!r} cannot be read. {_HELP}")
    start, end = _bound(period[0], last=False), _bound(period[1], last=True)
    if start is not None and end is not None and start >= end:
        raise ValueError(f"period={tuple(period)!r} ends before it begins. {_HELP}")
    # A period that is not over is compared with as much time as has passed of it.
    passed = None if start is None else _previous(start, now if end is None else min(end, now))
    return Window(start, end, _words(start, end), passed)


def _previous(start: datetime, end: datetime) -> Window | None:
    length = end - start
    if length <= timedelta(0):
        return None
    days, rest = divmod(length, timedelta(days=1))
    words = (
        "the equally long period before"
        if rest
        else f"the {days} days before"
        if days > 1
        else "the day before"
    )
    return Window(start - length, start, words)


def _bound(value: Bound, *, last: bool) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value!r} in period is not a day such as '2026-01-31'. {_HELP}") from None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if not isinstance(value, date):
        raise ValueError(f"{value!r} in period is not a day. {_HELP}")  # noqa: TRY004  (one error for one option)
    # The last day belongs to the period.
    return datetime.combine(value + timedelta(days=1 if last else 0), time(), tzinfo=UTC)


def _words(start: datetime | None, end: datetime | None) -> str:
    until = None if end is None else day(end - timedelta(microseconds=1))
    if start is None:
        return f"until {until}" if until else ""
    return f"from {day(start)}" if until is None else f"{day(start)} to {until}"
