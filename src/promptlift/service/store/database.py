"""The connection to the database: SQLite in WAL mode, or PostgreSQL."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import create_engine, event, func, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from promptlift.errors import ConfigError, MissingExtra, ServiceStartError
from promptlift.service.store import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from types import TracebackType

    from sqlalchemy import Connection, Engine

# What to do when SQLite cannot use a file, by the primary code of its error.
_PRIMARY_CODE = 0xFF
_NO_SQLITE = 0
_REMEDIES = (
    (
        {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT},
        "The file is damaged: move it away, or choose another data folder",
    ),
    (
        {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR},
        "The disk is full: free some space, or choose another data folder",
    ),
    (
        {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM},
        "Correct the permissions of the file and its folder, or choose another data folder",
    ),
    (
        {sqlite3.SQLITE_ERROR},
        "Another program made the file, or it is damaged: move it away, or choose another data folder",
    ),
    ({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}, "End the other program that uses it, and try again"),
    ({_NO_SQLITE}, "Check the address, and that the server runs and admits its user"),
)
_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA busy_timeout=30000",
    "PRAGMA foreign_keys=ON",
    "PRAGMA temp_store=MEMORY",
    # Pages go from the log to the file after 32 MB. A large import writes 4 MB at once, the default, and many pages of its indexes
    # again the next time.
    "PRAGMA wal_autocheckpoint=8192",
)
# KB of pages that a connection holds. A batch of conversations changes pages all over some indexes, and a writer with little
# room reads each of them again.
_READER_CACHE = 2_000
_WRITER_CACHE = 32_768
# Where processes tell each other of new work on PostgreSQL.
_CHANNEL = "promptlift_work"


def _work_alone(connection: Any, _record: Any) -> None:
    """Switch parallel workers of PostgreSQL off: every query here is shorter than their start."""
    with connection.cursor() as cursor:
        cursor.execute("SET max_parallel_workers_per_gather = 0")
    connection.commit()


class Database:
    """Readers and one kind of writer over one database.

    As a context manager it closes all connections, and what goes wrong with the database in the block is a
    ``ServiceStartError`` that says what to do: this is where the processes that use it learn why they cannot.

    On SQLite a writer takes the lock at its start (``BEGIN IMMEDIATE``), so a transaction never fails half way
    because another one came first.

    Parameters
    ----------
    url
        SQLAlchemy address.

    Attributes
    ----------
    listeners
        Each is called after a commit with the names of the tables for which new work was announced in it.
    """

    def __init__(self, url: str) -> None:
        self.listeners: list[Callable[[Collection[str]], None]] = []
        try:
            self.is_sqlite = make_url(url).get_backend_name() == "sqlite"
        except ArgumentError as error:
            raise ConfigError(
                "PROMPTLIFT_DATABASE_URL is not a database address; use sqlite:///FILE or postgresql://HOST/NAME"
            ) from error
        self.url = url
        # SQLite has one writer at a time, and lets others ask again after pauses of up to 100 ms. Of the threads of this
        # process the next one writes as soon as the one before has ended.
        self._turn = threading.Lock() if self.is_sqlite else nullcontext()
        self._writer = self._engine(isolation="IMMEDIATE")
        self._durable = (
            self._engine(isolation="IMMEDIATE", synchronous="FULL") if self.is_sqlite else self._writer
        )
        self._reader = (
            self._engine(isolation="DEFERRED")
            if self.is_sqlite
            else self._writer.execution_options(isolation_level="REPEATABLE READ")
        )

    def _engine(self, *, isolation: str, synchronous: str = "NORMAL") -> Engine:
        try:
            engine = self._pool()
        except (ImportError, NoSuchModuleError) as error:
            raise MissingExtra("PostgreSQL", "postgres") from error
        if self.is_sqlite:

            @event.listens_for(engine, "connect")
            def prepare(connection: Any, _record: Any) -> None:
                connection.isolation_level = None  # transactions are begun below, not by the driver's guess
                cache = _WRITER_CACHE if isolation == "IMMEDIATE" else _READER_CACHE
                for pragma in (*_PRAGMAS, f"PRAGMA synchronous={synchronous}", f"PRAGMA cache_size=-{cache}"):
                    connection.execute(pragma)

            @event.listens_for(engine, "begin")
            def begin(connection: Connection) -> None:
                connection.exec_driver_sql(f"BEGIN {isolation}")

        else:
            event.listen(engine, "connect", _work_alone)
        return engine

    def _pool(self) -> Engine:
        size = {"pool_size": 16, "max_overflow": 48, "pool_timeout": 60}
        if not self.is_sqlite:
            return create_engine(self.url, **size, pool_pre_ping=True)
        # Each connection caches pages: the one that was used last is taken first, so that a few of them
        # have warm caches, instead of all of them one after the other.
        connect_args = {"check_same_thread": False, "timeout": 30}
        return create_engine(self.url, **size, connect_args=connect_args, pool_use_lifo=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a consistent view of the database for the queries of one answer."""
        with self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[Connection]:
        """Open one transaction; everything in it is kept, or nothing.

        Parameters
        ----------
        durable
            Whether it is on the disk when it is committed, and all before it. On SQLite other transactions survive the end
            of the process, but the last ones may be lost in a power cut. On PostgreSQL all are durable.
        """
        with self._turn, (self._durable if durable else self._writer).begin() as connection:
            announced = connection.info["announced"] = set[str]()
            yield connection
        if announced:
            for listener in list(self.listeners):
                listener(announced)

    def tell(self, sender: str, tables: Collection[str]) -> None:
        """Tell the processes that listen to this database of tables with new work."""
        with self.write() as connection:
            connection.execute(select(func.pg_notify(_CHANNEL, " ".join((sender, *tables)))))

    @contextmanager
    def listening(self) -> Iterator[Callable[[float], list[tuple[str, list[str]]]]]:
        """Give a function that waits some seconds for what is told, and returns its senders and tables."""
        with self._writer.connect() as plain:
            connection = plain.execution_options(isolation_level="AUTOCOMMIT")
            connection.exec_driver_sql(f"LISTEN {_CHANNEL}")
            driver: Any = connection.connection.driver_connection

            def hear(seconds: float) -> list[tuple[str, list[str]]]:
                told = [one.payload.split() for one in driver.notifies(timeout=seconds, stop_after=1)]
                return [(sender, tables) for sender, *tables in told]

            try:
                yield hear
            finally:
                connection.invalidate()  # no other use of the connection is to hear it

    def migrate(self) -> None:
        """Bring the tables up to this version.

        Raises
        ------
        ServiceStartError
            The database belongs to another version of promptlift.
        """
        if self._is_up_to_date():
            return
        with self.write() as connection:
            schema.create_or_upgrade(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()
        if not isinstance(error, (SQLAlchemyError, sqlite3.Error)):
            return
        reason = getattr(error, "orig", None) or error
        code = getattr(reason, "sqlite_errorcode", _NO_SQLITE) & _PRIMARY_CODE
        remedy = next((f". {advice}" for codes, advice in _REMEDIES if code in codes), "")
        shown = make_url(self.url).render_as_string(hide_password=True)
        raise ServiceStartError(
            f"The database {shown} cannot be used: {' '.join(str(reason).split())}{remedy}"
        ) from error

    def _is_up_to_date(self) -> bool:
        try:
            return self.version() == schema.newest_version()
        except (DBAPIError, sqlite3.Error):  # a new database; what else is wrong shows when it is migrated
            return False

    def version(self) -> str | None:
        """Return the version of the tables as the database has it now."""
        with self.read() as connection:
            return schema.current_version(connection)

    def size(self) -> int:
        """Return the bytes that the database takes on its disk."""
        if self.is_sqlite:
            statement = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        else:
            statement = "SELECT pg_database_size(current_database())"
        with self.read() as connection:
            return int(connection.exec_driver_sql(statement).scalar() or 0)

    def vacuum(self) -> None:
        """Free the space of deleted rows. Others can read meanwhile; on SQLite they wait to write."""
        with self._turn, self._writer.connect() as connection:
            # Neither database lets this be part of a transaction.
            driver: Any = connection.connection.driver_connection
            if not self.is_sqlite:
                driver.autocommit = True
            driver.execute("VACUUM" if self.is_sqlite else "VACUUM (ANALYZE)")
            if self.is_sqlite:
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            else:
                driver.autocommit = False

    def close(self) -> None:
        """Close all connections."""
        self._writer.dispose()
        self._durable.dispose()
        self._reader.dispose()


def is_full_or_locked(error: DBAPIError) -> bool:
    """Return whether a statement failed because of the disk, a lock or a lost server, so that a later try may succeed."""
    message = str(error.orig).lower()
    return any(
        sign in message
        for sign in (
            *("disk is full", "database is locked", "disk i/o error", "no space left", "readonly"),
            *("connection failed", "server closed the connection", "terminating connection"),
        )
    )
