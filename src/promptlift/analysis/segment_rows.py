"""The rows that segments are made of: those of a table here, or counted by an engine column by column."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
    known_number,
    named,
    open_table,
    with_instant,
)
from promptlift.analysis.long_mentions import SEVERITY, TITLE
from promptlift.analysis.mentions import count_mentioned
from promptlift.analysis.outcomes import outcome_codes
from promptlift.analysis.period_counts import NO_TIME
from promptlift.analysis.periods import grain
from promptlift.analysis.reading import names_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from numpy.typing import NDArray

BEGAN: Final = "_began"
_HIGH: Final = "_high"


@dataclass(frozen=True)
class Rows:
    """Conversations with a known outcome, each standing for ``weight`` of them (one each when it is None).

    Attributes
    ----------
    frame
        The columns to split by.
    code
        Of each row twice the number of its side, plus one where the outcome is true.
    sides
        How many sides there are; 1 where nothing is compared.
    weight
        How many conversations each row stands for.
    began
        When each began, in microseconds since 1970 UTC; None where no time is known or needed.
    task
        Number of the task of each row, ``tasks`` for those without one; None where the logs have no tasks.
    tasks
        How many tasks there are.
    edges
        Of a column of numbers that an engine has counted in bins: the borders of the bins, and the largest number of each row's bin.
    """

    frame: pd.DataFrame
    code: NDArray[np.intp]
    sides: int = 1
    weight: NDArray[np.int64] | None = None
    began: NDArray[np.int64] | None = None
    task: NDArray[np.intp] | None = None
    tasks: int = 0
    edges: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=dict)

    def count(self, members: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count rows by side and outcome: one row a side, those not completed before those completed."""
        weight = None if self.weight is None else self.weight[members]
        counts = np.bincount(self.code[members], weights=weight, minlength=2 * self.sides)
        return counts.astype(np.int64).reshape(self.sides, 2)

    def count_tasks(self, members: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """Count rows by task and outcome, those without a task last; None where the logs have no tasks."""
        if self.task is None:
            return None
        weight = None if self.weight is None else self.weight[members]
        place = 2 * self.task[members] + self.code[members] % 2
        counts = np.bincount(place, weights=weight, minlength=2 * (self.tasks + 1))
        return counts.astype(np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class Mentioned:
    """Conversations by what they mention, counted by an engine: of each title and of all, by side and outcome."""

    titles: list[str]
    counts: NDArray[np.int64]
    everyone: NDArray[np.int64]


def judged_outcomes(frame: pd.DataFrame, outcome: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows have a known outcome, and which are true.

    Raises
    ------
    ValueError
        When the column does not hold true and false.
    """
    if outcome == "task_completed":
        codes = outcome_codes(frame)
        return np.asarray(codes >= 2), np.asarray(codes == 3)
    try:
        column = frame[outcome].astype("boolean")
    except (TypeError, ValueError):
        raise ValueError(
            f"Column {outcome} holds {frame[outcome].dtype}, not true and false. Segments compare rates: make a "
            f"column of true and false first, such as df[{outcome!r}] > df[{outcome!r}].median()."
        ) from None
    return column.notna().to_numpy(dtype=bool), column.to_numpy(dtype=bool, na_value=False)


def rows_of(
    frame: pd.DataFrame,
    outcome: str,
    *,
    side: tuple[str, Any] | None = None,
    began: Any = None,
    task: str | None = None,
) -> Rows:
    """Select the rows of a pandas table with a known outcome; see `Rows`."""
    judged, done = judged_outcomes(frame, outcome)
    code = done[judged].astype(np.intp)
    if side is not None:
        code = code + 2 * (frame[side[0]] == side[1]).to_numpy(dtype=bool, na_value=False)[judged]
    weight = frame[ROWS].to_numpy(np.int64)[judged] if ROWS in frame else None
    kept = None if began is None else began[judged]
    rows = Rows(frame[judged], code, 1 if side is None else 2, weight, kept)
    if task is None:
        return rows
    column = rows.frame[task]
    codes, names = pd.factorize(column.astype("str").where(column.notna()))
    return replace(rows, task=np.where(codes < 0, len(names), codes), tasks=len(names))


@dataclass(frozen=True)
class EngineRows:
    """Conversations that live in an engine, which counts them column by column.

    Attributes
    ----------
    table
        The conversations.
    outcome
        Column of true and false.
    zone
        Zone whose clock says the hour.
    bins
        Into how many quantile bins numbers are cut.
    times
        Columns of the time.
    side
        Column and value of what is compared, where something is.
    topics
        Long table of topics; None without one.
    among
        Column and the values that count, where not all do.
    task
        Column of the task that several conversations share; None without one.
    """

    table: Any
    outcome: str
    zone: tzinfo
    bins: int
    times: Sequence[str]
    side: tuple[str, Any] | None = None
    topics: Any = None
    among: tuple[str, Sequence[Any]] | None = None
    task: str | None = None

    @cached_property
    def keys(self) -> list[str]:
        """The columns that say the outcome and the side."""
        status = self.outcome == "task_completed" and "status" in names_of(self.table)
        return [
            self.outcome,
            *(["status"] if status else []),
            *([self.side[0]] if self.side else []),
        ]

    @cached_property
    def opened(self) -> nw.LazyFrame[Any]:
        """The conversations with a known outcome."""
        return open_table(self.table).filter(self.known)

    @cached_property
    def known(self) -> nw.Expr:
        """Whether a conversation has a known outcome and counts."""
        known = ~nw.col(named(self.outcome)).is_null()
        if "status" in self.keys:
            running = (nw.col("status").cast(nw.String()) == "in_progress").fill_null(value=False)
            known = known & ~running
        if self.among is not None:
            known = known & nw.col(named(self.among[0])).is_in(list(self.among[1])).fill_null(value=False)
        return known

    @cached_property
    def schema(self) -> Any:
        """The types of the columns."""
        return self.opened.collect_schema()

    def kind(self, name: str) -> Any:
        """Return the type of a column."""
        return self.schema[named(name)]

    def whole(self) -> Rows:
        """Count the conversations by outcome alone."""
        return self.read([])

    def read(self, names: Sequence[str], *, hour: str = "") -> Rows:
        """Count the conversations by some columns together; ``hour`` names that of the time, where it is one of them."""
        frame, keys = self.opened, [*self.keys, *([self.task] if self.task else [])]
        extra: dict[str, nw.Expr] = {}
        edges: dict[str, NDArray[np.float64]] = {}
        binned: dict[str, str] = {}
        for place, name in enumerate(names):
            if name == hour:
                frame = with_instant(frame, list(self.times), BEGAN)
                frame = frame.with_columns(floored(BEGAN, grain(self.zone, "h")).alias(BEGAN))
                keys.append(BEGAN)
            elif self.kind(name).is_numeric():
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
        rows = rows_of(counted, self.outcome, side=self.side, began=began, task=self.task)
        for name, value in binned.items():
            high = rows.frame[f"{value}{_HIGH}"].to_numpy(np.float64, na_value=np.nan)
            rows.edges[name] = (edges[name], high)
        return rows

    def _edges(self, name: str) -> NDArray[np.float64]:
        """Return the borders between the quantile bins of a column of numbers."""
        value = nw.col("_v")
        frame = self.opened.select(_v=finite_number(named(name))).filter(~value.is_null())
        n = int(count_by(frame, [])[ROWS].iloc[0])
        ranks = np.unique(np.floor((n - 1) * np.arange(1, self.bins) / self.bins).astype(np.int64)) + 1
        placed = frame.with_columns(_at=value.rank("ordinal")).filter(nw.col("_at").is_in(ranks.tolist()))
        return np.unique(fetch(placed)["_v"].to_numpy(np.float64))

    def mentioned(self, titles: Sequence[str] | None = None) -> Mentioned:
        """Count the conversations by topic; with ``titles`` those that have any of them, as one topic."""
        long = self.topics
        if titles is not None:
            rows = open_table(long)
            kept = nw.col("topic").str.replace_all(r"\s+", " ").str.strip_chars().is_in(list(titles))
            long = rows.filter(kept).with_columns(nw.lit("other").alias("topic")).to_native()
        mentioned = count_mentioned(self.opened.to_native(), long, "topics", self.keys)
        found = mentioned.found.drop(columns=SEVERITY)
        title, different = pd.factorize(found[TITLE])
        counted = rows_of(found.assign(_title_code=title), self.outcome, side=self.side)
        place = counted.frame["_title_code"].to_numpy(np.intp)
        counts = [counted.count(place == at) for at in range(len(different))]
        everyone = rows_of(mentioned.everyone, self.outcome, side=self.side)
        whole = everyone.count(np.ones(len(everyone.frame), bool))
        return Mentioned(
            [str(one) for one in different], np.array(counts).reshape(-1, everyone.sides, 2), whole
        )
