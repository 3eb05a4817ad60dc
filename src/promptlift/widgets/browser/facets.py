"""What conversations can be filtered and sorted by: verdicts, prompt, model, issues, topics, metadata, time, numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.schema.inert import one_line
from promptlift.schema.insights import SENTIMENTS
from promptlift.schema.metadata import is_metadata_column, key_of_column
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["NOT_JUDGED", "Facet", "Order", "facets_in", "orders_in", "titles_in"]

NOT_JUDGED: Final = "not judged"
_VALUES_OFFERED: Final = 100
# A column with more values than this tells conversations apart instead of grouping them: an id, say.
_MOST_METADATA_VALUES: Final = 50
_MOST_METADATA: Final = 6
# Column, and the words for its largest and its smallest values first.
_ORDERS: Final = (
    ("time", "Newest first", "Oldest first"),
    ("n_turns", "Most messages first", "Fewest messages first"),
    ("tokens", "Most tokens first", "Fewest tokens first"),
    ("cost", "Highest cost first", "Lowest cost first"),
    ("latency_ms", "Slowest first", "Fastest first"),
    ("quality", "Highest quality first", "Lowest quality first"),
    ("sentiment_score", "Highest sentiment first", "Lowest sentiment first"),
)


@dataclass(frozen=True, slots=True)
class Facet:
    """One thing to filter by: its values, and the places of the conversations that have each."""

    key: str
    label: str
    values: tuple[str, ...]
    places: tuple[NDArray[np.intp], ...]

    def choices(self) -> list[tuple[Any, str]]:
        """Return the choices of a filter: each value with its count."""
        counts = zip(self.values, map(len, self.places), strict=True)
        words = [f"{one_line(value, 120) or '(empty)'} ({n:,})" for value, n in counts]
        return [("", "any"), *enumerate(words)]


@dataclass(frozen=True, slots=True)
class Order:
    """One way to sort: its words, and the rank of each place."""

    words: str
    ranks: NDArray[np.intp]


def facets_in(
    frame: pd.DataFrame, completions: Sequence[str] | None, sentiments: Sequence[str] | None
) -> list[Facet]:
    """Return what the conversations of a table can be filtered by; a column of one value divides nothing."""
    verdicts = [
        _facet(key, label, ([one] for one in values), (*order, NOT_JUDGED))
        for key, label, values, order in (
            ("task_completed", "completion", completions, ("completed", "not completed")),
            ("sentiment", "sentiment", sentiments, SENTIMENTS[::-1]),
        )
        if values is not None
    ]
    columns = [
        _facet(name, label, map(read, frame[name]))
        for name, label, read in (
            ("issues", "issue", titles_in),
            ("prompt", "prompt", _single),
            ("llm_model", "model", _single),
            ("topics", "topic", titles_in),
        )
        if name in frame
    ]
    metadata = [
        _facet(name, key_of_column(name), map(_single, frame[name]))
        for name in map(str, frame.columns)
        if is_metadata_column(name)
    ]
    grouping = [one for one in metadata if 2 <= len(one.values) <= _MOST_METADATA_VALUES][:_MOST_METADATA]
    return [
        one for one in (*verdicts, *columns, *grouping) if any(len(some) < len(frame) for some in one.places)
    ]


def _facet(key: str, label: str, values: Iterable[Sequence[str]], order: Sequence[str] = ()) -> Facet:
    places: dict[str, list[int]] = {}
    for place, several in enumerate(values):
        for value in set(several):
            places.setdefault(value, []).append(place)
    most = sorted(places, key=lambda value: (-len(places[value]), value))[:_VALUES_OFFERED]
    kept = [one for one in order if one in places] or most
    return Facet(key, label, tuple(kept), tuple(np.array(places[one], dtype=np.intp) for one in kept))


def _single(value: Any) -> list[str]:
    if isinstance(value, list | dict | np.ndarray) or is_missing(value):
        return []
    return [str(value).lower() if isinstance(value, bool | np.bool_) else str(value)]


def titles_in(value: Any) -> list[str]:
    """Return the titles of issues or topics; a missing cell has none."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return []
    found = [one.get("title") if isinstance(one, dict) else one for one in value]
    return [str(one) for one in found if not is_missing(one)]


def orders_in(frame: pd.DataFrame, times: pd.Series[Any]) -> list[Order]:
    """Return the ways to sort a table; that of the table itself comes first."""
    found = [Order("In the order of the table", np.arange(len(frame), dtype=np.intp))]
    for name, largest, smallest in _ORDERS:
        if name == "time":
            values: Any = times.astype("int64").where(times.notna()).astype("float64")
        elif name in frame:
            values = pd.to_numeric(frame[name], errors="coerce").astype("float64")
        else:
            continue
        if values.nunique() < 2:
            continue
        # What is not known comes last either way.
        for words, ascending in ((largest, False), (smallest, True)):
            ranks = values.rank(method="first", ascending=ascending, na_option="bottom")
            found.append(Order(words, ranks.to_numpy(dtype=np.intp) - 1))
    return found
