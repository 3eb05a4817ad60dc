"""Rows of a table counted by period, group and outcome, where the table lives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS
from promptlift.analysis.periods import grain, periods, zone_name
from promptlift.analysis.reading import (
    NO_TIME,
    TICK,
    TIMES,
    Groups,
    count_by_key,
    count_rows,
    group_rows,
    names_of,
    score_parts,
    with_provenance,
)
from promptlift.errors import FrameError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

    from numpy.typing import NDArray

_MAX_CELLS = 2_000_000
_MAX_TICKS = 2_000_000
_ENOUGH_A_DAY = 10


@dataclass(frozen=True)
class PeriodCounts:
    """Counts by period and group.

    Attributes
    ----------
    starts
        Start of every period from the first to the last, none left out.
    groups
        The groups.
    counts
        One row per period and group (groups of a period together), one column per outcome.
    scores
        Of the score of each period and group: how many, their sum, the sum of their squares. None when no
        score was asked for.
    freq
        The frequency that was used.
    zone
        Zone whose clock cuts the periods.
    n_undated
        Rows without any time, which are in no period.
    """

    starts: pd.DatetimeIndex
    groups: Groups
    counts: NDArray[np.int64]
    scores: NDArray[np.float64] | None
    freq: str
    zone: tzinfo
    n_undated: int


def count_periods(
    table: Any,
    columns: Sequence[str],
    codes: Callable[[pd.DataFrame], NDArray[Any]],
    size: int,
    *,
    judged: slice,
    by: str | None,
    freq: str,
    zone: tzinfo,
    score: str | None = None,
) -> PeriodCounts:
    """Count the rows of a table by period, group and outcome.

    Parameters
    ----------
    table
        Any table that narwhals accepts, with ``started_at`` or ``created_at``.
    columns
        Columns that ``codes`` and ``by`` need.
    codes
        Gives the outcome of each row, a number from 0 to below ``size``.
    size
        Number of outcomes.
    judged
        Outcomes that say something; thin days of these make ``freq="auto"`` take weeks.
    by, freq, zone
        As ``completion_trend`` has them, checked.
    score
        Column of a number whose sums are wanted too.

    Raises
    ------
    FrameError
        When the table has no time.
    ValueError
        When there would be too many periods.
    """
    times = times_of(table)
    span = grain(zone, "D" if freq == "auto" else freq)
    counted = count_rows(table, columns, times=times, span=span, score=score)
    at = counted[TICK].to_numpy(np.int64, na_value=NO_TIME)
    groups = group_rows(counted, by)
    key = groups.codes * size + codes(counted)
    dated, weight = at != NO_TIME, counted[ROWS].to_numpy(np.int64)
    undated = int(weight[~dated].sum())
    at, key, weight = at[dated], key[dated], weight[dated]
    place, ticks = _ticks(at, span)
    for choice in _choices(freq, ticks):
        freq = choice
        starts, row = _rows(place, ticks, groups.count, freq=freq, zone=zone)
        cells = len(starts) * groups.count
        counts = count_by_key(row * size + key, cells * size, weight).reshape(-1, size)
        if np.median(counts[:, judged].sum(axis=1)) >= _ENOUGH_A_DAY if len(counts) else True:
            break
    scores: NDArray[np.float64] | None = None
    if score is not None:
        row += key // size
        sums = [np.bincount(row, weights=part[dated], minlength=cells) for part in score_parts(counted)]
        scores = np.stack(sums).astype(np.float64, copy=False)
    return PeriodCounts(starts, groups, counts, scores, freq, zone, undated)


def period_table(
    found: PeriodCounts, source: Any, name: str, columns: dict[str, Any], **facts: Any
) -> pd.DataFrame:
    """Put the periods, and the groups where there are any, before columns of the counts; say how it was made."""
    result = pd.DataFrame({"period_start": found.starts.repeat(found.groups.count)} | columns)
    found.groups.name_rows(result, place=1)
    facts |= {"freq": found.freq, "tz": zone_name(found.zone), "n_undated": found.n_undated}
    return with_provenance(result, source, name, **facts)


def times_of(table: Any) -> list[str]:
    """Return the time columns of a table of conversations, the better one first.

    Raises
    ------
    FrameError
        When there is none.
    """
    present = names_of(table)
    times = [name for name in TIMES if name in present]
    if not times:
        raise FrameError(list(TIMES), present, hint="One of the two is needed.")
    return times


def _choices(freq: str, ticks: NDArray[np.int64]) -> tuple[str, ...]:
    if freq != "auto":
        return (freq,)
    ten_years = 3_653 * 86_400_000_000
    return ("D", "W") if len(ticks) == 0 or ticks[-1] - ticks[0] <= ten_years else ("MS",)


def _ticks(at: NDArray[np.int64], span: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the place of each row's tick, and the ticks: every multiple of ``span``, or those that occur."""
    if len(at) == 0:
        return np.zeros(0, np.intp), np.zeros(0, np.int64)
    number = at // span
    first, last = int(number.min()), int(number.max())
    if last - first < _MAX_TICKS:
        number -= first
        return number, np.arange(first, last + 1) * span
    place, used = pd.factorize(number, sort=True)
    return place, np.asarray(used, np.int64) * span


def _rows(
    place: NDArray[np.intp], ticks: NDArray[np.int64], groups: int, *, freq: str, zone: tzinfo
) -> tuple[pd.DatetimeIndex, NDArray[np.intp]]:
    """Return the start of every period, and for each row of the table the first row of its period in the result."""
    starts, index = periods(ticks, freq, zone)
    if len(starts) * groups > _MAX_CELLS:
        raise ValueError(
            f"by would give {groups:,} groups in {len(starts):,} periods. Compare by a column with fewer values."
        )
    return starts, (index * groups)[place]
