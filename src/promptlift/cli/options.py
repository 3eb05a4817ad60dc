"""Options shared by several commands, and the service that they select."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from promptlift.errors import ConfigError

if TYPE_CHECKING:
    from promptlift.service.settings import ServiceSettings
    from promptlift.workspace import Workspace

__all__ = ["Account", "BaseUrl", "Data", "Database", "Period", "open_service", "settings_of"]

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Data folder. [default: PROMPTLIFT_DATA, or else the user's data folder]",
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="Database. [default: PROMPTLIFT_DATABASE_URL, or else SQLite in the data folder]",
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="Service to use. [default: PROMPTLIFT_BASE_URL, or else the embedded service]",
    ),
]
Period = Annotated[
    str | None,
    typer.Option(
        "--period",
        metavar="DAYS",
        help="The last DAYS days, or FIRST..LAST such as 2026-01-01..2026-01-31. [default: all]",
    ),
]
Account = Annotated[
    str | None,
    typer.Option(
        "--account",
        metavar="ACCOUNT",
        help="Id, e-mail address or name of the account, as shown by `accounts list`.",
    ),
]


def open_service(base_url: str | None, data: Path | None) -> Workspace:
    """Connect to the service at an address, or start the embedded one of a data folder.

    Raises
    ------
    ConfigError
        Both an address and a data folder were given.
    """
    import promptlift  # noqa: PLC0415  help and usage errors need no tables

    if base_url is not None and data is not None:
        raise ConfigError("--base-url and --data select two different services: pass only one of them.")
    if data is None and (base_url or os.environ.get("PROMPTLIFT_BASE_URL")):
        return promptlift.connect(base_url)
    return promptlift.local(data)


def settings_of(data: Path | None, database: str | None) -> ServiceSettings:
    """Return the settings of the service whose database is used directly."""
    from promptlift.service.settings import ServiceSettings  # noqa: PLC0415

    return ServiceSettings.from_env(data=data, database_url=database)
