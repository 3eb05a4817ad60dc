"""The connection to the database: SQLite in WAL mode, or PostgreSQL."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from promptlift.errors import ConfigError, MissingExtra, ServiceStartError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA busy_timeout=30000",
    "PRAGMA foreign_keys=ON",
    "PRAGMA temp_store=MEMORY",
)


def _know_subseconds(connection: Any) -> None:
    """Teach an SQLite before 3.42 ``unixepoch('subsec')``, which the job engine's tables use from Python 3.12 on."""
    if sqlite3.sqlite_version_info < (3, 42):
        connection.create_function("unixepoch", 1, lambda _unit: time.time())


def _work_alone(connection: Any, _record: Any) -> None:
    """Tell PostgreSQL to start no workers: every query here is short, and starting them takes longer than it."""
    with connection.cursor() as cursor:
        cursor.execute("SET max_parallel_workers_per_gather = 0")
    connection.commit()


class Database:
    """Readers and one kind of writer over one database.

    On SQLite a writer takes the lock at its start (``BEGIN IMMEDIATE``), so a transaction never fails half way
    because another one came first.

    Parameters
    ----------
    url
        SQLAlchemy address.
    """

    def __init__(self, url: str) -> None:
        try:
            self.is_sqlite = make_url(url).get_backend_name() == "sqlite"
        except ArgumentError as error:
            raise ConfigError(
                "PROMPTLIFT_DATABASE_URL is not a database address; use sqlite:///FILE or postgresql://HOST/NAME"
            ) from error
        self.url = url
        self._writer = self._engine(isolation="IMMEDIATE")
        self._reader = (
            self._engine(isolation="DEFERRED")
            if self.is_sqlite
            else self._writer.execution_options(isolation_level="REPEATABLE READ")
        )

    def _engine(self, *, isolation: str) -> Engine:
        try:
            engine = create_engine(self.url, **self._options())
        except (ImportError, NoSuchModuleError) as error:
            raise MissingExtra("PostgreSQL", "postgres") from error
        if self.is_sqlite:

            @event.listens_for(engine, "connect")
            def prepare(connection: Any, _record: Any) -> None:
                connection.isolation_level = None  # transactions are begun below, not by the driver's guess
                _know_subseconds(connection)
                for pragma in _PRAGMAS:
                    connection.execute(pragma)

            @event.listens_for(engine, "begin")
            def begin(connection: Connection) -> None:
                connection.exec_driver_sql(f"BEGIN {isolation}")

        else:
            event.listen(engine, "connect", _work_alone)
        return engine

    def engine_for_jobs(self) -> Engine:
        """An engine of its own for the job engine, whose tables lie in the same database.

        It begins its transactions itself, and relies on the driver for that.
        """
        engine = create_engine(self.url, **self._options())
        if self.is_sqlite:

            @event.listens_for(engine, "connect")
            def prepare(connection: Any, _record: Any) -> None:
                _know_subseconds(connection)
                for pragma in _PRAGMAS:
                    connection.execute(pragma)
                connection.isolation_level = "IMMEDIATE"

        return engine

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"pool_size": 16, "max_overflow": 48, "pool_timeout": 60}
        if self.is_sqlite:
            return {**options, "connect_args": {"check_same_thread": False, "timeout": 30}}
        return {**options, "pool_pre_ping": True}

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent view of the database for the queries of one answer."""
        with self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction; everything in it is kept, or nothing."""
        with self._writer.begin() as connection:
            yield connection

    def migrate(self) -> None:
        """Bring the tables up to this version.

        Raises
        ------
        ServiceStartError
            The database cannot be opened, is not a database, or belongs to a newer version.
        """
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        try:
            with self._writer.connect() as connection:
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        except CommandError as error:
            newest = ScriptDirectory.from_config(config).get_current_head()
            raise ServiceStartError(
                f"The database was made by a newer promptlift (this one knows up to {newest}): update promptlift"
            ) from error
        except (DBAPIError, sqlite3.Error) as error:
            reason = getattr(error, "orig", None) or error
            raise ServiceStartError(
                f"The database {make_url(self.url).render_as_string(hide_password=True)} cannot be opened: {reason}"
            ) from error

    def close(self) -> None:
        """Close all connections."""
        self._writer.dispose()
        self._reader.dispose()


def is_full_or_locked(error: DBAPIError) -> bool:
    """Tell whether a statement failed because of the disk, a lock or a lost server, so that a later try may succeed."""
    message = str(error.orig).lower()
    return any(
        sign in message
        for sign in (
            *("disk is full", "database is locked", "disk i/o error", "no space left", "readonly"),
            *("connection failed", "server closed the connection", "terminating connection"),
        )
    )
