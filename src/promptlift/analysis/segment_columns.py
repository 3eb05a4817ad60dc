"""Columns of a table as segments: the values of a column, bins of numbers, hours of the day, and topics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.mentions import find_mentions
from promptlift.analysis.one_line import one_line
from promptlift.analysis.period_counts import NO_TIME, started

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import tzinfo

    from numpy.typing import NDArray

__all__ = ["HOUR", "NOT_GIVEN", "PAIR_SEPARATOR", "Segment", "Split", "hours", "pair_of", "split_of"]

HOUR: Final = "hour"
NOT_GIVEN: Final = "not given"
PAIR_SEPARATOR: Final = " × "
_LABEL_WIDTH: Final = 120
_LISTS: Final = ("topics", "tags", "issues")


@dataclass(frozen=True)
class Segment:
    """Conversations that have something in common.

    Attributes
    ----------
    label
        What they have in common: a value, a range of numbers or of hours.
    members
        Mask of the rows.
    merged
        The values that were merged into it because each had too few rows.
    """

    label: str
    members: NDArray[np.bool_]
    merged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Split:
    """The segments of one column.

    Attributes
    ----------
    column
        The column, or two columns and what is between them.
    segments
        Its segments.
    known
        Rows that are in one of them or that could be: the rest of a segment is taken from these.
    exclusive
        Whether a row is in at most one of them; a conversation may be about several topics.
    why_not
        Why the column has no segments to compare; empty where it has.
    """

    column: str
    segments: tuple[Segment, ...]
    known: NDArray[np.bool_]
    exclusive: bool = True
    why_not: str = ""


def split_of(column: pd.Series[Any], *, bins: int, smallest: int) -> Split:
    """Split the rows by a column; values with fewer than ``smallest`` rows are merged into one segment.

    Parameters
    ----------
    column
        Texts, true and false, numbers, or (of topics) lists.
    bins
        Into how many quantile bins numbers are cut; fewer where values repeat.
    smallest
        Fewest rows of a segment.
    """
    name = str(column.name)
    rows = len(column)
    missing = column.isna().to_numpy(dtype=bool)
    if missing.all():
        return _unused(name, rows, "no conversation has a value")
    if _holds_lists(column):
        if name not in _LISTS:
            return _unused(name, rows, "it holds lists or other values that cannot name a segment")
        return _split_of_lists(column[~missing], ~missing, smallest)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _unused(name, rows, "it holds times")
    kind = column.dtype
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind):
        return _merged(name, _bins(column, missing, bins), smallest)
    return _merged(name, _values(column, missing), smallest)


def hours(frame: pd.DataFrame, times: Sequence[str], *, zone: tzinfo, bins: int, smallest: int) -> Split:
    """Split the rows by the hour of the day at which they began, on the clock of a zone."""
    began = started(frame, list(times))
    dated = began != NO_TIME
    if not dated.any():
        return _unused(HOUR, len(frame), "no conversation has a time")
    clock = pd.DatetimeIndex(began[dated].view("datetime64[us]"), tz="UTC").tz_convert(zone)
    width = max(24 // bins, 1)
    place = np.full(len(frame), -1)
    place[dated] = np.asarray(clock.hour) // width
    segments = [
        Segment(f"{at * width:02d}:00 to {min((at + 1) * width, 24) - 1:02d}:59", place == at)
        for at in range(-(-24 // width))
    ]
    return _merged(HOUR, [one for one in segments if one.members.any()], smallest)


def pair_of(first: Split, second: Split, *, smallest: int) -> Split:
    """Split the rows by two columns at once: every value of the one with every value of the other."""
    name = f"{first.column}{PAIR_SEPARATOR}{second.column}"
    found = [
        Segment(f"{one.label}{PAIR_SEPARATOR}{other.label}", one.members & other.members)
        for one in first.segments
        for other in second.segments
    ]
    return _merged(name, [one for one in found if one.members.any()], smallest)


def _unused(name: str, rows: int, why: str) -> Split:
    return Split(name, (), np.zeros(rows, bool), why_not=why)


def _holds_lists(column: pd.Series[Any]) -> bool:
    if not (pd.api.types.is_object_dtype(column.dtype) or isinstance(column.dtype, pd.ArrowDtype)):
        return False
    return any(isinstance(value, list | tuple | dict | set | np.ndarray) for value in column.dropna())


def _split_of_lists(column: pd.Series[Any], known: NDArray[np.bool_], smallest: int) -> Split:
    name = str(column.name)
    found = find_mentions(column, name)
    rows = np.flatnonzero(known)
    segments = []
    for place, title in enumerate(found.titles):
        members = np.zeros(len(known), bool)
        members[rows[found.row[found.title == place]]] = True
        segments.append(Segment(one_line(title, _LABEL_WIDTH), members))
    return replace(_merged(name, segments, smallest, known), exclusive=False)


def _values(column: pd.Series[Any], missing: NDArray[np.bool_]) -> list[Segment]:
    """Make a segment of each value; values that look alike on one line are one."""
    codes, values = pd.factorize(column.astype(object))
    labels = [one_line(_word(value), _LABEL_WIDTH) or "(empty)" for value in values]
    places, different = pd.factorize(np.array(labels, dtype=object))
    group = np.where(codes < 0, -1, places[codes])
    segments = [Segment(str(label), group == place) for place, label in enumerate(different)]
    return [*segments, *([Segment(NOT_GIVEN, missing)] if missing.any() else [])]


def _word(value: Any) -> Any:
    return ("no", "yes")[bool(value)] if isinstance(value, bool | np.bool_) else value


def _bins(column: pd.Series[Any], missing: NDArray[np.bool_], bins: int) -> list[Segment]:
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    # Infinite numbers have a place in the order, but no quantile.
    finite = numbers[np.isfinite(numbers)]
    inner = np.quantile(finite, np.arange(1, bins) / bins, method="lower") if len(finite) else []
    edges = np.unique(np.asarray(inner, np.float64))
    place = np.where(missing, -1, np.searchsorted(edges, numbers, side="left"))
    segments = []
    for at in range(len(edges) + 1):
        members = place == at
        if members.any():
            segments.append(Segment(_range(numbers[members]), members))
    return [*segments, *([Segment(NOT_GIVEN, missing)] if missing.any() else [])]


def _range(numbers: NDArray[np.float64]) -> str:
    low, high = float(numbers.min()), float(numbers.max())
    return f"{low:,.6g}" if low == high else f"{low:,.6g} to {high:,.6g}"


def _merged(
    name: str, segments: Iterable[Segment], smallest: int, known: NDArray[np.bool_] | None = None
) -> Split:
    """Merge the segments that are too small, and say when nothing is left to compare."""
    given = list(segments)
    if not given:
        return Split(name, (), np.zeros(0, bool), why_not="no conversation has a value")
    known = np.logical_or.reduce([one.members for one in given]) if known is None else known
    sizes = [int(one.members.sum()) for one in given]
    large = [one for one, size in zip(given, sizes, strict=True) if size >= smallest]
    small = [one for one, size in zip(given, sizes, strict=True) if size < smallest]
    if len(small) == 1 and not large:
        return Split(name, (), known, why_not=f"fewer than {smallest} conversations have a value")
    if small:
        label = small[0].label if len(small) == 1 else f"other ({len(small):,} values)"
        members = np.logical_or.reduce([one.members for one in small])
        merged = tuple(one.label for one in small) if len(small) > 1 else ()
        large.append(Segment(label, members, merged))
    if len(given) == 1 and bool(given[0].members[known].all()):
        return Split(name, (), known, why_not="all conversations have the same value")
    kept = tuple(one for one in large if _can_be_compared(one, known, smallest))
    if not kept:
        return Split(
            name, (), known, why_not=f"no value has {smallest} conversations, with as many in the rest"
        )
    return Split(name, kept, known)


def _can_be_compared(segment: Segment, known: NDArray[np.bool_], smallest: int) -> bool:
    size = int(segment.members.sum())
    return size >= smallest and int(known.sum()) - size >= smallest
