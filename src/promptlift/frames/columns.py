"""From columns to tables: the dtype of each column, its values from decoded JSON, and the DataFrame."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.schema.naming import LINKS, link_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptlift.schema.columns import TableColumn

try:
    import pyarrow as pa
except ModuleNotFoundError:  # only snapshots require it; with it, tables of texts are built faster
    pa = None

Row = dict[str, Any]

PART_ROWS: Final = 5_000
_CACHED_ROWS: Final = 64

TIME_DTYPE: Final = pd.DatetimeTZDtype("us", "UTC")


_DTYPES: Final[dict[str, Any]] = {
    "text": "str",
    "boolean": "boolean",
    "time": TIME_DTYPE,
    "float": "float64",
    "integer": "Int64",
    "texts": "object",
    "records": "object",
    "record": "object",
}


def dtype_of(column: TableColumn) -> Any:
    """Return the pandas dtype of a column, also used for empty tables."""
    if column.kind == "category":
        return pd.CategoricalDtype(list(column.categories))
    return _DTYPES[column.kind]


def values_of(columns: Sequence[TableColumn], rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Extract the values of columns from decoded JSON.

    Parameters
    ----------
    columns
        Columns of a table; those without a path are left out.
    rows
        One object a row.

    Returns
    -------
    dict
        Column name to a list with one value per row, ``None`` if missing.
    """
    objects: dict[tuple[str, ...], Sequence[Row]] = {(): rows}
    values: dict[str, list[Any]] = {}
    by_parents: dict[tuple[str, ...], list[TableColumn]] = {}
    for column in columns:
        if column.path:
            by_parents.setdefault(column.path[:-1], []).append(column)
    for parents, children in by_parents.items():
        taken = _taken([column.path[-1] for column in children], _objects_at(parents, objects))
        for column, found in zip(children, taken, strict=True):
            values[column.name] = _links(found, rows) if column.path == _LINK else found
    return values


_LINK: Final = (LINKS[0],)
_NOTHING: Final[Row] = {}


def _taken(names: Sequence[str], objects: Sequence[Row]) -> list[list[Any]]:
    """Extract the values of each object, one list per name.

    All values of an object together, a few objects at a time, so that they stay in the processor's cache.
    """
    taken: list[list[Any]] = [[] for _ in names]
    take = itemgetter(*names, names[0])  # always a tuple
    for start in range(0, len(objects), _CACHED_ROWS):
        some = objects[start : start + _CACHED_ROWS]
        found: list[tuple[Any, ...]]
        try:
            found = list(map(take, some))
        except KeyError:
            found = [tuple(map(one.get, names)) for one in some]
        for values, more in zip(taken, zip(*found, strict=True), strict=False):
            values.extend(more)
    return taken


def _objects_at(path: tuple[str, ...], known: dict[tuple[str, ...], Sequence[Row]]) -> Sequence[Row]:
    """Extract the nested object of each row; objects shared by several columns are extracted once."""
    if path not in known:
        (found,) = _taken([path[-1]], _objects_at(path[:-1], known))
        known[path] = [one if isinstance(one, dict) else _NOTHING for one in found]
    return known[path]


def _links(links: list[Any], rows: Sequence[Row]) -> list[Any]:
    return [link_of(row) for row in rows] if None in links else links


def read_table(
    columns: Sequence[TableColumn], rows: Sequence[Row], **computed: list[Any]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make a table from decoded JSON.

    Parameters
    ----------
    columns
        Columns of the table, in order.
    rows
        One object a row.
    **computed
        Values of columns that do not come from the rows, one list each.

    Returns
    -------
    tuple
        The table, and counts of unusable values by column.
    """
    invalid = InvalidCounts()
    given = [column for column in columns if column.name not in computed]
    return build(columns, values_of(given, rows) | computed, invalid), invalid.as_dict()


@dataclass(slots=True)
class InvalidCounts:
    """Counts of values that could not be used and became missing, by column."""

    counts: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, int]:
        """Return the nonzero counts by column."""
        return {name: count for name, count in self.counts.items() if count}


def build(
    columns: Sequence[TableColumn], values: Mapping[str, list[Any]], invalid: InvalidCounts
) -> pd.DataFrame:
    """Make a table from one list per column; a value of the wrong type becomes missing and is counted."""
    data = {column.name: series(column, values[column.name], invalid) for column in columns}
    return pd.DataFrame(data, copy=False)


class Parts:
    """A table built part by part, so that decoded rows need not be held until all have arrived.

    Parameters
    ----------
    make
        Function that makes the table of some rows, with counts of unusable values by column.
    """

    def __init__(self, make: Callable[[list[Any]], tuple[pd.DataFrame, dict[str, int]]]) -> None:
        self._make = make
        self._parts: list[pd.DataFrame] = []
        self._counts: Counter[str] = Counter()

    def add(self, rows: list[Any]) -> None:
        """Make the table of further rows."""
        for start in range(0, max(1, len(rows)), PART_ROWS):
            frame, counts = self._make(rows[start : start + PART_ROWS])
            self._parts.append(frame)
            self._counts.update(counts)

    def whole(self) -> tuple[pd.DataFrame, dict[str, int]]:
        """Return the table of all rows, and the counts."""
        parts = [part for part in self._parts if len(part)] or self._parts[:1]
        frame = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
        return frame, {name: count for name, count in self._counts.items() if count}


def series(column: TableColumn, values: list[Any], invalid: InvalidCounts) -> pd.Series[Any]:
    """Make one column."""
    if values.count(None) == len(values):
        # Many fields are always empty: without this they would take as long as the others.
        return _nothing(dtype_of(column), len(values))
    if column.kind == "category":
        return _category(column, values, invalid)
    array, bad = _MAKERS[column.kind](values)
    invalid.counts[column.name] += bad
    made: pd.Series[Any] = pd.Series(array, dtype=_DTYPES[column.kind], copy=False)
    return made


def _nothing(dtype: Any, size: int) -> pd.Series[Any]:
    """Make a column in which everything is missing."""
    cells: Any = None if dtype != "float64" else np.nan
    if dtype == "object":
        cells = np.full(size, None, dtype=object)
    made: pd.Series[Any] = pd.Series(cells, index=pd.RangeIndex(size), dtype=dtype, copy=False)
    return made


def _category(column: TableColumn, values: list[Any], invalid: InvalidCounts) -> pd.Series[Any]:
    codes: dict[Any, int] = {name: code for code, name in enumerate(column.categories)} | {None: -1}
    if set(map(type, values)) <= _TEXT:
        kept = [codes.get(value, -2) for value in values]
    else:
        kept = [codes.get(value, -2) if value is None or type(value) is str else -2 for value in values]
    found = np.array(kept, dtype=np.int8)
    invalid.counts[column.name] += int((found == -2).sum())
    found[found < 0] = -1
    return pd.Series(pd.Categorical.from_codes(found, dtype=dtype_of(column)), copy=False)


# The largest integer up to which every JSON reader is exact.
_EXACT: Final = 2**53
# The types from JSON, of which there are no subclasses.
_TEXT: Final[frozenset[type]] = frozenset({str, type(None)})
_BOOLEAN: Final[frozenset[type]] = frozenset({bool, type(None)})
_NUMBER: Final[frozenset[type]] = frozenset({int, float, type(None)})
_LIST: Final[frozenset[type]] = frozenset({list, type(None)})
_OBJECT: Final[frozenset[type]] = frozenset({dict, type(None)})


def _typed(values: list[Any], allowed: frozenset[type]) -> tuple[list[Any], int]:
    """Replace values of other types by ``None`` and count them; columns are nearly always valid as a whole."""
    if set(map(type, values)) <= allowed:
        return values, 0
    kept = [value if type(value) in allowed else None for value in values]
    return kept, sum(1 for value, one in zip(values, kept, strict=True) if one is None and value is not None)


def _texts(values: list[Any]) -> tuple[Any, int]:
    kept, bad = _typed(values, _TEXT)
    if pa is None:
        return pd.array(kept, dtype="str"), bad
    # Arrow's own allocator keeps the memory that long texts needed briefly; the system's returns it.
    made = pa.array(kept, pa.large_string(), memory_pool=pa.system_memory_pool())
    dtype: Any = pd.StringDtype("pyarrow", na_value=np.nan)  # "str"
    return dtype.__from_arrow__(made), bad


def _booleans(values: list[Any]) -> tuple[Any, int]:
    kept, bad = _typed(values, _BOOLEAN)
    return pd.array(kept, dtype="boolean"), bad


def _floats(values: list[Any]) -> tuple[Any, int]:
    kept, bad = _typed(values, _NUMBER)
    return np.array([np.nan if value is None else value for value in kept], dtype=np.float64), bad


def _integers(values: list[Any]) -> tuple[Any, int]:
    kept, bad = _typed(values, _NUMBER)
    if float not in set(map(type, kept)):
        missing = np.fromiter((value is None for value in kept), np.bool_, len(kept))
        try:
            # Nearly always all are small integers, which need no individual check.
            whole = np.fromiter((value or 0 for value in kept), np.int64, len(kept))
        except OverflowError:
            pass
        else:
            if not len(whole) or max(-int(whole.min()), int(whole.max())) <= _EXACT:
                return pd.arrays.IntegerArray(whole, missing), bad
    found = [int(value) if value is not None and _is_integer(value) else None for value in kept]
    bad += sum(1 for value, one in zip(kept, found, strict=True) if one is None and value is not None)
    return pd.array(found, dtype="Int64"), bad


def _is_integer(value: float) -> bool:
    return -_EXACT <= value <= _EXACT and value == int(value)


def _times(values: list[Any]) -> tuple[Any, int]:
    kept, bad = _typed(values, _TEXT)
    if pa is not None:
        try:
            # Three times as fast as pandas, but strict: with one unusual text pandas reads them all.
            exact = pa.array(kept, pa.string()).cast(pa.timestamp("us", "UTC"))
        except (pa.ArrowInvalid, UnicodeEncodeError):
            pass
        else:
            return pd.DatetimeIndex(exact.to_numpy(zero_copy_only=False), tz="UTC"), bad
    given = sum(1 for value in kept if value is not None)
    # pandas also reads "now" and "today" as times.
    kept = [value if value is not None and value.strip()[:1].isdigit() else None for value in kept]
    times = pd.to_datetime(pd.Series(kept, dtype="object"), format="ISO8601", errors="coerce", utc=True)
    return times.astype(TIME_DTYPE), bad + given - int(times.notna().sum())


def _lists_of_texts(values: list[Any]) -> tuple[Any, int]:
    kept, bad = _typed(values, _LIST)
    if set(map(type, chain.from_iterable(one for one in kept if one))) <= {str}:
        # New lists of shared texts: the decoded ones would keep the memory of their rows alive.
        share = {text: text for text in chain.from_iterable(one for one in kept if one)}.__getitem__
        return _objects([None if one is None else [*map(share, one)] for one in kept]), bad
    clean = [None if one is None else [text for text in one if isinstance(text, str)] for one in kept]
    bad += sum(
        1 for one, two in zip(kept, clean, strict=True) if one is not None and len(one) != len(two or ())
    )
    return _objects(clean), bad


def _records(values: list[Any]) -> tuple[Any, int]:
    kept, bad = _typed(values, _LIST)
    return _objects(kept), bad


def _record(values: list[Any]) -> tuple[Any, int]:
    kept, bad = _typed(values, _OBJECT)
    return _objects(kept), bad


def _objects(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


_MAKERS: Final[dict[str, Callable[[list[Any]], tuple[Any, int]]]] = {
    "text": _texts,
    "boolean": _booleans,
    "time": _times,
    "float": _floats,
    "integer": _integers,
    "texts": _lists_of_texts,
    "records": _records,
    "record": _record,
}
