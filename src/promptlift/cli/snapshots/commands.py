"""The options of ``promptlift pull``, ``verify`` and ``export``."""

from __future__ import annotations

from typing import Annotated

import typer

from promptlift.cli.options import Account, BaseUrl, Data, Database  # noqa: TC001 - the same

__all__ = ["export", "pull", "verify"]

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
    typer.Option("--everything", help="Read all conversations again, not only what is new or different."),
]


def pull(
    folder: Folder,
    *,
    prompt: Prompt = None,
    content: Annotated[
        bool | None,
        typer.Option(
            "--content/--no-content",
            help="Fetch transcripts one by one where the service does not list them, or leave them out. [default: those that it lists]",
        ),
    ] = None,
    everything: Everything = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on until Ctrl-C, and pull again every --every seconds.")
    ] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=1, help="Seconds between two pulls.")
    ] = 60.0,
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Copy an account's tables into a folder of Parquet files, or bring such a folder up to date.

    A pull that was stopped goes on where it was.
    """
    from promptlift.cli.snapshots.pull import run_pull  # noqa: PLC0415
    from promptlift.cli.target import Target  # noqa: PLC0415

    run_pull(
        Target(base_url=base_url, data=data),
        folder,
        prompt=prompt,
        content=content,
        everything=everything,
        every=every if watch else None,
    )


def verify(folder: Folder) -> None:
    """Compare every file of a snapshot with its manifest, and name each one that is missing, cut, changed or not in it.

    This finds accidents. The signature of the embedded service's snapshots also finds forgery; it is checked with PROMPTLIFT_API_KEY.
    """
    from promptlift.cli.snapshots.pull import run_verify  # noqa: PLC0415

    run_verify(folder)


def export(
    folder: Folder,
    *,
    prompt: Prompt = None,
    everything: Everything = False,
    account: Account = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Write a snapshot straight from the service's database, whether the service runs or not."""
    from promptlift.cli.snapshots.export import run_export  # noqa: PLC0415

    run_export(folder, prompt=prompt, everything=everything, account=account, data=data, database=database)
