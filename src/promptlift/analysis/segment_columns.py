"""Columns of a table as segments: the values of a column, bins of numbers, hours of the day, and topics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.mentions import find_mentions
from promptlift.analysis.reading import NO_TIME
from promptlift.words.names import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

    from numpy.typing import NDArray

    from promptlift.analysis.segment_readers import Reader
    from promptlift.analysis.segment_rows import Rows

HOUR: Final = "hour"
NOT_GIVEN: Final = "not given"
PAIR_SEPARATOR: Final = " × "
HOLDS_LISTS: Final = "it holds lists or other values that cannot name a segment"
_LABEL_WIDTH: Final = 120
BINS: Final = 4
"""Quantile bins of a column of numbers, and parts of the day."""
# Fewest conversations of a segment, and of its rest, for each side of a comparison.
_SMALLEST: Final = 20
# What the smallest and the largest values of a column are called, where they are not just low and high.
_ENDS: Final = {
    **dict.fromkeys(("n_turns", "duration_s"), ("shortest", "longest")),
    "latency_ms": ("fastest", "slowest"),
}
_LISTS: Final = ("topics", "tags", "issues")


@dataclass(frozen=True)
class Segment:
    """Conversations that have something in common.

    Attributes
    ----------
    label
        What they have in common: a value, a range of numbers or of hours.
    members
        Mask of the rows; empty where an engine has counted them.
    counts
        How many they are, by side and outcome.
    merged
        The values that were merged into it because each had too few rows.
    by_task
        How many they are by task and outcome; None where the logs have no tasks.
    """

    label: str
    members: NDArray[np.bool_]
    counts: NDArray[np.int64]
    merged: tuple[str, ...] = ()
    by_task: NDArray[np.int64] | None = None


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
    totals
        How many these are, by side and outcome.
    exclusive
        Whether a row is in at most one of them; a conversation may be about several topics.
    why_not
        Why the column has no segments to compare; empty where it has.
    ordered
        Whether its segments are bins of numbers, in their order.
    by_task
        How many of ``known`` there are by task and outcome.
    """

    column: str
    segments: tuple[Segment, ...]
    known: NDArray[np.bool_]
    totals: NDArray[np.int64]
    exclusive: bool = True
    why_not: str = ""
    ordered: bool = False
    by_task: NDArray[np.int64] | None = None


def split_of(rows: Rows, name: str) -> Split:
    """Split the rows by a column: numbers into quantile bins; values with few rows are merged into one segment.

    Parameters
    ----------
    rows
        The rows, with a column of texts, true and false, numbers, or (of topics) lists.
    name
        The column.
    """
    column = rows.frame[name]
    missing = column.isna().to_numpy(dtype=bool)
    if missing.all():
        return unused(name, "no conversation has a value")
    if _holds_lists(column):
        if name not in _LISTS:
            return unused(name, HOLDS_LISTS)
        return _split_of_lists(rows, column[~missing], ~missing)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return unused(name, "it holds times")
    kind = column.dtype
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind):
        return replace(_merged(name, _bins(rows, column, missing), rows), ordered=True)
    return _merged(name, _values(rows, column, missing), rows)


def hours(rows: Rows, *, zone: tzinfo) -> Split:
    """Split the rows by the hour of the day at which they began, on the clock of a zone."""
    began = np.full(len(rows.frame), NO_TIME) if rows.began is None else rows.began
    dated = began != NO_TIME
    if not dated.any():
        return unused(HOUR, "no conversation has a time")
    clock = pd.DatetimeIndex(began[dated].view("datetime64[us]"), tz="UTC").tz_convert(zone)
    width = 24 // BINS
    place = np.full(len(began), -1)
    place[dated] = np.asarray(clock.hour) // width
    segments = [
        _segment(f"{at * width:02d}:00 to {(at + 1) * width - 1:02d}:59", place == at, rows)
        for at in range(BINS)
    ]
    return _merged(HOUR, [one for one in segments if one.members.any()], rows)


def pair_of(first: Split, second: Split, rows: Rows) -> Split:
    """Split the rows by two columns at once: every value of the one with every value of the other."""
    name = f"{first.column}{PAIR_SEPARATOR}{second.column}"
    found = [
        _segment(f"{one.label}{PAIR_SEPARATOR}{other.label}", one.members & other.members, rows)
        for one in first.segments
        for other in second.segments
    ]
    return _merged(name, [one for one in found if one.members.any()], rows)


def split_of_topics(reader: Reader, name: str) -> Split:
    """Split the conversations of an engine by their topics in a long table."""
    found = reader.mentioned()
    none = np.zeros(0, bool)
    given = [
        Segment(one_line(title, _LABEL_WIDTH), none, counts)
        for title, counts in zip(found.titles, found.counts, strict=True)
    ]
    small = [title for title, one in zip(found.titles, given, strict=True) if one.counts.sum() < _SMALLEST]

    def together(label: str, merged: tuple[str, ...], _: Sequence[Segment]) -> Segment:
        return Segment(label, none, reader.mentioned(small).counts[0], merged)

    if not int(found.everyone.sum()):
        return unused(name, "no conversation has a value")
    return replace(_merge(name, given, none, found.everyone, together), exclusive=False)


def unused(name: str, why: str) -> Split:
    """Return a column without segments, and why."""
    return Split(name, (), np.zeros(0, bool), np.zeros((1, 2), np.int64), why_not=why)


def _segment(label: str, members: NDArray[np.bool_], rows: Rows, merged: tuple[str, ...] = ()) -> Segment:
    return Segment(label, members, rows.count(members), merged, rows.count_tasks(members))


def _holds_lists(column: pd.Series[Any]) -> bool:
    if not (pd.api.types.is_object_dtype(column.dtype) or isinstance(column.dtype, pd.ArrowDtype)):
        return False
    return any(isinstance(value, list | tuple | dict | set | np.ndarray) for value in column.dropna())


def _split_of_lists(rows: Rows, column: pd.Series[Any], known: NDArray[np.bool_]) -> Split:
    name = str(column.name)
    found = find_mentions(column, name)
    place = np.flatnonzero(known)
    segments = []
    for number, title in enumerate(found.titles):
        members = np.zeros(len(known), bool)
        members[place[found.row[found.title == number]]] = True
        segments.append(_segment(one_line(title, _LABEL_WIDTH), members, rows))
    return replace(_merged(name, segments, rows, known), exclusive=False)


def _values(rows: Rows, column: pd.Series[Any], missing: NDArray[np.bool_]) -> list[Segment]:
    """Make a segment of each value; values that look alike on one line are one."""
    codes, values = pd.factorize(column.astype(object))
    labels = [one_line(_word(value), _LABEL_WIDTH) or "(empty)" for value in values]
    places, different = pd.factorize(np.array(labels, dtype=object))
    group = np.where(codes < 0, -1, places[codes])
    segments = [_segment(str(label), group == place, rows) for place, label in enumerate(different)]
    return [*segments, *([_segment(NOT_GIVEN, missing, rows)] if missing.any() else [])]


def _word(value: Any) -> Any:
    return ("no", "yes")[bool(value)] if isinstance(value, bool | np.bool_) else value


def _bins(rows: Rows, column: pd.Series[Any], missing: NDArray[np.bool_]) -> list[Segment]:
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    given = rows.edges.get(str(column.name))
    edges, highest = (_edges(numbers, rows.weight), numbers) if given is None else given
    place = np.where(missing, -1, np.searchsorted(edges, numbers, side="left"))
    words: dict[int, str] = {}
    if len(edges) + 1 == BINS:
        first, last = _ENDS.get(str(column.name), ("lowest", "highest"))
        words = {0: f"{first} quarter", BINS - 1: f"{last} quarter"}
    segments = []
    for at in range(len(edges) + 1):
        members = place == at
        if members.any():
            label = _range(float(numbers[members].min()), float(highest[members].max()))
            segments.append(_segment(f"{words[at]} ({label})" if at in words else label, members, rows))
    return [*segments, *([_segment(NOT_GIVEN, missing, rows)] if missing.any() else [])]


def _edges(numbers: NDArray[np.float64], weight: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Return the borders between quantile bins: numbers that occur."""
    # Infinite numbers have a place in the order, but no quantile.
    finite = np.isfinite(numbers)
    values = numbers[finite]
    if not len(values):
        return np.zeros(0)
    shares = np.arange(1, BINS) / BINS
    if weight is None:
        return np.unique(np.quantile(values, shares, method="lower"))
    order = np.argsort(values)
    after = np.cumsum(weight[finite][order])
    ranks = np.floor((after[-1] - 1) * shares)
    return np.unique(values[order][np.searchsorted(after, ranks, side="right")])


def _range(low: float, high: float) -> str:
    ends = dict.fromkeys(
        f"{end:,.0f}" if end.is_integer() or abs(end) >= 1_000 else f"{end:,.4g}" for end in (low, high)
    )
    return " to ".join(ends)


def _merged(name: str, given: list[Segment], rows: Rows, known: NDArray[np.bool_] | None = None) -> Split:
    """Merge the segments that are too small, and say when nothing is left to compare."""
    if known is None:
        known = np.logical_or.reduce([np.zeros(len(rows.frame), bool), *(one.members for one in given)])

    def together(label: str, merged: tuple[str, ...], small: Sequence[Segment]) -> Segment:
        return _segment(label, np.logical_or.reduce([one.members for one in small]), rows, merged)

    split = _merge(name, given, known, rows.count(known), together)
    return replace(split, by_task=rows.count_tasks(known))


def _merge(
    name: str,
    given: list[Segment],
    known: NDArray[np.bool_],
    totals: NDArray[np.int64],
    together: Callable[[str, tuple[str, ...], Sequence[Segment]], Segment],
) -> Split:
    if not given:
        return unused(name, "no conversation has a value")
    nothing, smallest = Split(name, (), known, totals), _SMALLEST * len(totals)
    sizes = [int(one.counts.sum()) for one in given]
    large = [one for one, size in zip(given, sizes, strict=True) if size >= smallest]
    small = [one for one, size in zip(given, sizes, strict=True) if size < smallest]
    if len(small) == 1 and not large:
        return replace(nothing, why_not=f"fewer than {smallest} conversations have a value")
    if len(small) == 1:
        large.append(small[0])
    elif small:
        merged = tuple(one.label for one in small)
        large.append(together(f"other ({len(small):,} values)", merged, small))
    if len(given) == 1 and sizes[0] == int(totals.sum()):
        return replace(nothing, why_not="all conversations have the same value")
    largest = int(totals.sum()) - smallest
    kept = tuple(one for one in large if smallest <= int(one.counts.sum()) <= largest)
    if not kept:
        return replace(nothing, why_not=f"no value has {smallest} conversations, with as many in the rest")
    return Split(name, kept, known, totals)


def rank_correlation(first: Split, second: Split, rows: Rows) -> float:
    """Compute Spearman's rank correlation of the bins of two columns of numbers; 0 where too few rows have both."""
    places = []
    for split in (first, second):
        place = np.full(len(rows.frame), np.nan)
        bins = [one for one in split.segments if one.label != NOT_GIVEN and not one.merged]
        for at, one in enumerate(bins):
            place[one.members] = at
        places.append(place)
    both = ~np.isnan(places[0]) & ~np.isnan(places[1])
    weight = np.ones(len(both)) if rows.weight is None else rows.weight.astype(np.float64)
    weight = weight[both]
    ranks = []
    for place in places:
        size = np.bincount(place[both].astype(np.intp), weights=weight)
        ranks.append((np.cumsum(size) - size / 2.0)[place[both].astype(np.intp)])
    if not both.any() or any(np.ptp(one) == 0.0 for one in ranks):
        return 0.0
    covariance = np.cov(ranks, aweights=weight, ddof=0)
    return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))
