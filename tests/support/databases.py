"""Migrated, empty databases: every test has a copy of one that was migrated once, for Alembic takes its time.

The file that is opened stays the same, and so do the statements that SQLAlchemy has compiled for it.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from promptlift.service.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator


# For what both databases do alike, by statements of a kind that another test runs on PostgreSQL.
sqlite_only = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


def migrate(url: str) -> None:
    """Make the tables in an empty database."""
    database = Database(url.replace("postgresql://", "postgresql+psycopg://"))
    database.migrate()
    database.close()


@cache
def _migrated_sqlite_file() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "promptlift.db"
        migrate(f"sqlite:///{file}")
        return file.read_bytes()


_unused: list[Database] = []


@contextmanager
def _migrated_sqlite(folders: pytest.TempPathFactory) -> Iterator[Database]:
    opened = _unused.pop() if _unused else Database(f"sqlite:///{folders.mktemp('database')}/promptlift.db")
    file = Path(opened.url.removeprefix("sqlite:///"))
    for journal in file.parent.glob(f"{file.name}-*"):
        journal.unlink()
    file.write_bytes(_migrated_sqlite_file())
    try:
        yield opened
    finally:
        opened.close()
        opened.listeners.clear()
        _unused.append(opened)


@contextmanager
def migrated(kind: str, request: pytest.FixtureRequest) -> Iterator[Database]:
    """A migrated, empty database: ``sqlite`` or ``postgresql``."""
    if kind == "sqlite":
        with _migrated_sqlite(request.getfixturevalue("tmp_path_factory")) as opened:
            yield opened
    else:
        url = request.getfixturevalue("migrated_postgres_url")
        with closing(Database(url.replace("postgresql://", "postgresql+psycopg://"))) as opened:
            yield opened


def is_lock_awaited(database: Database) -> bool:
    """Whether a transaction waits for a lock of another one; PostgreSQL only."""
    with database.read() as connection:
        return bool(connection.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")))
