"""CSV and Parquet files as streams of records, with unchanged values."""

from __future__ import annotations

import csv
import io
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TextIO

from promptlift.errors import MissingExtra
from promptlift.schema.boundary import Boundary, reason
from promptlift.transcripts.sources import RECORD_CHARS, Line, Lines, Record, open_bytes, too_long

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

__all__ = ["PARQUET_MAGIC", "csv_header", "csv_records", "parquet_records"]

PARQUET_MAGIC: Final = b"PAR1"
SEPARATORS: Final = ",;\t|"
# A message over the limit must be reported with its size, so a field may be much larger than a message may
# be.
_FIELD_CHARS: Final = 64 * 1024 * 1024
# A line is read again a few times, and a small file some more.
_AGAIN: Final = 4
_AGAIN_FREELY: Final = 65_536
# Cost of a held line besides its characters, so that millions of empty lines are limited too.
_LINE_COST: Final = 100
_BATCH_ROWS: Final = 512
_PACKED_BYTES: Final = 256 * 1024 * 1024


def csv_header(head: str, separator: str) -> list[str]:
    """Read the column names of a CSV text; empty if it is not CSV."""
    try:
        return next(csv.reader(io.StringIO(head, newline=""), delimiter=separator), [])
    except csv.Error:
        return []


def csv_records(stream: TextIO, separator: str, *, most: int = RECORD_CHARS) -> Iterator[Record]:
    """Read the rows of a CSV file as ``{column: text}``. Every cell stays text, exactly as written.

    A quote that is not closed, or a row longer than ``most`` characters, affects only that row: reading
    continues at the next line that is a complete row.
    """
    feed = _Feed(stream, most)
    rows = csv.reader(feed, delimiter=separator, strict=True)
    columns: list[str] = []
    lost: _Lost | None = None
    while (found := _next_row(rows, feed)) is not None:
        row, fault = found
        if not columns and fault is None:
            columns = [name.strip() for name in row]
            yield from _repeated(columns, feed.taken[0].number)
            continue
        if fault is None and row and len(row) != len(columns):
            fault = f"the row has {len(row)} cells, the header has {len(columns)}"
        if lost is not None and fault is not None:
            lost.skip(feed)
        elif fault is not None and columns and (len(feed.taken) > 1 or not feed.taken[0].whole):
            lost = _Lost(feed.taken[0].number, fault, feed.taken[0].number)
            lost.skip(feed)
        elif fault is not None:
            yield Record(feed.taken[0].number, fault=fault)
        elif row:
            if lost is not None:
                yield lost.record()
                lost = None
            yield Record(feed.taken[0].number, dict(zip(columns, row, strict=True)))
    if lost is not None:
        yield lost.record()


def _repeated(columns: list[str], line: int) -> Iterator[Record]:
    """Yield what is wrong with a header if several columns have the same name."""
    repeated = [name for name, count in Counter(columns).items() if name and count > 1]
    if repeated:
        yield Record(
            line, fault=f"the header repeats {', '.join(repeated)}; the last column of a name is read"
        )


@dataclass(slots=True)
class _Lost:
    """An unreadable row of several lines, usually an unclosed quote that swallows the next rows.

    Attributes
    ----------
    line, fault
        Where it begins, and the problem.
    last
        The last line that is left out with it.
    """

    line: int
    fault: str
    last: int

    def skip(self, feed: _Feed) -> None:
        """Skip the first line, and put the others back."""
        if feed.budget > 0:
            feed.again(feed.taken[1:])
            self.last = feed.taken[0].number
        else:
            self.last = feed.taken[-1].number

    def record(self) -> Record:
        """Return the record of the fault, which also lists the other lines left out."""
        more = ""
        if self.last > self.line:
            many = self.last > self.line + 1
            what = f"lines {self.line + 1} to {self.last} are" if many else f"line {self.last} is"
            more = f"; {what} not a row either and left out"
        return Record(self.line, fault=f"{self.fault}{more}")


class _Feed:
    """Lines for ``csv.reader``; those of the current row are kept, so that they can be read again.

    Attributes
    ----------
    taken, size
        The lines of the row, and their characters.
    budget
        Characters that may still be read again to find the next row, so that a hostile file cannot cause
        unlimited work.
    """

    def __init__(self, stream: TextIO, most: int) -> None:
        self._lines, self._most = Lines(stream, most), most
        self._again: deque[Line] = deque()
        self.taken: list[Line] = []
        self.size = 0
        self.budget = _AGAIN_FREELY

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if self._again:
            line = self._again.popleft()
        else:
            line = next(self._lines)
            self.budget += _AGAIN * len(line.text)
        self.taken.append(line)
        self.size += len(line.text) + _LINE_COST
        if not line.whole or self.size > self._most + _LINE_COST:
            raise _TooLongError(too_long("row", self._most))
        return line.text

    def begin(self) -> None:
        """Start a row."""
        self.taken, self.size = [], 0

    def again(self, lines: list[Line]) -> None:
        """Put lines back, without the rest of an overlong one."""
        self.budget -= sum(len(line.text) for line in lines)
        self._again.extendleft(line for line in reversed(lines) if line.whole)


class _TooLongError(Exception):
    """A row exceeds the limit."""


def _next_row(rows: Iterator[list[str]], feed: _Feed) -> tuple[list[str], str | None] | None:
    """Read one row, or its problem; None at the end of the file."""
    feed.begin()
    before = csv.field_size_limit(_FIELD_CHARS)
    try:
        return next(rows), None
    except StopIteration:
        return None
    except _TooLongError as error:
        return [], f"{error}{' (is a quote not closed?)' if len(feed.taken) > 1 else ''}"
    except csv.Error as error:
        if "unexpected end of data" in str(error):
            return [], "not a CSV row: a quote is not closed (unexpected end of data)"
        return [], f"not a CSV row: {error}"
    finally:
        csv.field_size_limit(before)


def parquet_records(path: Path, *, most: int = RECORD_CHARS) -> Iterator[Record]:
    """Read the rows of a Parquet file as ``{column: value}``, in batches; a row of more than ``most`` bytes is a fault."""
    try:
        import pyarrow.parquet as pq  # noqa: PLC0415 - only Parquet files need it
    except ModuleNotFoundError as error:
        raise MissingExtra("Reading Parquet", "parquet") from error

    number = 1
    with open_bytes(path) as file:
        # Parquet is read from its end, which a gzip stream cannot do.
        seekable: Any = file
        if not isinstance(file, io.BufferedReader):
            seekable = io.BytesIO(file.read(_PACKED_BYTES + 1))
            if len(seekable.getbuffer()) > _PACKED_BYTES:
                yield Record(
                    1, fault="the Parquet file in it is too large to be read packed; unpack it first"
                )
                return
        try:
            for batch in _batches(pq.ParquetFile(seekable), most):
                for row in _rows(batch, most):
                    yield Record(number, **row)
                    number += 1
        except Exception as error:  # noqa: BLE001 - a damaged file may raise anything
            what = (
                "not a readable Parquet file"
                if number == 1
                else f"the rows from {number:,} on cannot be read"
            )
            yield Record(number, fault=f"{what}: {reason(error)}")


def _batches(file: Any, most: int) -> Iterator[Any]:
    """Read batches, with fewer rows if rows are large according to the file."""
    for place in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(place)
        usual = max(group.total_byte_size // max(group.num_rows, 1), 1)
        size = max(1, min(_BATCH_ROWS, most // usual))
        yield from file.iter_batches(batch_size=size, row_groups=[place])


def _rows(batch: Any, most: int) -> Iterator[dict[str, Any]]:
    """Convert the rows of a batch to Python values, reporting problems by row."""
    import pyarrow as pa  # noqa: PLC0415

    for index, column in enumerate(batch.schema):
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            # Python times end at microseconds.
            coarser = batch.column(index).cast(pa.timestamp("us", column.type.tz), safe=False)
            batch = batch.set_column(index, column.name, coarser)
    coded = [place for place, column in enumerate(batch.schema) if pa.types.is_dictionary(column.type)]
    # A value that is stored once may occur in every row.
    if batch.nbytes + sum(batch.column(place).dictionary.nbytes for place in coded) * batch.num_rows <= most:
        with Boundary(lambda _: None):  # each row is tried individually below
            found = [_plain_row(row) for row in batch.to_pylist(maps_as_pydicts="lossy")]
            yield from ({"value": row} for row in found)
            return
    for place in range(batch.num_rows):
        row = batch.slice(place, 1)
        for index in coded:
            row = row.set_column(index, row.schema[index].name, row.column(index).dictionary_decode())
        faults = [too_long("row", most)] if row.nbytes > most else []
        if not faults:
            with Boundary(faults.append):
                yield {"value": _plain_row(row.to_pylist(maps_as_pydicts="lossy")[0])}
        yield from ({"fault": fault} for fault in faults)


def _plain_row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
        for name, value in row.items()
    }
