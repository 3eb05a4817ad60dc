"""``promptlift pull``, ``verify`` and ``export``: snapshots."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from promptlift.cli.options import Account, BaseUrl, Data, Database, open_service, settings_of
from promptlift.errors import (
    ConfigError,
    ConnectionFailed,
    IncompleteError,
    RateLimited,
    ServerError,
    SnapshotDamaged,
)

if TYPE_CHECKING:
    from promptlift.snapshot import Snapshot

__all__ = ["export", "pull", "verify"]

# Temporary failures: with --watch the next pull tries again.
_PASSING: Final = (ConnectionFailed, IncompleteError, RateLimited, ServerError)

Folder = Annotated[
    str,
    typer.Argument(metavar="DIR", help="Folder of the snapshot, or an address such as s3://bucket/january."),
]
Prompt = Annotated[
    str | None,
    typer.Option(
        "--prompt", metavar="NAME", help="Only conversations of this prompt, by name or id. [default: all]"
    ),
]
Everything = Annotated[
    bool,
    typer.Option("--everything", help="Read all conversations again, not only new or changed ones."),
]


def pull(
    folder: Folder,
    *,
    prompt: Prompt = None,
    content: Annotated[
        bool | None,
        typer.Option(
            "--content/--no-content",
            help="Fetch transcripts one by one if the service does not list them, or leave them out. [default: those that it lists]",
        ),
    ] = None,
    everything: Everything = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Continue until Ctrl-C, and pull again every --every seconds.")
    ] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=1, help="Seconds between two pulls.")
    ] = 60.0,
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Copy an account's tables into a folder of Parquet files, or bring such a folder up to date.

    An interrupted pull resumes where it stopped.
    """
    with open_service(base_url, data) as lift:

        def pulled() -> Snapshot:
            return lift.pull(folder, prompt_id=prompt, content=content, everything=everything)

        if not watch:
            sys.stdout.write(f"{pulled()!r}\n")
            return
        while True:
            try:
                sys.stdout.write(f"{_one_line(pulled())}\n")
            except _PASSING as error:
                sys.stderr.write(f"promptlift: {error}\n")
            sys.stdout.flush()
            everything = False
            time.sleep(every)


def _one_line(snapshot: Snapshot) -> str:
    manifest = snapshot.manifest
    rows = manifest.rows().get("conversations", 0)
    return f"{manifest.finished_at}  {rows:,} conversations, {manifest.requests} requests"


def verify(folder: Folder) -> None:
    """Compare every file of a snapshot with its manifest, and list each file that is missing, truncated, changed or not in it.

    This detects accidents. The signature of the embedded service's snapshots also detects forgery; it is
    checked with PROMPTLIFT_API_KEY.
    """
    from promptlift import snapshot as snapshots  # noqa: PLC0415  Parquet takes its time to load

    problems = snapshots.verify(folder)
    for path, problem in problems.items():
        sys.stdout.write(f"{path}: {problem}\n")
    if problems:
        raise SnapshotDamaged(
            f"{len(problems)} {'file is' if len(problems) == 1 else 'files are'} not as written. Take them from a "
            "backup, or pull into a new folder.",
            problems=problems,
        )
    snapshot = snapshots.Snapshot(folder)
    rows = snapshot.manifest.rows()
    sys.stdout.write(
        f"{len(snapshot.manifest.files)} files with {sum(rows.values()):,} rows are as they were written, among them the "
        f"{rows.get('conversations', 0):,} conversations that the service had at {snapshot.manifest.finished_at}; "
        f"{snapshot.signature}.\n"
    )


def export(
    folder: Folder,
    *,
    prompt: Prompt = None,
    everything: Everything = False,
    account: Account = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Write a snapshot directly from the service's database, whether the service runs or not."""
    from promptlift.cli.database_transport import DatabaseTransport  # noqa: PLC0415
    from promptlift.client import Client  # noqa: PLC0415
    from promptlift.service import administration  # noqa: PLC0415
    from promptlift.service.store import accounts as stored_accounts  # noqa: PLC0415
    from promptlift.workspace import Workspace  # noqa: PLC0415

    with administration.opened(settings_of(data, database)) as opened:
        with opened.read() as connection:
            found = stored_accounts.first(connection)
            if account is not None:
                found = administration.find_account(connection, account).id
            if found is None:
                raise ConfigError("The database has no account yet, so there is nothing to export.")
            caller = stored_accounts.caller_of(connection, found)
        transport = DatabaseTransport(opened, caller)
        lift = Workspace(transport.config, client=Client(transport.config, transport=transport))
        sys.stdout.write(f"{lift.pull(folder, prompt_id=prompt, everything=everything)!r}\n")
