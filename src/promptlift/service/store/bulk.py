"""Write many rows of a table at once: with ``COPY`` on PostgreSQL, which is several times as fast."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Boolean, Float, Integer, LargeBinary, insert
from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Table

# Fewer rows are as fast with one statement each.
_COPIED_FROM = 50
_BINARY_TYPES = (
    (LargeBinary, "bytea"),
    (Boolean, "bool"),
    (BigInteger, "int8"),
    (Integer, "int4"),
    (Float, "float8"),
)


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that all have the same columns.

    Raises
    ------
    IntegrityError
        A row violates uniqueness or a foreign key; the transaction is lost.
    """
    if not rows:
        return
    names = list(rows[0])
    if connection.dialect.name == "sqlite":
        # As text: for a row of thirty columns, SQLAlchemy prepares the parameters as slowly as SQLite writes
        # it.
        values = [tuple(map(row.__getitem__, names)) for row in rows]
        connection.exec_driver_sql(_insert_text(table, tuple(names)), values)
        return
    if len(rows) < _COPIED_FROM:
        connection.execute(insert(table), list(rows))
        return
    copy_rows(connection, table, names, ([row[name] for name in names] for row in rows))


def copy_rows(
    connection: Connection,
    table: Table,
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    into: str = "",
) -> None:
    """Copy rows into a table of PostgreSQL, or into another table with the same columns.

    Raises
    ------
    DBAPIError
        As with any other statement.
    """
    import psycopg  # noqa: PLC0415 - only where the database is PostgreSQL

    quoted = map(connection.dialect.identifier_preparer.quote, names)
    statement = f"COPY {into or table.name} ({', '.join(quoted)}) FROM STDIN (FORMAT BINARY)"
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types([_binary_type(table.c[name].type) for name in names])
            for row in rows:
                copy.write_row(row)
    except psycopg.Error as error:
        # SQLAlchemy's error for a failure in one of its own statements.
        raise DBAPIError.instance(statement, None, error, psycopg.Error) from error


@cache
def _insert_text(table: Table, names: tuple[str, ...]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"INSERT INTO {table.name} ({quoted}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - names of our tables


def _binary_type(kind: Any) -> str:
    kind = getattr(kind, "impl_instance", kind)
    return next((name for known, name in _BINARY_TYPES if isinstance(kind, known)), "text")
