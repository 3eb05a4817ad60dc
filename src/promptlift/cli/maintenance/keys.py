"""``promptlift keys``: create, list and revoke API keys."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from promptlift.service.administration import accounts
from promptlift.service.settings import ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def create(name: str, *, account: str | None = None, data: Path | None, database: str | None) -> None:
    """Create a key and print it.

    Parameters
    ----------
    name
        What the key is for.
    account
        Id, e-mail address or name of the account; ``None`` is the first one.
    data, database
        Which service.
    """
    made = accounts.create_key(settings_of(data, database), name=name, account=account)
    sys.stdout.write(f"{made.key}\n")
    sys.stderr.write("Copy it now: only its hash is stored, and it is not shown again.\n")


def show(*, account: str | None = None, data: Path | None, database: str | None) -> None:
    """Print one line for each key.

    Parameters
    ----------
    account
        Only of this account, by id, e-mail address or name.
    data, database
        Which service.
    """
    known = accounts.list_keys(settings_of(data, database), account=account)
    if not known:
        sys.stdout.write("There are no keys yet. `promptlift keys create` creates one.\n")
        return
    rows = [("prefix", "id", "name", "account", "created", "last used", "state")]
    rows += [
        (
            key.prefix,
            key.id,
            key.name,
            key.account,
            minute(key.created_at),
            minute(key.last_used_at),
            "revoked" if key.revoked_at else "valid",
        )
        for key in known
    ]
    write_table(rows)


def revoke(key: str, *, data: Path | None, database: str | None) -> None:
    """Revoke a key.

    Parameters
    ----------
    key
        Prefix or id as `show` prints it, or the whole key.
    data, database
        Which service.

    Raises
    ------
    ConfigError
        The name matches no valid key, or several.
    """
    prefix = accounts.revoke_key(settings_of(data, database), key)
    sys.stdout.write(f"The key {prefix} is revoked.\n")


def settings_of(data: Path | None, database: str | None) -> ServiceSettings:
    """Return the settings of the service that a command is for."""
    return ServiceSettings.from_env(data=data, database_url=database)


def write_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells under each other; the first row has the names of the columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(f"{line.rstrip()}\n")


def minute(time: str | None) -> str:
    """Write a time to the minute."""
    return "never" if time is None else time[:16].replace("T", " ")
