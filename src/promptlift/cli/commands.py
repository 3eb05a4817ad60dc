"""All commands. Each loads its dependencies when it runs, so that help is fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from promptlift._version import __version__
from promptlift.cli.accounts import accounts_app, keys_app
from promptlift.cli.check import check
from promptlift.cli.demo import demo
from promptlift.cli.importing import import_files
from promptlift.cli.lab import lab
from promptlift.cli.learning import learn
from promptlift.cli.maintenance import migrate, vacuum
from promptlift.cli.reporting import report
from promptlift.cli.serving import serve, worker
from promptlift.cli.snapshots import export, pull, verify
from promptlift.cli.webhooks import listen, webhooks_app

if TYPE_CHECKING:
    from collections.abc import Callable

app = typer.Typer(
    help="Explore how LLM prompts perform: run the service, import conversations, write reports.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(keys_app, name="keys")
app.add_typer(accounts_app, name="accounts")
app.add_typer(webhooks_app, name="webhooks")


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


_COMMANDS: dict[str, Callable[..., None]] = {
    "serve": serve,
    "worker": worker,
    "listen": listen,
    "demo": demo,
    "lab": lab,
    "import": import_files,
    "pull": pull,
    "verify": verify,
    "export": export,
    "report": report,
    "vacuum": vacuum,
    "migrate": migrate,
    "check": check,
    "learn": learn,
}
for name, command in _COMMANDS.items():
    app.command(name)(command)
