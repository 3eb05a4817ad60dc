"""The segments of a table's columns, read from its rows or counted by the engine that it lives in."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.engines import (
    ROWS,
    count_by,
    fetch,
    finite_number,
    floored,
    is_remote,
    known_number,
    named,
    open_table,
    with_instant,
)
from promptlift.analysis.long_mentions import SEVERITY, TITLE, check_engines, judged_here, read_mentions
from promptlift.analysis.mentions import count_mentioned
from promptlift.analysis.periods import grain
from promptlift.analysis.reading import NO_TIME, started
from promptlift.analysis.segment_columns import (
    BINS,
    HOLDS_LISTS,
    HOUR,
    Split,
    hours,
    pair_of,
    rank_correlation,
    split_of,
    split_of_topics,
    unused,
)
from promptlift.analysis.segment_rows import Rows, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from numpy.typing import NDArray

    from promptlift.analysis.segment_columns import Segment

BEGAN: Final = "_began"
_HIGH: Final = "_high"


@dataclass(frozen=True)
class Mentioned:
    """Conversations by what they mention, counted by an engine: of each title and of all, by side and outcome."""

    titles: list[str]
    counts: NDArray[np.int64]
    everyone: NDArray[np.int64]


@dataclass(frozen=True)
class Reader:
    """The table to split, its outcome and the way of splitting; see `splits_of`."""

    table: Any
    outcome: str
    zone: tzinfo
    times: Sequence[str]
    side: tuple[str, Any] | None
    topics: Any
    present: Sequence[str]
    task: str | None = None

    def split(self, name: str) -> Split:
        """Split by a column."""
        if self._is_remote and not self._is_hour(name):
            if name == "topics" and self.topics is not None:
                return split_of_topics(self, name)
            kind = self._kind(name)
            if name == "topics" and isinstance(kind, nw.List | nw.Array):
                long = "topics=snapshot.scan('topics', engine=…)"
                return unused(name, f"its lists would have to be read whole: pass the long table, {long}")
            if isinstance(kind, nw.List | nw.Array | nw.Struct):
                return unused(name, HOLDS_LISTS)
            if isinstance(kind, nw.Datetime | nw.Date | nw.Duration):
                return unused(name, "it holds times")
        return self._split(self._read([name]), name)

    def pair(self, first: Split, second: Split) -> Split:
        """Split by two columns together."""
        rows, (one, other) = self._together(first, second)
        return pair_of(one, other, rows)

    def rank_correlation(self, first: Split, second: Split) -> float:
        """Return the rank correlation of the bins of two columns of numbers."""
        rows, (one, other) = self._together(first, second)
        return rank_correlation(one, other, rows)

    def everyone(self) -> NDArray[np.int64]:
        """Count all conversations by side and outcome."""
        rows = self._read([])
        return rows.count(np.ones(len(rows.frame), bool))

    def same(self, used: Sequence[Split]) -> list[int]:
        """Assign a number to each segment, one number for those that are the same conversations or each other's rest.

        Only segments with the same counts can be, so in an engine only these are counted together to see.
        """
        if not self._is_remote:
            place: dict[frozenset[bytes], int] = {}
            return [place.setdefault(_key(split, one), len(place)) for split, one in _all(used)]
        alike: dict[frozenset[bytes], list[tuple[int, Split, Segment]]] = defaultdict(list)
        numbers: list[int] = []
        free = 0
        for split, one in _all(used):
            rest = split.totals - one.counts
            candidates = alike[frozenset((one.counts.tobytes(), rest.tobytes()))]
            known = next((at for at, *other in candidates if self._is_same((split, one), other)), None)
            numbers.append(free if known is None else known)
            free += known is None
            candidates.append((numbers[-1], split, one))
        return numbers

    def _is_same(self, one: Sequence[Any], other: Sequence[Any]) -> bool:
        (split, segment), (other_split, other_segment) = one, other
        if not len(segment.members) or not len(other_segment.members):
            return False  # topics: conversations about both are not counted
        if split.column == other_split.column:
            return _key(split, segment) == _key(other_split, other_segment)
        # A pair of columns is never looked at: its segments are parts of those of its columns.
        if any(
            name not in self.present and not self._is_hour(name)
            for name in (split.column, other_split.column)
        ):
            return False
        _, again = self._together(split, other_split)
        wanted = (segment.label, other_segment.label)
        keys = [
            _key(whole, found)
            for whole, label in zip(again, wanted, strict=True)
            for found in whole.segments
            if found.label == label
        ]
        return len(keys) == 2 and keys[0] == keys[1]

    def mentioned(self, titles: Sequence[str] | None = None) -> Mentioned:
        """Count the conversations by topic; with ``titles`` those that have any of them, as one topic."""
        long = self.topics
        if titles is not None:
            rows = open_table(long)
            kept = nw.col("topic").str.replace_all(r"\s+", " ").str.strip_chars().is_in(list(titles))
            long = rows.filter(kept).with_columns(nw.lit("other").alias("topic")).to_native()
        mentioned = count_mentioned(self._opened.to_native(), long, "topics", self._keys)
        found = mentioned.found.drop(columns=SEVERITY)
        title, different = pd.factorize(found[TITLE])
        counted = rows_of(found.assign(_title_code=title), self.outcome)
        place = counted.frame["_title_code"].to_numpy(np.intp)
        counts = [counted.count(place == at) for at in range(len(different))]
        everyone = rows_of(mentioned.everyone, self.outcome)
        whole = everyone.count(np.ones(len(everyone.frame), bool))
        return Mentioned([str(one) for one in different], np.array(counts).reshape(-1, 1, 2), whole)

    @cached_property
    def _is_remote(self) -> bool:
        if self.topics is not None:
            check_engines(self.table, self.topics, "topics")
        return is_remote(self.table)

    def _is_hour(self, name: str) -> bool:
        """Return whether the hour of the day is meant, and not a column of that name."""
        return name == HOUR and HOUR not in self.present

    def _split(self, rows: Rows, name: str) -> Split:
        if self._is_hour(name):
            return hours(rows, zone=self.zone)
        return split_of(rows, name)

    def _together(self, *splits: Split) -> tuple[Rows, list[Split]]:
        """Read the columns of some splits together, and split these rows by each of them."""
        if not self._is_remote:
            return self._rows, list(splits)
        rows = self._read([one.column for one in splits])
        return rows, [self._split(rows, one.column) for one in splits]

    def _read(self, names: Sequence[str]) -> Rows:
        return self._counted(names) if self._is_remote else self._rows

    @cached_property
    def _rows(self) -> Rows:
        """The rows with a known outcome; a long table of topics becomes a column of lists."""
        frame = self.table
        if self.topics is not None:
            frame = frame.assign(topics=_lists(frame, self.topics))
        began = started(frame, self.times) if self.times else None
        return rows_of(frame, self.outcome, side=self.side, began=began, task=self.task)

    @cached_property
    def _keys(self) -> list[str]:
        """The columns that say the outcome."""
        status = self.outcome == "task_completed" and "status" in self.present
        return [self.outcome, *(["status"] if status else [])]

    @cached_property
    def _opened(self) -> nw.LazyFrame[Any]:
        """The conversations of an engine with a known outcome."""
        known = ~nw.col(named(self.outcome)).is_null()
        if "status" in self._keys:
            known = known & ~(nw.col("status").cast(nw.String()) == "in_progress").fill_null(value=False)
        return open_table(self.table).filter(known)

    def _kind(self, name: str) -> Any:
        return self._opened.collect_schema()[named(name)]

    def _counted(self, names: Sequence[str]) -> Rows:
        """Count the conversations by some columns together."""
        frame, keys = self._opened, [*self._keys, *([self.task] if self.task else [])]
        extra: dict[str, nw.Expr] = {}
        edges: dict[str, NDArray[np.float64]] = {}
        binned: dict[str, str] = {}
        for place, name in enumerate(names):
            if self._is_hour(name):
                frame = with_instant(frame, list(self.times), BEGAN)
                frame = floored(frame, BEGAN, grain(self.zone, "h"))
                keys.append(BEGAN)
            elif self._kind(name).is_numeric():
                edges[name] = self._edges(name)
                value, bin_ = f"_value{place}", f"_bin{place}"
                frame = frame.with_columns(known_number(named(name)).alias(value))
                above = [(nw.col(value) > edge).cast(nw.Int64()) for edge in edges[name].tolist()]
                number = sum(above[1:], above[0]) if above else nw.lit(0)
                frame = frame.with_columns(nw.when(~nw.col(value).is_null()).then(number).alias(bin_))
                keys.append(bin_)
                extra |= {f"{value}_low": nw.col(value).min(), f"{value}{_HIGH}": nw.col(value).max()}
                binned[name] = value
            else:
                keys.append(name)
        counted = count_by(frame, list(dict.fromkeys(keys)), **extra)
        for name, value in binned.items():
            counted[name] = counted[f"{value}_low"].astype(np.float64)
        began = counted[BEGAN].to_numpy(np.int64, na_value=NO_TIME) if BEGAN in counted else None
        rows = rows_of(counted, self.outcome, began=began, task=self.task)
        for name, value in binned.items():
            high = rows.frame[f"{value}{_HIGH}"].to_numpy(np.float64, na_value=np.nan)
            rows.edges[name] = (edges[name], high)
        return rows

    def _edges(self, name: str) -> NDArray[np.float64]:
        """Return the borders between the quantile bins of a column of numbers."""
        value = nw.col("_v")
        frame = self._opened.select(_v=finite_number(named(name))).filter(~value.is_null())
        n = int(count_by(frame, [])[ROWS].iloc[0])
        ranks = np.unique(np.floor((n - 1) * np.arange(1, BINS) / BINS).astype(np.int64)) + 1
        placed = frame.with_columns(_at=value.rank("ordinal")).filter(nw.col("_at").is_in(ranks.tolist()))
        return np.unique(fetch(placed)["_v"].to_numpy(np.float64))


def _all(used: Sequence[Split]) -> Iterator[tuple[Split, Segment]]:
    return ((split, segment) for split in used for segment in split.segments)


def _key(split: Split, segment: Segment) -> frozenset[bytes]:
    """Return what two segments of the same rows share when they are the same, or each other's rest."""
    return frozenset(
        np.packbits(mask).tobytes() for mask in (segment.members, split.known & ~segment.members)
    )


def _lists(frame: pd.DataFrame, topics: Any) -> pd.Series[Any]:
    """Return the topics of each conversation as a list, None where it has no insights."""
    titles, row, title, _ = read_mentions(frame["conversation_id"], topics, "topics")
    cells: list[list[str] | None] = [[] if judged else None for judged in judged_here(frame)]
    for at, code in zip(row.tolist(), title.tolist(), strict=True):
        cell = cells[at]
        if cell is not None:
            cell.append(titles[code])
    return pd.Series(cells, index=frame.index, dtype=object)
