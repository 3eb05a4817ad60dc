"""API keys, for the person who runs the service."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptlift.service import moment
from promptlift.service.identifiers import SHOWN_CHARS, new_key
from promptlift.service.server import first_account
from promptlift.service.store import accounts
from promptlift.service.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.service.settings import ServiceSettings


@dataclass(frozen=True)
class NewKey:
    """A key that was just made; it cannot be shown again."""

    key: str = field(repr=False)
    prefix: str


@dataclass(frozen=True)
class KeyInfo:
    """A key as lists show it. Times are ISO 8601 UTC or ``None``."""

    prefix: str
    name: str
    account: str
    created_at: str | None
    last_used_at: str | None
    revoked_at: str | None


def create_key(settings: ServiceSettings, *, name: str) -> NewKey:
    """Make a key for the first account."""
    with _opened(settings) as database:
        key = new_key()
        with database.write() as connection:
            # The plan of an account that is there is not this command's to change.
            account_id = accounts.first(connection) or first_account(connection, settings)
            accounts.add_key(connection, account_id, key, name=name)
    return NewKey(key, key[:SHOWN_CHARS])


def list_keys(settings: ServiceSettings) -> list[KeyInfo]:
    """All keys, oldest first."""
    with _opened(settings) as database, database.read() as connection:
        return [
            KeyInfo(
                row.prefix,
                row.name,
                row.account_id,
                moment.wire(row.created_at),
                moment.wire(row.last_used_at),
                moment.wire(row.revoked_at),
            )
            for row in accounts.keys(connection)
        ]


def revoke_key(settings: ServiceSettings, prefix: str) -> bool:
    """Revoke the key whose shown prefix is given; ``False`` when no living key has it."""
    with _opened(settings) as database, database.write() as connection:
        return accounts.revoke(connection, prefix) > 0


@contextmanager
def _opened(settings: ServiceSettings) -> Iterator[Database]:
    if settings.database_url is None:
        settings.data.expanduser().mkdir(parents=True, exist_ok=True)
    database = Database(settings.resolved_database_url)
    try:
        database.migrate()
        yield database
    finally:
        database.close()
