"""API keys, for the person who runs the service."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptlift.errors import ConfigError
from promptlift.service import clock
from promptlift.service.identifiers import new_key, shown_prefix
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

    id: str
    prefix: str
    name: str
    account: str
    created_at: str | None
    last_used_at: str | None
    revoked_at: str | None


def create_key(settings: ServiceSettings, *, name: str) -> NewKey:
    """Create a key for the first account."""
    with _opened(settings) as database:
        key = new_key()
        with database.write() as connection:
            # The plan of an account that is there is not this command's to change.
            account_id = accounts.first(connection) or first_account(connection, settings)
            accounts.add_key(connection, account_id, key, name=name)
    return NewKey(key, shown_prefix(key))


def list_keys(settings: ServiceSettings) -> list[KeyInfo]:
    """Return all keys, oldest first."""
    with _opened(settings) as database, database.read() as connection:
        return [
            KeyInfo(
                id=row.id,
                prefix=row.prefix,
                name=row.name,
                account=row.account_id,
                created_at=clock.iso(row.created_at),
                last_used_at=clock.iso(row.last_used_at),
                revoked_at=clock.iso(row.revoked_at),
            )
            for row in accounts.keys(connection)
        ]


def revoke_key(settings: ServiceSettings, name: str) -> str:
    """Revoke the one valid key with this prefix, id or whole text, and return its prefix.

    Raises
    ------
    ConfigError
        No valid key matches, or several do; nothing is revoked then.
    """
    with _opened(settings) as database, database.write() as connection:
        meant = accounts.valid_keys_named(connection, name)
        if not meant:
            # What was given may be the whole text of a key: it is not repeated.
            raise ConfigError("No valid key has this prefix or id: `promptlift keys list` shows them.")
        if len(meant) > 1:
            lines = [f"  {row.id}  {row.name}  made {clock.iso(row.created_at)}" for row in meant]
            raise ConfigError(
                f"{len(meant)} valid keys begin with {name}. Nothing was revoked; pass the id of one instead:\n"
                + "\n".join(lines)
            )
        accounts.revoke(connection, meant[0].id)
        return str(meant[0].prefix)


@contextmanager
def _opened(settings: ServiceSettings) -> Iterator[Database]:
    if settings.database_url is None:
        settings.data.expanduser().mkdir(mode=0o700, parents=True, exist_ok=True)
    database = Database(settings.resolved_database_url)
    try:
        database.migrate()
        yield database
    finally:
        database.close()
