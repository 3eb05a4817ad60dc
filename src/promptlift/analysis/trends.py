"""The completion rate over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.outcomes import OUTCOMES, RATE_COLUMNS, outcome_codes, rate_columns
from promptlift.analysis.periods import check_freq, check_zone, grain, periods, zone_name
from promptlift.analysis.reading import (
    TICK,
    TIMES,
    count_rows,
    group_rows,
    instants,
    names_of,
    provenance,
    require,
    tally,
)
from promptlift.errors import FrameError
from promptlift.stats import check_level

if TYPE_CHECKING:
    from datetime import tzinfo

    from numpy.typing import NDArray

__all__ = ["completion_trend"]

_NAT = np.iinfo(np.int64).min
_MAX_CELLS = 2_000_000
_MAX_TICKS = 2_000_000
_K = len(OUTCOMES)
_ENOUGH_A_DAY = 10


def completion_trend(
    conversations: Any,
    *,
    freq: str = "D",
    by: str | None = None,
    tz: str | tzinfo = "UTC",
    level: float = 0.95,
) -> pd.DataFrame:
    """Completion rate of ended conversations by period, with Wilson's interval.

    The time of a conversation is ``started_at``, or ``created_at`` where that is not known. Conversations in
    progress or without insights are no failures: they are counted apart.

    Parameters
    ----------
    conversations
        Table with ``status``, ``task_completed`` and ``started_at`` or ``created_at``.
    freq
        ``"h"``, ``"D"``, ``"W"`` (from Monday), ``"MS"`` (months; ``"ME"`` and ``"M"`` mean the same), or
        ``"auto"``: days, or weeks when the median day has fewer than 10 conversations with insights (a day's
        interval would be wider than 50 points), or months beyond ten years.
    by
        Column that names groups, such as ``"prompt_id"``. All groups share one axis of periods.
    tz
        Zone whose clock cuts the periods.
    level
        Coverage of each interval.

    Returns
    -------
    DataFrame
        One row a period (and group), in order of time, none left out between the first and the last:
        ``period_start`` in ``tz``, ``by`` if given, ``n`` ended conversations with insights, ``completed`` of
        them, ``rate``, ``rate_low``, ``rate_high`` as fractions (NaN when ``n`` is 0), ``n_missing``,
        ``n_in_progress``. ``attrs["promptlift"]`` says the ``freq`` that was used and ``n_undated``, the rows
        without any time.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``freq``, ``tz``, ``by`` or ``level`` cannot be used, or there would be too many periods.
    """
    level, freq, zone = check_level(level), check_freq(freq), check_zone(tz)
    columns = require(
        conversations, ["status", "task_completed"], by=by, taken=("period_start", *RATE_COLUMNS)
    )
    times = [name for name in TIMES if name in names_of(conversations)]
    if not times:
        raise FrameError(list(TIMES), names_of(conversations), hint="One of the two must be there.")
    span = grain(zone, "D" if freq == "auto" else freq)
    counted = count_rows(conversations, columns, times=times, whole_hours=span % 3_600_000_000 == 0)
    started = _started(counted.frame, [TICK] if counted.weight is not None else times)
    groups = group_rows(counted.frame, by)
    key = groups.codes * _K + outcome_codes(counted.frame)
    dated, weight, undated = started != _NAT, counted.weight, 0
    if not dated.all():
        undated = int((~dated).sum() if weight is None else weight[~dated].sum())
        started, key = started[dated], key[dated]
        weight = weight if weight is None else weight[dated]
    place, ticks = _ticks(started, span)
    for choice in _choices(freq, ticks):
        freq = choice
        starts, counts = _cells(place, ticks, key, groups.count, weight, freq=freq, zone=zone)
        if np.median(counts[:, 2:].sum(axis=1)) >= _ENOUGH_A_DAY if len(counts) else True:
            break
    result = pd.DataFrame({"period_start": starts.repeat(groups.count)} | rate_columns(counts, level))
    if groups.names is not None:
        names = groups.names.iloc[np.tile(np.arange(groups.count), len(starts))]
        result.insert(1, str(by), names.reset_index(drop=True))
    facts = {"by": by, "level": level, "freq": freq, "tz": zone_name(zone), "n_undated": undated}
    result.attrs.update(provenance(conversations, "completion_trend", **facts))
    return result


def _choices(freq: str, ticks: NDArray[np.int64]) -> tuple[str, ...]:
    if freq != "auto":
        return (freq,)
    ten_years = 3_653 * 86_400_000_000
    return ("D", "W") if len(ticks) == 0 or ticks[-1] - ticks[0] <= ten_years else ("MS",)


def _started(frame: pd.DataFrame, times: list[str]) -> NDArray[np.int64]:
    started = instants(frame[times[0]])
    if len(times) > 1:
        unknown = started == _NAT
        if unknown.any():
            started = np.where(unknown, instants(frame[times[1]]), started)
    return started


def _ticks(started: NDArray[np.int64], span: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Place of each row's tick, and the ticks: every multiple of ``span`` in the range, or those that occur."""
    if len(started) == 0:
        return np.zeros(0, np.intp), np.zeros(0, np.int64)
    number = started // span
    first, last = int(number.min()), int(number.max())
    if last - first < _MAX_TICKS:
        number -= first
        return number, np.arange(first, last + 1) * span
    place, used = pd.factorize(number, sort=True)
    return place, np.asarray(used, np.int64) * span


def _cells(
    place: NDArray[np.intp],
    ticks: NDArray[np.int64],
    key: NDArray[np.intp],
    groups: int,
    weight: NDArray[np.int64] | None,
    *,
    freq: str,
    zone: tzinfo,
) -> tuple[pd.DatetimeIndex, NDArray[np.int64]]:
    """Start of every period, and one row of outcome counts for each period and group."""
    starts, index = periods(ticks, freq, zone)
    if len(starts) * groups > _MAX_CELLS:
        raise ValueError(
            f"by would give {groups:,} groups in {len(starts):,} periods. Compare by a column with fewer values."
        )
    width = groups * _K
    counts = tally((index * width)[place] + key, len(starts) * width, weight)
    return starts, counts.reshape(-1, _K)
