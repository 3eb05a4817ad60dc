"""Columns of tables in Parquet: their types, and conversion to and from DataFrames."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from promptlift.schema.metadata import is_metadata_column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptlift.schema.columns import TableColumn

__all__ = ["arrow_table", "frame_of", "joined", "to_json", "with_metadata", "without_empty_metadata"]

_TYPES: Final[dict[str, Any]] = {
    "text": pa.string(),
    "category": pa.string(),
    "boolean": pa.bool_(),
    "time": pa.timestamp("us", "UTC"),
    "float": pa.float64(),
    "integer": pa.int64(),
    "texts": pa.list_(pa.string()),
    # Of any shape: JSON.
    "records": pa.string(),
    "record": pa.string(),
}
# Cells decoded in one call.
_DECODED_ROWS: Final = 65_536
_STR: Final[Any] = pd.StringDtype("pyarrow", na_value=np.nan)
_TIME: Final = pd.DatetimeTZDtype("us", "UTC")
# Types of metadata, as in tables: text for a key whose values have several types.
_BOOLEAN: Final[Any] = pd.BooleanDtype()
_INTEGER: Final[Any] = pd.Int64Dtype()
_METADATA_DTYPES: Final[dict[Any, Any]] = {
    pa.bool_(): _BOOLEAN,
    pa.int64(): _INTEGER,
    pa.float64(): pd.Float64Dtype(),
}


def arrow_table(frame: pd.DataFrame, columns: Sequence[TableColumn]) -> pa.Table:
    """Return the described columns of a table as an Arrow table for Parquet.

    Parameters
    ----------
    frame
        A table of the workspace. Missing columns are left out.
    columns
        Description of its columns.
    """
    data: dict[str, Any] = {}
    for column in columns:
        if column.name in frame:
            data[column.name] = _to_arrow(frame[column.name], column.kind)
    return pa.table(data)


def with_metadata(table: pa.Table, columns: Mapping[str, pd.Series[Any]]) -> pa.Table:
    """Add columns of metadata to a table, with their types."""
    for name, cells in columns.items():
        made = pa.array(cells, from_pandas=True)
        table = table.append_column(
            name, made.cast(pa.string()) if pa.types.is_large_string(made.type) else made
        )
    return table


def _to_arrow(cells: pd.Series[Any], kind: str) -> Any:
    if kind in ("records", "record"):
        return pa.array([None if one is None else to_json(one).decode() for one in cells], pa.string())
    if kind == "texts":
        return pa.array(list(cells), pa.list_(pa.string()))
    if kind == "category":
        cells = cells.astype("object").where(cells.notna(), None)
    return pa.array(cells, from_pandas=True).cast(_TYPES[kind])


def to_json(value: Any) -> bytes:
    """Encode JSON, including integers of any size."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, sort_keys=True).encode()


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables; a column that is numeric in some and text in others becomes text."""
    kinds: dict[str, Any] = {}
    mixed: set[str] = set()
    for one in (field for table in tables for field in table.schema):
        known = kinds.setdefault(one.name, one.type)
        if known != one.type and {known, one.type} != {pa.int64(), pa.float64()}:
            mixed.add(one.name)
    return pa.concat_tables([_as_text(table, mixed) for table in tables], promote_options="permissive")


def _as_text(table: pa.Table, names: set[str]) -> pa.Table:
    for place, name in enumerate(table.column_names):
        if name in names:
            table = table.set_column(place, name, table[name].cast(pa.string()))
    return table


def without_empty_metadata(table: pa.Table) -> pa.Table:
    """Drop columns of metadata that no row has."""
    empty = [
        name
        for name in table.column_names
        if is_metadata_column(name) and table[name].null_count == len(table)
    ]
    return table.drop_columns(empty) if empty else table


def frame_of(table: pa.Table, columns: Sequence[TableColumn], *, metadata: bool = False) -> pd.DataFrame:
    """Return the DataFrame of a table from Parquet, with the dtypes of the workspace's tables.

    Parameters
    ----------
    columns
        Columns of the frame, in order; columns missing in the files are filled with missing values.
    metadata
        Whether to append the columns of metadata that any row has.
    """
    names = set(table.column_names)
    data: dict[str, Any] = {}
    for column in columns:
        cells = table[column.name] if column.name in names else pa.nulls(len(table), _TYPES[column.kind])
        if isinstance(cells, pa.Array):
            cells = pa.chunked_array([cells])
        data[column.name] = _to_pandas(cells, column)
    if metadata:
        for name in sorted(one for one in names if is_metadata_column(one)):
            cells = table[name]
            if cells.null_count < len(cells):
                data[name] = _metadata(cells)
    return pd.DataFrame(data, index=pd.RangeIndex(len(table)), copy=False)


def _to_pandas(cells: pa.ChunkedArray, column: TableColumn) -> Any:
    if column.kind == "category":
        return _categories(cells, column.categories)
    return _READERS[column.kind](cells)


def _from_json(cells: pa.ChunkedArray) -> Any:
    # Arrow joins the cells, and one call decodes all: much faster than one call per row.
    found: list[Any] = []
    for chunk in cells.chunks:
        for first in range(0, len(chunk), _DECODED_ROWS):
            texts = chunk.slice(first, _DECODED_ROWS).fill_null("null")
            (together,) = pc.binary_join(pa.ListArray.from_arrays([0, len(texts)], texts), ",")
            found += orjson.loads(b"[" + together.as_buffer().to_pybytes() + b"]")
    return _objects(found)


@functools.cache
def _category_dtype(categories: tuple[str, ...]) -> tuple[pa.Array, pd.CategoricalDtype]:
    return pa.array(categories, pa.string()), pd.CategoricalDtype(list(categories))


def _categories(cells: pa.ChunkedArray, categories: Sequence[str]) -> Any:
    value_set, dtype = _category_dtype(tuple(categories))
    codes = pc.index_in(cells, value_set=value_set).fill_null(-1)
    return pd.Categorical.from_codes(codes.to_numpy().astype(np.int8), dtype=dtype)


def _lists(cells: pa.ChunkedArray) -> Any:
    """Return lists of texts by slicing one list: much faster than one list per row from Arrow."""
    parts = []
    for chunk in cells.chunks:
        offsets = chunk.offsets.to_numpy().tolist()
        values = chunk.values.dictionary_encode()  # noqa: PD011  of Arrow, not of pandas
        texts = _objects(values.dictionary.to_pylist())
        flat = texts[values.indices.to_numpy()].tolist() if len(values) else []
        part = _objects(list(map(flat.__getitem__, map(slice, offsets[:-1], offsets[1:]))))
        if chunk.null_count:
            part[chunk.is_null().to_numpy(zero_copy_only=False)] = None
        parts.append(part)
    return np.concatenate(parts) if parts else _objects([])


def _objects(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _metadata(cells: pa.ChunkedArray) -> Any:
    dtype = _METADATA_DTYPES.get(cells.type, _STR)
    return dtype.__from_arrow__(cells)


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "text": _STR.__from_arrow__,
    "boolean": _BOOLEAN.__from_arrow__,
    "time": lambda cells: _TIME.__from_arrow__(cells.cast(_TYPES["time"])),
    "float": lambda cells: cells.to_numpy().astype(np.float64),
    "integer": _INTEGER.__from_arrow__,
    "texts": _lists,
    "records": _from_json,
    "record": _from_json,
}
