"""What would be gained if conversations of one kind ended like the others."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

__all__ = ["is_worth_a_test", "points_to_gain"]

# An interval of 80 % leaves out 10 % at each end.
_LEVEL_OF_ENDS: Final = 0.80


def points_to_gain(
    completed: int, n: int, completed_without: int, n_without: int, *, level: float = 0.95
) -> tuple[float, float, float]:
    """Compute the points of completion that are gained when the conversations of a kind complete like the others.

    That is the completion of the others less the completion of all. The interval is that of the delta method over the
    four counts, each with a half added as in `lift_interval`.

    Parameters
    ----------
    completed, n
        Conversations of the kind.
    completed_without, n_without
        The others.
    level
        Coverage of the interval.

    Returns
    -------
    tuple
        Points, and the ends of their interval; NaN where there are no others. With nothing of the kind there are 0 points
        to gain, and the interval says how many there may be.

    Examples
    --------
    >>> [round(points, 1) for points in points_to_gain(5, 40, 60, 80)]
    [20.8, 13.6, 27.6]
    """
    if not n_without:
        return math.nan, math.nan, math.nan
    points = 100.0 * (completed_without / n_without - (completed + completed_without) / (n + n_without))
    counts = (completed, n - completed, completed_without, n_without - completed_without)
    total = n + n_without + 2.0
    shares = [(count + 0.5) / total for count in counts]
    without = shares[2] + shares[3]
    slopes = (-1.0, 0.0, shares[3] / without**2 - 1.0, -shares[2] / without**2)
    mean = sum(share * slope for share, slope in zip(shares, slopes, strict=True))
    squares = sum(share * slope**2 for share, slope in zip(shares, slopes, strict=True))
    middle = shares[2] / without - shares[0] - shares[2]
    width = NormalDist().inv_cdf((1.0 + level) / 2.0) * math.sqrt((squares - mean**2) / total)
    return points, 100.0 * (middle - width), 100.0 * (middle + width)


def is_worth_a_test(
    completed: int, n: int, completed_without: int, n_without: int, *, findable: float | None
) -> bool | None:
    """Return whether the gain of `points_to_gain` may be as large as a test can find.

    It may not where its one-sided upper bound of 90 % is below.

    Parameters
    ----------
    completed, n, completed_without, n_without
        As for `points_to_gain`.
    findable
        The smallest gain in points that the test finds with 80 %; ``None`` where it finds none, and no gain is enough.

    Returns
    -------
    bool or None
        ``None`` where the gain is not known.

    Examples
    --------
    >>> is_worth_a_test(5, 40, 60, 80, findable=15.0), is_worth_a_test(5, 40, 60, 80, findable=25.0)
    (True, False)
    """
    _, _, high = points_to_gain(completed, n, completed_without, n_without, level=_LEVEL_OF_ENDS)
    if math.isnan(high):
        return None
    return findable is not None and high >= findable
