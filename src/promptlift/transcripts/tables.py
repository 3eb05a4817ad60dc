"""CSV and Parquet files as streams of records, values as they are in the file."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final, TextIO

from promptlift.transcripts.sources import Record, open_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["PARQUET_MAGIC", "csv_header", "csv_records", "parquet_records"]

PARQUET_MAGIC: Final = b"PAR1"
SEPARATORS: Final = ",;\t|"
# A message over the limit must be reported with its size, so a field may be much larger than a message.
_FIELD_CHARS: Final = 64 * 1024 * 1024
_BATCH_ROWS: Final = 512


def csv_header(head: str, separator: str) -> list[str]:
    """Read the column names of a CSV text, none when it is not one."""
    try:
        return next(csv.reader(io.StringIO(head, newline=""), delimiter=separator), [])
    except csv.Error:
        return []


def csv_records(stream: TextIO, separator: str) -> Iterator[Record]:
    """Give the rows of a CSV file as ``{column: text}``. Every cell stays text, exactly as it is written."""
    rows = csv.reader(stream, delimiter=separator, strict=True)
    columns: list[str] = []
    start = 1
    while True:
        before = csv.field_size_limit(_FIELD_CHARS)
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield Record(start, fault=f"not a CSV row: {error}")
            continue
        finally:
            csv.field_size_limit(before)
            line, start = start, rows.line_num + 1
        if not columns:
            columns = [name.strip() for name in row]
        elif len(row) == len(columns):
            yield Record(line, dict(zip(columns, row, strict=True)))
        elif row:
            yield Record(line, fault=f"the row has {len(row)} cells, the header has {len(columns)}")


def parquet_records(path: Path) -> Iterator[Record]:
    """Give the rows of a Parquet file as ``{column: value}``, read in batches."""
    import pyarrow as pa  # noqa: PLC0415 - only Parquet files need it
    import pyarrow.parquet as pq  # noqa: PLC0415

    with open_bytes(path) as file:
        # Parquet is read from its end, which a gzip stream cannot do.
        seekable: Any = file if isinstance(file, io.BufferedReader) else io.BytesIO(file.read())
        try:
            batches = pq.ParquetFile(seekable).iter_batches(batch_size=_BATCH_ROWS)
            number = 1
            for batch in batches:
                for row in _rows(batch):
                    yield Record(number, row)
                    number += 1
        except (pa.ArrowInvalid, OSError) as error:
            yield Record(1, fault=f"not a readable Parquet file: {error}")


def _rows(batch: Any) -> list[dict[str, Any]]:
    import pyarrow as pa  # noqa: PLC0415

    for index, column in enumerate(batch.schema):
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            # Python times end at microseconds.
            coarser = batch.column(index).cast(pa.timestamp("us", column.type.tz), safe=False)
            batch = batch.set_column(index, column.name, coarser)
    return [
        {name: _plain(value) for name, value in row.items()}
        for row in batch.to_pylist(maps_as_pydicts="lossy")
    ]


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
