"""``promptlift vacuum`` and ``promptlift migrate``: looking after the database of a service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from promptlift.cli.maintenance.keys import settings_of, write_table
from promptlift.errors import ConfigError
from promptlift.service.administration import maintenance

if TYPE_CHECKING:
    from promptlift.service.store.transfer import TableContent


def vacuum(*, keep: int | None, keep_insights: int | None, data: Path | None, database: str | None) -> None:
    """Delete what is older than is to be kept, and give its space back.

    Parameters
    ----------
    keep, keep_insights
        Days for which transcripts, and conversations with their insights, are kept; ``None`` keeps all.
    data, database
        Which service.
    """
    done = maintenance.vacuum(settings_of(data, database), keep_days=keep, keep_insights_days=keep_insights)
    if keep is not None:
        _print(f"Transcripts deleted: {done.transcripts:,}")
    if keep_insights is not None:
        _print(f"Conversations deleted with their insights: {done.conversations:,}")
    _print(f"The database has {_mb(done.bytes_after)}, before {_mb(done.bytes_before)}.")


def migrate(source: str, target: str) -> None:
    """Copy a SQLite database into an empty one of PostgreSQL, and print a line for each table that is the same in both.

    Parameters
    ----------
    source, target
        Addresses of the databases.
    """
    urls = [settings_of(None, url).resolved_database_url for url in (source, target)]
    file = urls[0].removeprefix("sqlite:///")
    if file != urls[0] and not Path(file).exists():  # SQLite would make an empty one
        raise ConfigError(f"There is no file {file}: --from is the address of the database to copy")
    moved: list[TableContent] = []
    maintenance.move(*urls, note=moved.append)
    write_table(
        [("table", "rows", "hash"), *((one.table, f"{one.rows:,}", one.digest[:16]) for one in moved)]
    )
    _print(
        "Every table is the same in both. Start the service with --database, and set PROMPTLIFT_SECRET_KEY to what "
        "webhooks.key beside the old file holds, so that webhooks keep their secrets."
    )


def _mb(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
