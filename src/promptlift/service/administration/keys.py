"""API keys, for the person who runs the service."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptlift.errors import ConfigError
from promptlift.service import clock
from promptlift.service.administration.accounts import find_account, opened
from promptlift.service.identifiers import new_key, shown_prefix
from promptlift.service.routes.http.authentication import KEY_MEMORY_SECONDS
from promptlift.service.server import first_account
from promptlift.service.store import accounts

if TYPE_CHECKING:
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


def create_key(settings: ServiceSettings, *, name: str, account: str | None = None) -> NewKey:
    """Create a key for an account; without one it is for the first, which is created in a new database.

    Raises
    ------
    ConfigError
        No account is meant, or several are.
    """
    with opened(settings) as database:
        key = new_key()
        with database.write() as connection:
            if account is not None:
                account_id = find_account(connection, account).id
            else:
                # The plan of an account that is there is not this command's to change.
                account_id = accounts.first(connection) or first_account(connection, settings)
            accounts.add_key(connection, account_id, key, name=name)
    return NewKey(key, shown_prefix(key))


def list_keys(settings: ServiceSettings, *, account: str | None = None) -> list[KeyInfo]:
    """Return the keys of an account, or of all, oldest first.

    Raises
    ------
    ConfigError
        No account is meant, or several are.
    """
    with opened(settings) as database, database.read() as connection:
        account_id = None if account is None else find_account(connection, account).id
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
            for row in accounts.keys(connection, account_id)
        ]


def revoke_key(settings: ServiceSettings, name: str) -> str:
    """Revoke the one valid key with this prefix, id or whole text, and return its prefix.

    When this returns, no process of the service accepts it any more.

    Raises
    ------
    ConfigError
        No valid key matches, or several do; nothing is revoked then.
    """
    with opened(settings) as database, database.write() as connection:
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
    time.sleep(KEY_MEMORY_SECONDS)
    return str(meant[0].prefix)
