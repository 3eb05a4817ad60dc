"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Account", "BaseUrl", "Data", "Database"]

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="DIR", help="Data folder. [default: PROMPTLIFT_DATA, else the user's data folder]"
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="Database. [default: PROMPTLIFT_DATABASE_URL, else SQLite in the data folder]",
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="Service to use. [default: PROMPTLIFT_BASE_URL, else the embedded service]",
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
