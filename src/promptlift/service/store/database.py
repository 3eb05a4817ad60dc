"""The connection to the database: SQLite in WAL mode, or PostgreSQL; and the version of its tables.

A new database gets the `tables`, an older one is upgraded by `migrations`: a change to `tables` also needs a
migration.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from sqlalchemy import (
    Column,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from promptlift.errors import ConfigError, MissingExtra, ServiceStartError
from promptlift.service.store.tables import metadata, singleton_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from types import TracebackType

    from sqlalchemy import Connection, Engine

# Remedies when SQLite cannot use a file, by the primary code of its error.
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
    # Pages move from the log to the file after 32 MB. With the default of 4 MB, a large import would write
    # many pages of its indexes repeatedly.
    "PRAGMA wal_autocheckpoint=8192",
)
# Page cache of a connection in KB. A batch of conversations changes pages all over some indexes, and a writer
# with a small cache would read each of them again.
_READER_CACHE = 2_000
_WRITER_CACHE = 32_768
# PostgreSQL channel on which processes announce new work.
_CHANNEL = "promptlift_work"
_MIGRATIONS: Final = Path(__file__).parent / "migrations"
# Several processes may start at once: one creates or upgrades the tables while the others wait for this lock.
_LOCK: Final = 7265736561726368
# Jobs that one worker at a time does for all.
_JOBS: Final = ("watch_deployments", "watch_completion", "clean_up", "name_issues", "find_topics")


def _work_alone(connection: Any, _record: Any) -> None:
    """Disable PostgreSQL's parallel workers: every query here is shorter than their start."""
    with connection.cursor() as cursor:
        cursor.execute("SET max_parallel_workers_per_gather = 0")
    connection.commit()


class Database:
    """A database with readers and one kind of writer.

    As a context manager it closes all connections, and turns database failures in the block into a
    ``ServiceStartError`` with a remedy, for the processes that use it.

    On SQLite a writer takes the lock at its start (``BEGIN IMMEDIATE``), so a transaction never fails halfway
    because another one came first.

    Parameters
    ----------
    url
        SQLAlchemy address.

    Attributes
    ----------
    listeners
        Called after a commit with the names of the tables for which it announced new work.
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
        # SQLite has one writer at a time, and makes others retry after pauses of up to 100 ms. Among the
        # threads of this process, the next one writes as soon as the previous one has finished.
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
                connection.isolation_level = None  # transactions begin below, not implicitly in the driver
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
        # Each connection caches pages: the most recently used one is taken first, so that a few have warm
        # caches, instead of cycling through all of them.
        connect_args = {"check_same_thread": False, "timeout": 30}
        return create_engine(self.url, **size, connect_args=connect_args, pool_use_lifo=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a consistent view of the database for the queries of one answer."""
        with self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[Connection]:
        """Open one transaction, which is committed in full or not at all.

        Parameters
        ----------
        durable
            Whether it, and all earlier ones, are on disk once it is committed. On SQLite other transactions
            survive the end of the process, but the last ones may be lost in a power cut. On PostgreSQL all
            are durable.
        """
        with self._turn, (self._durable if durable else self._writer).begin() as connection:
            announced = connection.info["announced"] = set[str]()
            yield connection
        if announced:
            for listener in list(self.listeners):
                listener(announced)

    def tell(self, sender: str, tables: Collection[str]) -> None:
        """Notify the processes that listen to this database of tables with new work."""
        with self.write() as connection:
            connection.execute(select(func.pg_notify(_CHANNEL, " ".join((sender, *tables)))))

    @contextmanager
    def listening(self) -> Iterator[Callable[[float], list[tuple[str, list[str]]]]]:
        """Yield a function that waits some seconds for notifications, and returns their senders and tables."""
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
                connection.invalidate()  # no other use of the connection must receive them

    def migrate(self) -> None:
        """Upgrade the tables to this version.

        Raises
        ------
        ServiceStartError
            The database belongs to another version of promptlift.
        """
        known = sorted(file.name.partition("_")[0] for file in (_MIGRATIONS / "versions").glob("[0-9]*_*.py"))
        try:
            if self.version() == known[-1]:
                return
        except (DBAPIError, sqlite3.Error):  # a new database; other problems surface when it is migrated
            pass
        with self.write() as connection:
            _create_or_upgrade(connection, known)

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

    def version(self) -> str | None:
        """Return the current version of the tables in the database."""
        with self.read() as connection:
            return _version(connection)

    def size(self) -> int:
        """Return the size of the database on disk in bytes."""
        if self.is_sqlite:
            statement = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        else:
            statement = "SELECT pg_database_size(current_database())"
        with self.read() as connection:
            return int(connection.exec_driver_sql(statement).scalar() or 0)

    def vacuum(self) -> None:
        """Free the space of deleted rows. Others can read meanwhile; on SQLite writers wait."""
        with self._turn, self._writer.connect() as connection:
            # Neither database allows this inside a transaction.
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


def _version(connection: Connection) -> str | None:
    return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()


def _create_or_upgrade(connection: Connection, known: Sequence[str]) -> None:
    """Create the tables in a new database, or upgrade older ones from one of the known versions to the newest."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    if inspect(connection).has_table("alembic_version"):
        version = _version(connection)
        if version not in known:
            raise ServiceStartError(
                f"The database was made by another version of promptlift: its tables have version {version}, and this one "
                f"knows up to {known[-1]}. Upgrade promptlift, or choose another folder with --data or another database "
                "with PROMPTLIFT_DATABASE_URL"
            )
        # Only an upgrade needs Alembic, which takes longer to load than a new database to be made.
        from alembic import command  # noqa: PLC0415
        from alembic.config import Config  # noqa: PLC0415

        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return
    # unspecified: tables of these names that another program made. They are left alone, and the start fails.
    metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(singleton_jobs), [{"id": name} for name in _JOBS])
    # As Alembic makes it.
    key = PrimaryKeyConstraint("version_num", name="alembic_version_pkc")
    versions = Table("alembic_version", MetaData(), Column("version_num", String(32)), key)
    versions.create(connection)
    connection.execute(insert(versions), {"version_num": known[-1]})


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
