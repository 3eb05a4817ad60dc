"""Counts as percent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.stats.intervals import wilson

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def percent(part: int, whole: int) -> float | None:
    """Return a share in percent, ``None`` of nothing."""
    return 100.0 * part / whole if whole else None


def percent_interval(part: int, whole: int) -> tuple[float | None, float | None]:
    """Return the ends of the 95 % interval of a share in percent."""
    if not whole:
        return None, None
    low, high = wilson(part, whole)
    return points(low), points(high)


def points(fraction: ArrayLike) -> float:
    """Return a fraction as percentage points."""
    return 100.0 * float(fraction)  # type: ignore[arg-type]  # one number
