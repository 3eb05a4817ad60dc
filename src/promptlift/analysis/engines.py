"""Tables of any engine: opened in one way and counted where they are; only small results become pandas tables."""

from __future__ import annotations

import math
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

ROWS: Final = "_rows"
# What engines take for syntax in the name of a column is replaced while it is there: metadata.channel has a dot.
_SAFE: Final = str.maketrans({".": "\ue000", "`": "\ue001", '"': "\ue002"})
_BACK: Final = str.maketrans({"\ue000": ".", "\ue001": "`", "\ue002": '"'})
# Frames whose rows are in this process: their columns are read whole where an analysis needs the rows.
_LOCAL: Final = (
    nw.Implementation.PANDAS,
    nw.Implementation.MODIN,
    nw.Implementation.CUDF,
    nw.Implementation.POLARS,
    nw.Implementation.PYARROW,
)
_SPARK: Final = (nw.Implementation.PYSPARK, nw.Implementation.PYSPARK_CONNECT)
_MICROSECONDS: Final = 1_000_000
_YEAR_1: Final = -62_135_596_800 * _MICROSECONDS
_LARGEST: Final = sys.float_info.max
# Rows that become Python objects at once.
_AT_ONCE: Final = 2_000
# Cells that are counted by codes: more have hardly a row each.
_MOST_CELLS: Final = 1_000_000


def is_remote(table: Any) -> bool:
    """Return whether a table lives in an engine (DuckDB, Spark, Ibis) that is asked, rather than in this process."""
    if isinstance(table, pd.DataFrame):
        return False
    return nw.from_native(table).implementation not in _LOCAL


def named(name: str) -> str:
    """Return the name that a column has in a frame of `open_table`."""
    return name.translate(_SAFE)


def column_name(name: str) -> str:
    """Return what a column of a frame of `open_table` is really called."""
    return name.translate(_BACK)


def open_table(table: Any) -> nw.LazyFrame[Any]:
    """Return a table of any engine as a lazy frame whose columns are called as `named` says."""
    frame: nw.LazyFrame[Any] = nw.from_native(table).lazy()
    names = frame.collect_schema().names()
    safe = [named(name) for name in names]
    if safe == names:
        return frame
    if frame.implementation in _SPARK:
        renamed: nw.LazyFrame[Any] = nw.from_native(frame.to_native().toDF(*safe)).lazy()
        return renamed
    return frame.rename({old: new for old, new in zip(names, safe, strict=True) if old != new})


def known_number(column: str) -> nw.Expr:
    """Return a column of numbers as float64, null where it is null or NaN."""
    # By comparing, because not every database behind Ibis can be asked for NaN: it is above infinity, or not comparable.
    value = nw.col(column).cast(nw.Float64())
    return nw.when(value <= math.inf).then(value)


def finite_number(column: str) -> nw.Expr:
    """Return a column of numbers as float64, null where it is null, NaN or infinite."""
    value = nw.col(column).cast(nw.Float64())
    return nw.when(value.abs() <= _LARGEST).then(value)


def with_instant(frame: nw.LazyFrame[Any], times: Sequence[str], name: str) -> nw.LazyFrame[Any]:
    """Add the first known of some time columns in microseconds since 1970 UTC, null where none is known.

    Whole numbers, because engines cut times by the clock of their session. Times without a zone are UTC.

    Raises
    ------
    ValueError
        When a column does not hold times.
    """
    schema = frame.collect_schema()
    for column in times:
        if schema[column] == nw.Object:  # of pandas, where no time is known
            frame = frame.with_columns(nw.col(column).cast(nw.Datetime("us", "UTC")))
        elif not isinstance(schema[column], nw.Datetime | nw.Date | nw.Unknown):
            raise ValueError(
                f"Column {column_name(column)} holds {schema[column]}, not times. Convert it first, such as with "
                "pandas.to_datetime(…, utc=True)."
            )
    made = _NATIVE_INSTANT.get(frame.implementation)
    parts = [f"{name}_{place}" for place in range(len(times))]
    for column, part in zip(times, parts, strict=True):
        frame = frame.with_columns(nw.col(column).alias(part))
        if made is None:
            frame = frame.with_columns(nw.col(part).dt.timestamp("us"))
        else:
            frame = nw.from_native(made(frame.to_native(), part)).lazy()
    first = nw.coalesce(*parts) if len(parts) > 1 else nw.col(parts[0])
    return frame.with_columns(first.alias(name)).drop(*parts)


def _in_duckdb(relation: Any, name: str) -> Any:
    from duckdb import ColumnExpression, FunctionExpression, StarExpression  # noqa: PLC0415  (an extra)

    instant = FunctionExpression("epoch_us", ColumnExpression(name)).alias(name)
    return relation.select(StarExpression(exclude=[name]), instant)


def _in_spark(frame: Any, name: str) -> Any:
    from pyspark.sql import functions  # noqa: PLC0415  (an extra)

    if frame.schema[name].dataType.typeName() == "timestamp":
        return frame.withColumn(name, functions.unix_micros(functions.col(name)))
    # Without a zone, or a date. What "timestamp" casts to is a setting of the session, so the kind is named in full.
    naive = functions.col(name).cast("timestamp_ntz")
    epoch = functions.lit("1970-01-01").cast("timestamp_ntz")
    return frame.withColumn(name, functions.timestamp_diff("MICROSECOND", epoch, naive))


def _in_ibis(table: Any, name: str) -> Any:
    time = table[name]
    if time.type().is_date():
        time = time.cast("timestamp")
    # Some databases answer with a fraction of a second, which is counted below.
    seconds = time.epoch_seconds().floor().cast("int64")
    # Of SQLite, which stores times as texts, Ibis reads no part of a second right.
    part = 0 if table.get_backend().name == "sqlite" else time.microsecond()
    return table.mutate(**{name: seconds * _MICROSECONDS + part})


_NATIVE_INSTANT: Final = {
    nw.Implementation.DUCKDB: _in_duckdb,
    **dict.fromkeys(_SPARK, _in_spark),
    nw.Implementation.IBIS: _in_ibis,
}


def floored(frame: nw.LazyFrame[Any], name: str, span: int) -> nw.LazyFrame[Any]:
    """Lower a column of whole numbers to multiples of ``span``."""
    value = nw.col(name)
    # Some engines divide as float64, and what is left of a negative number differs, so the year 1 is made positive.
    since = -(_YEAR_1 // span) * span
    return frame.with_columns(value - (value + since) % span)


def count_by(frame: nw.LazyFrame[Any], keys: Sequence[str], **sums: nw.Expr) -> pd.DataFrame:
    """Count the rows of a frame by the values of some columns, in column ``_rows``, and compute what else is asked for."""
    made = [nw.len().alias(ROWS), *(expression.alias(name) for name, expression in sums.items())]
    if not keys:
        return fetch(frame.select(*made))
    try:
        if frame.implementation.is_pandas() and not sums:
            return _count_codes(frame.collect().to_native(), list(dict.fromkeys(keys)))
        return fetch(frame.group_by(*dict.fromkeys(named(key) for key in keys)).agg(*made))
    except TypeError:
        raise ValueError(
            f"Of {', '.join(map(repr, keys))} one column holds lists or other values that cannot name a group."
        ) from None


def _count_codes(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Count the rows of a pandas table by the codes of its values, in a third of the time of a group-by."""
    code, values, cells = np.zeros(len(table), np.uint8), [], 1
    for key in keys:
        codes, different = _codes(table[named(key)])
        values.append(different)
        cells *= len(different)
        # In as few bytes as hold the number of cells: moving them takes most of the time.
        kind = np.min_scalar_type(cells)
        code = np.multiply(code, len(different), dtype=kind)
        np.add(code, codes, out=code, casting="unsafe")
        if cells > _MOST_CELLS:
            sizes = table.groupby(
                [named(key) for key in keys], observed=True, dropna=False, sort=False
            ).size()
            return _counted(sizes.index.to_frame(index=False).set_axis(list(keys), axis=1), sizes.to_numpy())
    counts = np.bincount(code, minlength=1)
    rest = found = np.flatnonzero(counts)
    columns = {}
    for key, different in zip(reversed(keys), reversed(values), strict=True):
        rest, place = np.divmod(rest, len(different))
        columns[key] = pd.Series(different.take(place), dtype=different.dtype)
    return _counted(pd.DataFrame(columns)[list(keys)], counts[found])


def _counted(groups: pd.DataFrame, counts: NDArray[Any]) -> pd.DataFrame:
    return pd.DataFrame({name: _plain(column) for name, column in groups.items()} | {ROWS: counts})


def _codes(column: pd.Series[Any]) -> tuple[NDArray[Any], Any]:
    """Return the place of each value among the different ones, and these."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        different = pd.Categorical.from_codes(range(-1, len(column.cat.categories)), dtype=column.dtype)
        return column.cat.codes.to_numpy() + 1, different
    if column.dtype == "boolean":
        return column.to_numpy(np.int8, na_value=2), pd.array([False, True, None], "boolean")
    if column.dtype == "int64" and len(column):
        low, high = int(column.min()), int(column.max())
        if high - low < _MOST_CELLS:
            place = np.empty(len(column), np.min_scalar_type(high - low))
            np.subtract(column.to_numpy(), low, out=place, casting="unsafe")
            return place, pd.array(np.arange(low, high + 1), "int64")
    return pd.factorize(column, use_na_sentinel=False)


def fetch(frame: nw.LazyFrame[Any]) -> pd.DataFrame:
    """Return the rows of a lazy frame as a pandas table with the dtypes that tables of this library have."""
    if frame.implementation.is_pandas():
        found: pd.DataFrame = frame.collect().to_pandas().reset_index(drop=True)
        return pd.DataFrame({column_name(str(name)): _plain(column) for name, column in found.items()})
    try:
        import pyarrow  # noqa: F401, ICN001, PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtra("Analysis of a table that is not from pandas", "parquet") from error
    arrow = frame.collect(backend="pyarrow") if frame.implementation.is_polars() else frame.collect()
    table = arrow.to_arrow()
    columns: Mapping[str, Any] = {
        column_name(name): _column(table.column(place)) for place, name in enumerate(table.column_names)
    }
    return pd.DataFrame(columns, copy=False)


def parts_of(frame: nw.LazyFrame[Any]) -> Iterator[pd.DataFrame]:
    """Yield the rows of a lazy frame in parts, as pandas tables; engines other than Spark, DuckDB and Ibis give all in one."""
    native = frame.to_native()
    if frame.implementation in _SPARK:
        rows = native.toLocalIterator()
        while part := list(islice(rows, _AT_ONCE)):
            yield pd.DataFrame(part, columns=native.columns)
    elif hasattr(native, "__arrow_c_stream__"):
        import pyarrow as pa  # noqa: PLC0415  (only where a table is not from pandas)

        for batch in pa.RecordBatchReader.from_stream(native):
            for start in range(0, len(batch), _AT_ONCE):
                part = pa.Table.from_batches([batch[start : start + _AT_ONCE]])
                yield fetch(nw.from_native(part).lazy())
    else:
        yield fetch(frame)


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of pandas with nullable truths and whole numbers, and with decimal numbers as float64."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype("boolean")
    if pd.api.types.is_integer_dtype(column.dtype):
        return column.astype("Int64" if column.isna().any() else "int64")
    return column.astype("float64") if pd.api.types.is_float_dtype(column.dtype) else column


def _column(column: pa.ChunkedArray) -> pd.Series[Any]:
    """Return a column as pandas has it: nullable truths and whole numbers, UTC times, decimal numbers as float64."""
    import pyarrow as pa  # noqa: PLC0415  (only where a table is not from pandas)

    kind, types = column.type, pa.types
    made: pd.Series[Any]
    if types.is_boolean(kind):
        made = column.to_pandas(types_mapper={kind: pd.BooleanDtype()}.get)
    elif types.is_integer(kind):
        nullable = {pa.int64(): pd.Int64Dtype()}.get if column.null_count else None
        made = column.cast(pa.int64()).to_pandas(types_mapper=nullable)
    elif types.is_decimal(kind) or types.is_floating(kind):
        made = column.cast(pa.float64()).to_pandas()
    elif types.is_timestamp(kind) or types.is_date(kind):
        made = pd.Series(pd.DatetimeIndex(column.cast(pa.timestamp("us")).to_numpy())).dt.tz_localize("UTC")
    elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        made = column.to_pandas().astype("str")
    else:
        made = column.to_pandas()
    return made
