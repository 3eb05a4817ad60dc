"""The segments of a table's columns, read from its rows or counted by the engine it lives in."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.long_mentions import check_engines, judged_here, read_mentions
from promptlift.analysis.period_counts import started
from promptlift.analysis.segment_columns import (
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
from promptlift.analysis.segment_rows import EngineRows, Rows, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from numpy.typing import NDArray

    from promptlift.analysis.segment_columns import Segment


@dataclass(frozen=True)
class _Reader:
    """The table to split, its outcome and the way of splitting; see `splits_of`."""

    table: Any
    outcome: str
    zone: tzinfo
    options: dict[str, int]
    times: Sequence[str]
    side: tuple[str, Any] | None
    topics: Any
    present: Sequence[str]
    among: tuple[str, Sequence[Any]] | None = None
    task: str | None = None

    def is_hour(self, name: str) -> bool:
        """Return whether the hour of the day is meant, and not a column of that name."""
        return name == HOUR and HOUR not in self.present

    def split_rows(self, rows: Rows, name: str) -> Split:
        """Split rows by a column or by the hour."""
        if self.is_hour(name):
            return hours(rows, zone=self.zone, **self.options)
        return split_of(rows, name, **self.options)


class FrameReader(_Reader):
    """Segments of a pandas table, as masks over its rows."""

    @cached_property
    def rows(self) -> Rows:
        """The rows with a known outcome; a long table of topics becomes a column of lists."""
        frame = self.table
        if self.among is not None:
            frame = frame[frame[self.among[0]].isin(list(self.among[1])).to_numpy(dtype=bool)]
        if self.topics is not None:
            check_engines(frame, self.topics, "topics")
            frame = frame.assign(topics=_lists(frame, self.topics))
        began = started(frame, self.times) if self.times else None
        return rows_of(frame, self.outcome, side=self.side, began=began, task=self.task)

    def split(self, name: str) -> Split:
        """Split by a column."""
        return self.split_rows(self.rows, name)

    def pair(self, first: Split, second: Split) -> Split:
        """Split by two columns together."""
        return pair_of(first, second, self.rows, smallest=self.options["smallest"])

    def rank_correlation(self, first: Split, second: Split) -> float:
        """Return the rank correlation of the bins of two columns of numbers."""
        return rank_correlation(first, second, self.rows)

    def everyone(self) -> NDArray[np.int64]:
        """Count all rows by side and outcome."""
        return self.rows.count(np.ones(len(self.rows.frame), bool))

    def same(self, used: Sequence[Split]) -> list[int]:
        """Assign a number to each segment, one number for those that are the same rows or each other's rest."""
        place: dict[frozenset[bytes], int] = {}
        return [place.setdefault(_key(split, one), len(place)) for split, one in _all(used)]


class EngineReader(_Reader):
    """Segments of a table that lives in an engine, which counts each column apart."""

    @cached_property
    def rows(self) -> EngineRows:
        """The conversations in their engine."""
        if self.topics is not None:
            check_engines(self.table, self.topics, "topics")
        bins = self.options["bins"]
        return EngineRows(
            self.table,
            self.outcome,
            self.zone,
            bins,
            self.times,
            self.side,
            self.topics,
            self.among,
            self.task,
        )

    def split(self, name: str) -> Split:
        """Split by a column."""
        if name == "topics" and self.topics is not None:
            return split_of_topics(self.rows, name, smallest=self.options["smallest"])
        if not self.is_hour(name):
            kind = self.rows.kind(name)
            if name == "topics" and isinstance(kind, nw.List | nw.Array):
                long = "topics=snapshot.scan('topics', engine=…)"
                return unused(name, f"its lists would have to be read whole: pass the long table, {long}")
            if isinstance(kind, nw.List | nw.Array | nw.Struct):
                return unused(name, HOLDS_LISTS)
            if isinstance(kind, nw.Datetime | nw.Date | nw.Duration):
                return unused(name, "it holds times")
        return self.split_rows(self._read([name]), name)

    def pair(self, first: Split, second: Split) -> Split:
        """Split by two columns together."""
        rows = self._read([first.column, second.column])
        again = [self.split_rows(rows, split.column) for split in (first, second)]
        return pair_of(again[0], again[1], rows, smallest=self.options["smallest"])

    def rank_correlation(self, first: Split, second: Split) -> float:
        """Return the rank correlation of the bins of two columns of numbers, counted together."""
        rows = self._read([first.column, second.column])
        one, other = (self.split_rows(rows, split.column) for split in (first, second))
        return rank_correlation(one, other, rows)

    def everyone(self) -> NDArray[np.int64]:
        """Count all conversations by side and outcome."""
        rows = self.rows.whole()
        return rows.count(np.ones(len(rows.frame), bool))

    def same(self, used: Sequence[Split]) -> list[int]:
        """Assign a number to each segment, one number for those that are the same conversations or each other's rest.

        Only segments with the same counts can be, so only these are counted together to see.
        """
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
            name not in self.present and not self.is_hour(name) for name in (split.column, other_split.column)
        ):
            return False
        rows = self._read([split.column, other_split.column])
        keys = []
        for wanted, label in ((split, segment.label), (other_split, other_segment.label)):
            again = self.split_rows(rows, wanted.column)
            keys += [_key(again, found) for found in again.segments if found.label == label]
        return len(keys) == 2 and keys[0] == keys[1]

    def _read(self, names: Sequence[str]) -> Rows:
        hour = next((name for name in names if self.is_hour(name)), "")
        return self.rows.read(names, hour=hour)


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
