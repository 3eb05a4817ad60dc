"""The version of the tables: new databases get those of `tables`, older ones are upgraded by migrations.

A change to `tables` also needs a migration, for existing databases.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import inspect

from promptlift.errors import ServiceStartError
from promptlift.service.store import workers
from promptlift.service.store.tables import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection

_MIGRATIONS: Final = Path(__file__).parent / "migrations"
# Transcripts are most of the written data. If PostgreSQL was built without lz4, its default compression
# stays.
_FASTER_COMPRESSION: Final = (
    "DO $$ BEGIN EXECUTE 'ALTER TABLE conversation_contents ALTER COLUMN content SET COMPRESSION lz4'; "
    "EXCEPTION WHEN OTHERS THEN NULL; END $$"
)
# Several processes may start at once: one creates or upgrades the tables while the others wait for this lock.
_LOCK: Final = 7265736561726368


def newest_version() -> str:
    """Return the version of the tables that this version of promptlift uses: the number of the newest migration."""
    return _versions()[-1]


def current_version(connection: Connection) -> str | None:
    """Return the version of the tables in a database, if it has any."""
    return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()


def create_or_upgrade(connection: Connection) -> None:
    """Create the tables in a new database, or upgrade older ones to the newest version, in the caller's transaction.

    Raises
    ------
    ServiceStartError
        The tables have an unknown version.
    """
    # Most starts find an up-to-date database, and do not need Alembic.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = connection
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    if inspect(connection).has_table("alembic_version"):
        _check_known(current_version(connection))
        command.upgrade(config, "head")
    else:
        # unspecified: tables of these names that another program made. They are left alone, and the start fails.
        metadata.create_all(connection, checkfirst=False)
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(_FASTER_COMPRESSION)
        workers.add_jobs(connection)
        command.stamp(config, "head")


def _check_known(version: str | None) -> None:
    known = _versions()
    if version not in known:
        raise ServiceStartError(
            f"The database was made by another version of promptlift: its tables have version {version}, and this one knows "
            f"up to {known[-1]}. Upgrade promptlift, or choose another folder with --data or another database with "
            "PROMPTLIFT_DATABASE_URL"
        )


def _versions() -> list[str]:
    files = (_MIGRATIONS / "versions").glob("[0-9]*_*.py")
    return sorted(file.name.partition("_")[0] for file in files)
