"""Moving a service from one database to another, for the person who runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.errors import ConfigError
from promptlift.service.store import transfer
from promptlift.service.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.service.store.transfer import TableContent


def move(source_url: str, target_url: str, *, note: Callable[[TableContent], None]) -> None:
    """Copy a SQLite database into an empty one of PostgreSQL, and read both back to compare them.

    Nobody writes to the source meanwhile; it stays as it is. The target has everything afterwards, or nothing.

    Parameters
    ----------
    note
        Called for each table that is the same in both.

    Raises
    ------
    ConfigError
        The addresses are not of these kinds, or there is something in the target.
    ServiceStartError
        One of them cannot be used.
    """
    with Database(source_url) as source, Database(target_url) as target:
        if not source.is_sqlite or target.is_sqlite:
            raise ConfigError(
                "migrate copies from SQLite to PostgreSQL: --from sqlite:///FILE --to postgresql://HOST/NAME"
            )
        source.migrate()
        target.migrate()
        with source.write() as reading, target.write() as writing:
            if not transfer.is_empty(writing):
                raise ConfigError(
                    "The database to copy to has accounts already: create an empty one, and copy to that"
                )
            copied = list(transfer.copy_tables(reading, writing))
            for there, here in zip(copied, transfer.contents(writing), strict=True):
                if there != here:
                    raise ConfigError(
                        f"The copy of the table {there.table} differs ({here.rows} rows of {there.rows}), so nothing was "
                        "kept: copy again, and report it if that happens twice"
                    )
                note(there)
        target.vacuum()  # it has no statistics of its new rows yet
