"""Every command and its options; what a command does stands in a module of its own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from promptlift._version import __version__

app = typer.Typer(
    help="Explore how LLM prompts perform: run the service, log conversations, see and report how prompts do.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
keys_app = typer.Typer(help="API keys of a service.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(keys_app, name="keys")


class Plan(StrEnum):
    """Plans whose limits a service can keep."""

    FREE = "free"
    PRO = "pro"
    ENTERPRISE = "enterprise"


Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Data folder. [PROMPTLIFT_DATA, else the user's data folder]"),
]
Database = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", help="Database. [PROMPTLIFT_DATABASE_URL, else SQLite in DIR]"),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url", metavar="URL", help="Service to use. [PROMPTLIFT_BASE_URL, else the embedded one]"
    ),
]


def _version(wanted: bool) -> None:  # noqa: FBT001  typer calls it so
    if wanted:
        typer.echo(f"promptlift {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def serve(
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any free one.")] = 8000,
    data: Data = None,
    database: Database = None,
    plan: Annotated[Plan, typer.Option(help="Plan whose limits hold for new accounts.")] = Plan.ENTERPRISE,
    while_used: Annotated[bool, typer.Option("--while-used", hidden=True)] = False,
) -> None:
    """Run the service until Ctrl-C. The first start prints a new API key, once."""
    from promptlift.cli.serving import run_service  # noqa: PLC0415

    run_service(host=host, port=port, data=data, database=database, plan=plan.value, while_used=while_used)


@keys_app.command("create")
def keys_create(
    *,
    name: Annotated[str, typer.Option(help="What the key is for.")] = "command line",
    data: Data = None,
    database: Database = None,
) -> None:
    """Make an API key and print it, once: only its hash is kept."""
    from promptlift.cli.keys import create  # noqa: PLC0415

    create(name, data=data, database=database)


@keys_app.command("list")
def keys_list(data: Data = None, database: Database = None) -> None:
    """List the API keys by their shown prefix."""
    from promptlift.cli.keys import show  # noqa: PLC0415

    show(data=data, database=database)


@keys_app.command("revoke")
def keys_revoke(
    key: Annotated[str, typer.Argument(help="Prefix or id of the key, as `keys list` shows them.")],
    data: Data = None,
    database: Database = None,
) -> None:
    """Make an API key invalid, at once and for ever."""
    from promptlift.cli.keys import revoke  # noqa: PLC0415

    revoke(key, data=data, database=database)


@app.command()
def demo(
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the report and the picture.")
    ] = Path("promptlift-report"),
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Data folder to keep. [a temporary one]")
    ] = None,
) -> None:
    """Show everything on sample conversations: log them, derive insights, write a report."""
    from promptlift.cli.demo import run_demo  # noqa: PLC0415

    run_demo(out=out, data=data)


@app.command()
def lab(
    *,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Folder for your copies of the notebooks.")
    ] = Path("promptlift-notebooks"),
    data: Data = None,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Open JupyterLab on a copy of the notebooks, with the embedded service running."""
    from promptlift.cli.lab import run_lab  # noqa: PLC0415

    run_lab(folder=folder, data=data, browser=browser)


@app.command("import")
def import_files(
    *,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE…", help="Exports of conversations.")
    ] = None,
    prompt: Annotated[
        str, typer.Option("--prompt", metavar="NAME", help="Prompt that was behind them, by name or id.")
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="M", help="Model of a new prompt. [the one that most conversations name]"),
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(
            "--text",
            metavar="FILE",
            help="Text of the prompt. [the system prompt that the conversations begin with]",
        ),
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", metavar="F", help="Format of the files. [recognised]")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and tell, log nothing.")] = False,
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Log conversations from other tools' exports. A second run of the same import adds nothing.

    A new prompt gets the system prompt of the exports as its text. Without FILE, --text alone gives a prompt its text.
    Exit code 1 when something was not logged; the rest is in.
    """
    from promptlift.cli.imports import run_import  # noqa: PLC0415
    from promptlift.cli.target import Target  # noqa: PLC0415

    if not files and text is None:
        raise typer.BadParameter("Missing argument: give the exports to import.", param_hint="FILE…")
    run_import(
        files or [],
        prompt=prompt,
        model=model,
        text=text,
        file_format=file_format,
        dry_run=dry_run,
        target=Target(base_url=base_url, data=data),
    )


@app.command()
def report(
    prompts: Annotated[list[str], typer.Argument(metavar="PROMPT...", help="Names or ids of the prompts.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write: .html, .pdf, .xlsx, .md, .csv, .parquet, .csv.zip or .parquet.zip.",
        ),
    ],
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of the report.")] = None,
    logo: Annotated[
        Path | None, typer.Option("--logo", metavar="FILE", help="A PNG or JPEG picture.")
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            "--period", metavar="DAYS", help="Days up to now, or FIRST..LAST such as 2026-01-01..2026-01-31."
        ),
    ] = None,
    examples: Annotated[int, typer.Option("--examples", metavar="N", help="Conversations to show.")] = 6,
    redact: Annotated[bool, typer.Option("--redact", help="Leave out everything that was said.")] = False,  # noqa: FBT002
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Write the report of a prompt, or of several side by side, in the format that the file's ending says."""
    from promptlift.cli.reporting import write_report  # noqa: PLC0415
    from promptlift.cli.target import Target  # noqa: PLC0415

    write_report(
        prompts,
        out=out,
        target=Target(base_url=base_url, data=data),
        title=title,
        logo=logo,
        redact=redact,
        period=period,
        examples=examples,
    )
