"""Tables with new work: announced in the transaction that writes it, told to other processes by PostgreSQL."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from sqlalchemy import Connection, FromClause

    from promptlift.service.store.database import Database

_CHANNEL: Final = "promptlift_work"


def announce(connection: Connection, table: FromClause) -> None:
    """Have the workers look at a table when this transaction is committed; see `Database.listeners`."""
    connection.info.setdefault("announced", set()).add(table.description)


def tell(database: Database, sender: str, tables: Collection[str]) -> None:
    """Tell the processes that listen to this database."""
    with database.write() as connection:
        connection.execute(select(func.pg_notify(_CHANNEL, " ".join((sender, *tables)))))


@contextmanager
def listening(database: Database) -> Iterator[Callable[[float], list[tuple[str, list[str]]]]]:
    """Give a function that waits some seconds for what is told, and returns its senders and tables."""
    with database.autocommit() as connection:
        connection.exec_driver_sql(f"LISTEN {_CHANNEL}")
        driver: Any = connection.connection.driver_connection

        def hear(seconds: float) -> list[tuple[str, list[str]]]:
            told = [one.payload.split() for one in driver.notifies(timeout=seconds, stop_after=1)]
            return [(sender, tables) for sender, *tables in told]

        try:
            yield hear
        finally:
            connection.invalidate()  # no other use of the connection is to hear it
