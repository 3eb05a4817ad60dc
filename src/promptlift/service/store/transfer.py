"""Copy every row of one database into an empty one, and compare both table by table."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select, type_coerce

from promptlift.service.store.rows import copy_rows
from promptlift.service.store.tables import accounts, metadata, singleton_jobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection, Table

_AT_ONCE = 1_000
_MODULUS = 2**256


@dataclass(frozen=True, slots=True)
class TableContent:
    """The content of a table: the number of its rows, and a hash of them that does not depend on their order."""

    table: str
    rows: int
    digest: str


class _Count:
    """A running count and hash of rows."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._rows = 0
        self._sum = 0

    def over(self, rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        for row in rows:
            values = tuple(row)
            # Both databases return the same Python values, floats to the last digit.
            digest = hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()
            self._sum = (self._sum + int.from_bytes(digest, "big")) % _MODULUS
            self._rows += 1
            yield values

    def content(self) -> TableContent:
        return TableContent(self._table.name, self._rows, f"{self._sum:064x}")


def is_empty(connection: Connection) -> bool:
    """Return whether a database has no account yet."""
    return not connection.scalar(select(func.count()).select_from(accounts))


def copy_tables(source: Connection, target: Connection) -> Iterator[TableContent]:
    """Copy table after table into an empty PostgreSQL database, and yield the content of each in the source."""
    target.execute(delete(singleton_jobs))  # which are created with the tables
    for table in metadata.sorted_tables:
        count = _Count(table)
        names = [column.name for column in table.c]
        copy_rows(target, table, names, count.over(_rows(source, table)))
        if "seq" in table.c:
            newest = select(func.max(table.c.seq)).scalar_subquery()
            target.execute(select(func.setval(func.pg_get_serial_sequence(table.name, "seq"), newest)))
        yield count.content()


def contents(connection: Connection) -> Iterator[TableContent]:
    """Yield the content of each table, in the order of `copy_tables`."""
    for table in metadata.sorted_tables:
        count = _Count(table)
        for _ in count.over(_rows(connection, table)):
            pass
        yield count.content()


def _rows(connection: Connection, table: Table) -> Iterable[Any]:
    """Read the raw values of a table."""
    columns = [type_coerce(column, getattr(column.type, "impl_instance", column.type)) for column in table.c]
    return connection.execution_options(yield_per=_AT_ONCE).execute(select(*columns))
