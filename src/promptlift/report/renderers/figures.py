"""The numbers of a report for other programs, as CSV or Parquet: in one table, or one file per table."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import zipfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from promptlift.report.cells import PlainColumn, PlainTable, formatted, plain, tables_of
from promptlift.report.document import Estimate, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptlift.report.document import Cell, Document, Table

__all__ = ["FORMATS", "inert_cell"]

_LONG: Final = (
    PlainColumn("table", "", "text"),
    PlainColumn("row", "", "count"),
    PlainColumn("item", "", "text"),
    PlainColumn("column", "", "text"),
    PlainColumn("unit", "", "text"),
    PlainColumn("value", "", "number"),
    PlainColumn("low", "", "number"),
    PlainColumn("high", "", "number"),
    PlainColumn("of", "", "number"),
)
_NAMING: Final = ("text", "day", "time")
# A spreadsheet may run a cell that starts like this, and also what follows a separator that it splits at.
_RUNS: Final = re.compile(r"(?:\A|(?<=[;\t\"|]))(?=[\s\u00a0\u3000']*[=+\-@\uff1d\uff0b\uff0d\uff20\u2212{])")
_EARLIEST: Final = zipfile.ZipInfo("x").date_time


def inert_cell(text: str) -> str:
    """Return a text that no spreadsheet runs or splits: one line, with an apostrophe before a formula.

    >>> inert_cell("=1+1")
    "'=1+1"
    """
    line = " ⏎ ".join(text.replace("\t", " ").splitlines())
    return _RUNS.sub("'", line)


def _figures(document: Document) -> PlainTable:
    """Return all numbers in one table, one row each; ``item`` names what a number belongs to."""
    rows = [row for table in tables_of(document) if table.name != "examples" for row in _long_rows(table)]
    return PlainTable("figures", "", _LONG, tuple(rows))


def _long_rows(table: Table) -> Iterator[tuple[Any, ...]]:
    names = [
        place for place, column in enumerate(table.columns) if column.kind in _NAMING and column.key != "unit"
    ]
    kinds = [place for place, column in enumerate(table.columns) if column.key == "unit"]
    for number, row in enumerate(table.rows, 1):
        labels = (formatted(row[place], table.columns[place].kind) for place in names)
        item = " · ".join(name for name in labels if name)
        for place, column in enumerate(table.columns):
            if column.kind not in _NAMING:
                unit = str(row[kinds[0]]) if kinds and column.kind == "number" else column.kind
                yield (table.name, number, item, column.key, unit, *_parts(row[place]))


def _parts(cell: Cell) -> tuple[float | int | None, ...]:
    if isinstance(cell, Estimate):
        return *(None if math.isnan(end) else end for end in (cell.value, cell.low, cell.high)), None
    if isinstance(cell, Part):
        return cell.hits, None, None, cell.total
    return (None if isinstance(cell, str | datetime) else cell), None, None, None


def _csv(table: PlainTable) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerow([column.key for column in table.columns])
    writer.writerows([[_csv_cell(cell) for cell in row] for row in table.rows])
    # The byte order mark tells spreadsheets that this is UTF-8.
    return out.getvalue().encode("utf-8-sig", "replace")


def _csv_cell(cell: Any) -> Any:
    if cell is None:
        return _Missing()
    if isinstance(cell, datetime):
        return cell.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return inert_cell(cell) if isinstance(cell, str) else cell


class _Missing(float):
    """A missing value: an empty field without quotes."""

    def __str__(self) -> str:
        return ""

    __repr__ = __str__


def _parquet(table: PlainTable, document: Document) -> bytes:
    import pyarrow as pa  # noqa: PLC0415  (the package must import quickly)
    import pyarrow.parquet as pq  # noqa: PLC0415

    types = {
        "text": pa.string(),
        "count": pa.int64(),
        "day": pa.timestamp("us", tz="UTC"),
        "time": pa.timestamp("us", tz="UTC"),
    }
    columns = [
        pa.array([row[place] for row in table.rows], types.get(column.kind, pa.float64()))
        for place, column in enumerate(table.columns)
    ]
    about = {
        "table": table.name,
        "title": document.title,
        "answer": document.answer,
        "facts": dict(document.facts),
        "notices": [notice.text for notice in document.notices],
        "written_at": document.written_at.isoformat(),
    }
    made = pa.table(columns, names=[column.key for column in table.columns])
    out = io.BytesIO()
    pq.write_table(made.replace_schema_metadata({"promptlift": json.dumps(about)}), out, compression="zstd")
    return out.getvalue()


def _zipped(document: Document, ending: str, write: Callable[[PlainTable], bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for table in tables_of(document):
            # The earliest time in the zip format, so that the same report has the same bytes.
            archive.writestr(zipfile.ZipInfo(f"{table.name}{ending}", _EARLIEST), write(plain(table)))
    return out.getvalue()


FORMATS: dict[str, Callable[[Document], bytes]] = {
    ".csv": lambda document: _csv(_figures(document)),
    ".parquet": lambda document: _parquet(_figures(document), document),
    ".csv.zip": lambda document: _zipped(document, ".csv", _csv),
    ".parquet.zip": lambda document: _zipped(document, ".parquet", lambda table: _parquet(table, document)),
}
