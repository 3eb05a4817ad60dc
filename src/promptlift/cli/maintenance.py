"""``promptlift vacuum`` and ``promptlift migrate``: maintain the database of a service."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from promptlift.cli.options import Data, Database, settings_of
from promptlift.cli.tables import write_table
from promptlift.errors import ConfigError

if TYPE_CHECKING:
    from promptlift.service.store.transfer import TableContent

__all__ = ["migrate", "vacuum"]


def vacuum(
    *,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="AGE",
            help="Delete the transcripts of conversations that started longer ago, such as 400d. Their insights stay.",
        ),
    ] = None,
    keep_insights: Annotated[
        str | None,
        typer.Option(
            metavar="AGE",
            help="Delete conversations that started longer ago with their insights: they no longer count anywhere. Not shorter than --keep.",
        ),
    ] = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Delete old transcripts and conversations, and free their space. The service may run meanwhile."""
    from promptlift.service import administration  # noqa: PLC0415

    days = {"keep_days": _days(keep, "--keep"), "keep_insights_days": _days(keep_insights, "--keep-insights")}
    done = administration.vacuum(settings_of(data, database), **days)
    if keep is not None:
        sys.stdout.write(f"Transcripts deleted: {done.transcripts:,}\n")
    if keep_insights is not None:
        sys.stdout.write(f"Conversations deleted with their insights: {done.conversations:,}\n")
    sys.stdout.write(f"The database has {_mb(done.bytes_after)}, before {_mb(done.bytes_before)}.\n")


def migrate(
    *,
    source: Annotated[str, typer.Option("--from", metavar="URL", help="Database to copy: sqlite:///FILE.")],
    target: Annotated[
        str,
        typer.Option("--to", metavar="URL", help="Empty database to copy to: postgresql://USER@HOST/NAME."),
    ],
) -> None:
    """Copy a SQLite database into PostgreSQL, and compare every table by count and hash. End the service first."""
    from promptlift.service import administration  # noqa: PLC0415

    urls = [settings_of(None, url).resolved_database_url for url in (source, target)]
    file = urls[0].removeprefix("sqlite:///")
    if file != urls[0] and not Path(file).exists():  # SQLite would create an empty one
        raise ConfigError(f"There is no file {file}: --from is the address of the database to copy")
    moved: list[TableContent] = []
    administration.move(*urls, note=moved.append)
    rows = [(one.table, f"{one.rows:,}", one.digest[:16]) for one in moved]
    write_table([("table", "rows", "hash"), *rows])
    sys.stdout.write(
        "Every table is identical in both. Start the service with --database, and set PROMPTLIFT_SECRET_KEY to the content of webhooks.key next to the old file, so that webhooks keep their secrets.\n"
    )


def _days(age: str | None, option: str) -> int | None:
    if age is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6})d", age)
    if found is None:
        raise typer.BadParameter(f"must be a number of days such as 400d, not {age!r}", param_hint=option)
    return int(found[1])


def _mb(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
