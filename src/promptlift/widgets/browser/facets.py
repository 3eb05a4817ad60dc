"""What conversations can be filtered and sorted by beside their verdicts: prompt, model, topic, metadata, date, numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.schema.inert import one_line
from promptlift.schema.metadata import is_metadata_column, key_of_column
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from numpy.typing import NDArray

__all__ = ["Facet", "Order", "between", "facets_in", "orders_in", "titles_in"]

_VALUES_OFFERED: Final = 100
# A column with more values than this tells conversations apart instead of grouping them: an id, say.
_MOST_METADATA_VALUES: Final = 50
_MOST_METADATA: Final = 6
_SINGLE: Final = {"prompt": "prompt", "llm_model": "model"}
# Column, whether the judge decides it, and the words for its largest and its smallest values first.
_ORDERS: Final = (
    ("time", False, "Newest first", "Oldest first"),
    ("n_turns", False, "Most messages first", "Fewest messages first"),
    ("tokens", False, "Most tokens first", "Fewest tokens first"),
    ("cost", False, "Highest cost first", "Lowest cost first"),
    ("latency_ms", False, "Slowest first", "Fastest first"),
    ("quality", True, "Highest quality first", "Lowest quality first"),
    ("sentiment_score", True, "Highest sentiment first", "Lowest sentiment first"),
)


@dataclass(frozen=True, slots=True)
class Facet:
    """One thing to filter by: its values, most frequent first, and the places of the conversations that have each."""

    key: str
    label: str
    values: tuple[str, ...]
    places: tuple[NDArray[np.intp], ...]

    def choices(self) -> list[list[Any]]:
        """Return each value as shown, with its count."""
        return [
            [one_line(value, 120) or "(empty)", len(places)]
            for value, places in zip(self.values, self.places, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Order:
    """One way to sort: its words, and the rank of each place."""

    words: str
    ranks: NDArray[np.intp]


def facets_in(frame: pd.DataFrame, *, blind: bool) -> list[Facet]:
    """Return what the conversations of a table can be filtered by; a column of one value divides nothing.

    Parameters
    ----------
    frame
        The conversations.
    blind
        Whether to leave out what the judge says: the topics.
    """
    found = [
        _facet(column, label, _single(frame[column])) for column, label in _SINGLE.items() if column in frame
    ]
    if "topics" in frame and not blind:
        found.append(_facet("topics", "topic", [titles_in(value) for value in frame["topics"]]))
    metadata = [
        _facet(str(name), key_of_column(str(name)), _single(frame[name]))
        for name in frame.columns
        if is_metadata_column(str(name))
    ]
    found += [one for one in metadata if 2 <= len(one.values) <= _MOST_METADATA_VALUES][:_MOST_METADATA]
    return [one for one in found if len(one.values) > 1]


def _facet(key: str, label: str, values: Iterable[Sequence[str]]) -> Facet:
    places: dict[str, list[int]] = {}
    for place, several in enumerate(values):
        for value in set(several):
            places.setdefault(value, []).append(place)
    kept = sorted(places, key=lambda value: (-len(places[value]), value))[:_VALUES_OFFERED]
    return Facet(key, label, tuple(kept), tuple(np.array(places[one], dtype=np.intp) for one in kept))


def _single(column: pd.Series[Any]) -> list[list[str]]:
    return [
        []
        if isinstance(value, list | dict | np.ndarray) or is_missing(value)
        else [str(value).lower() if isinstance(value, bool | np.bool_) else str(value)]
        for value in column
    ]


def titles_in(value: Any) -> list[str]:
    """Return the titles of issues or topics; a missing cell has none."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return []
    found = [one.get("title") if isinstance(one, dict) else one for one in value]
    return [str(one) for one in found if not is_missing(one)]


def orders_in(frame: pd.DataFrame, times: pd.Series[Any], *, blind: bool) -> list[Order]:
    """Return the ways to sort a table; that of the table itself comes first."""
    found = [Order("In the order of the table", np.arange(len(frame), dtype=np.intp))]
    for name, judged, largest, smallest in _ORDERS:
        if name == "time":
            values: Any = times.astype("int64").where(times.notna()).astype("float64")
        elif name in frame and not (judged and blind):
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


def between(times: pd.Series[Any], since: date | None, until: date | None) -> NDArray[np.bool_]:
    """Return which times lie on these days or between them, in UTC; an unknown time lies on none."""
    keep = times.notna().to_numpy()
    if since is not None:
        keep = keep & (times >= pd.Timestamp(since, tz="UTC")).to_numpy(dtype=bool, na_value=False)
    if until is not None:
        end = pd.Timestamp(until, tz="UTC") + pd.Timedelta(days=1)
        keep = keep & (times < end).to_numpy(dtype=bool, na_value=False)
    return np.asarray(keep, dtype=bool)
