"""Every command and its options; what a command does is in a module of its own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from promptlift._version import __version__
from promptlift.cli.check import check
from promptlift.cli.importing.commands import import_files, prompts_app
from promptlift.cli.learning import learn
from promptlift.cli.maintenance.commands import migrate, vacuum
from promptlift.cli.options import Account, BaseUrl, Data, Database  # noqa: TC001  typer reads the annotations
from promptlift.cli.snapshots.commands import export, pull, verify

app = typer.Typer(
    help="Explore how LLM prompts perform: run the service, import conversations, write reports.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
keys_app = typer.Typer(help="Manage the API keys of a service.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(keys_app, name="keys")
accounts_app = typer.Typer(
    help="Manage the accounts of a service, each with keys and limits of its own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(accounts_app, name="accounts")
webhooks_app = typer.Typer(
    help="List the webhooks of an account, and resume those that failed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(webhooks_app, name="webhooks")
app.add_typer(prompts_app, name="prompts")


class Plan(StrEnum):
    """The plans of an account."""

    FREE = "free"
    PRO = "pro"
    ENTERPRISE = "enterprise"


def _limit(name: str, what: str) -> Any:
    return typer.Option(name, metavar="N", help=f"Limit of {what}; `plan` for that of the plan.")


PromptsLimit = Annotated[str | None, _limit("--prompts", "active prompts (enterprise)")]
OptimizationsLimit = Annotated[str | None, _limit("--optimizations", "optimizations a month (enterprise)")]
ConversationsLimit = Annotated[str | None, _limit("--conversations", "conversations a month (enterprise)")]
RequestsLimit = Annotated[str | None, _limit("--requests", "requests a minute (enterprise)")]
TokensLimit = Annotated[str | None, _limit("--tokens", "LLM tokens a month")]


def _limits(**given: str | None) -> dict[str, int | None]:
    """Read limits: numbers, and ``plan`` for that of the plan."""
    read: dict[str, int | None] = {}
    for name, value in given.items():
        if value is None:
            continue
        if value != "plan" and not (value.isascii() and value.isdecimal()):
            raise typer.BadParameter(
                f"must be a whole number or `plan`, not {value!r}", param_hint=f"--{name.partition('_')[0]}"
            )
        read[name] = None if value == "plan" else int(value)
    return read


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
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 8000,
    data: Data = None,
    database: Database = None,
    plan: Annotated[
        Plan | None,
        typer.Option(
            help="Plan of the first account, which sets its limits. [default: the plan that it has; enterprise for a new one]"
        ),
    ] = None,
    worker: Annotated[
        bool,
        typer.Option(
            "--worker/--no-worker",
            help="Do the background work too. Without it, `promptlift worker` has to: on PostgreSQL only.",
        ),
    ] = True,
    rehearsal_seconds: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=3600,
            help="Seconds that a rehearsal takes when it needs every pass, so that it can be watched. [default: as fast as it can be]",
        ),
    ] = None,
    while_used: Annotated[bool, typer.Option("--while-used", hidden=True)] = False,
) -> None:
    """Run the service until Ctrl-C. The first start prints a new API key, which is not shown again."""
    from promptlift.cli.serving import run_service  # noqa: PLC0415

    run_service(
        host=host,
        port=port,
        data=data,
        database=database,
        plan=None if plan is None else plan.value,
        work=worker,
        rehearsal_seconds=rehearsal_seconds,
        while_used=while_used,
    )


@app.command()
def worker(*, database: Database = None) -> None:
    """Do background work (insights, optimizations, regression tests) until Ctrl-C, beside `serve` on PostgreSQL.

    Any number of workers may run, on any machines, with the variables that `serve` has.
    """
    from promptlift.cli.working import run_worker  # noqa: PLC0415

    run_worker(database=database)


@keys_app.command("create")
def keys_create(
    *,
    name: Annotated[str, typer.Option(help="What the key is for.")] = "command line",
    account: Account = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Create an API key and print it. Only its hash is stored, so it cannot be shown again.

    Without --account it is for the first account.
    """
    from promptlift.cli.maintenance.keys import create  # noqa: PLC0415

    create(name, account=account, data=data, database=database)


@keys_app.command("list")
def keys_list(account: Account = None, data: Data = None, database: Database = None) -> None:
    """List the API keys, of one account or of all, with their prefixes and ids."""
    from promptlift.cli.maintenance.keys import show  # noqa: PLC0415

    show(account=account, data=data, database=database)


@keys_app.command("revoke")
def keys_revoke(
    key: Annotated[str, typer.Argument(help="Prefix or id of the key, as shown by `keys list`.")],
    data: Data = None,
    database: Database = None,
) -> None:
    """Revoke an API key, immediately and permanently."""
    from promptlift.cli.maintenance.keys import revoke  # noqa: PLC0415

    revoke(key, data=data, database=database)


@accounts_app.command("create")
def accounts_create(
    *,
    name: Annotated[str, typer.Argument(help="Name of the organization.")] = "My workspace",
    email: Annotated[str, typer.Option("--email", metavar="EMAIL", help="E-mail address of the account.")],
    plan: Annotated[Plan, typer.Option(help="Plan, which sets the limits.")] = Plan.ENTERPRISE,
    prompts: PromptsLimit = None,
    optimizations: OptimizationsLimit = None,
    conversations: ConversationsLimit = None,
    requests: RequestsLimit = None,
    tokens: TokensLimit = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Create an account and print its id. `keys create --account` creates a key for it."""
    from promptlift.cli.maintenance.accounts import create  # noqa: PLC0415

    limits = _limits(
        prompts=prompts,
        optimizations_per_month=optimizations,
        conversations_per_month=conversations,
        requests_per_minute=requests,
        tokens_per_month=tokens,
    )
    own = {limit: value for limit, value in limits.items() if value is not None}
    create(name, email, plan=plan.value, limits=own, data=data, database=database)


@accounts_app.command("list")
def accounts_list(data: Data = None, database: Database = None) -> None:
    """List the accounts with their plans and limits."""
    from promptlift.cli.maintenance.accounts import show  # noqa: PLC0415

    show(data=data, database=database)


@accounts_app.command("rename")
def accounts_rename(
    account: Annotated[str, typer.Argument(help="Id, e-mail address or name of the account.")],
    name: Annotated[str | None, typer.Argument(help="New name of the organization.")] = None,
    *,
    email: Annotated[str | None, typer.Option("--email", metavar="EMAIL", help="New e-mail address.")] = None,
    plan: Annotated[Plan | None, typer.Option(help="New plan.")] = None,
    prompts: PromptsLimit = None,
    optimizations: OptimizationsLimit = None,
    conversations: ConversationsLimit = None,
    requests: RequestsLimit = None,
    tokens: TokensLimit = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Change the name, e-mail address, plan or limits of an account, at once, also while the service runs."""
    from promptlift.cli.maintenance.accounts import change  # noqa: PLC0415

    change(
        account,
        name=name,
        email=email,
        plan=None if plan is None else plan.value,
        limits=_limits(
            prompts=prompts,
            optimizations_per_month=optimizations,
            conversations_per_month=conversations,
            requests_per_minute=requests,
            tokens_per_month=tokens,
        ),
        data=data,
        database=database,
    )


@webhooks_app.command("list")
def webhooks_list(base_url: BaseUrl = None, data: Data = None) -> None:
    """List the webhooks with their ids and whether they are failing."""
    from promptlift.cli.target import Target  # noqa: PLC0415
    from promptlift.cli.webhooks import show  # noqa: PLC0415

    show(Target(base_url=base_url, data=data))


@webhooks_app.command("resume")
def webhooks_resume(
    webhook: Annotated[str, typer.Argument(help="Id of the webhook, as shown by `webhooks list`.")],
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Make a failing webhook active again, and deliver what waited meanwhile."""
    from promptlift.cli.target import Target  # noqa: PLC0415
    from promptlift.cli.webhooks import resume  # noqa: PLC0415

    resume(webhook, Target(base_url=base_url, data=data))


@app.command()
def listen(
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 8787,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    forward: Annotated[
        str | None,
        typer.Option(
            "--forward", metavar="URL", help="Send every verified delivery on to this address, byte for byte."
        ),
    ] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option(
            "--secret-file",
            metavar="FILE",
            help="File with the secret of the webhook. [default: PROMPTLIFT_WEBHOOK_SECRET]",
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            metavar="SECONDS",
            min=0,
            help="Refuse events that are older than this. [default: any age]",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", metavar="FILE", help="Certificate (PEM) to speak HTTPS with."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="Its private key. [default: in the same file]"),
    ] = None,
) -> None:
    """Receive webhook deliveries until Ctrl-C: verify each one, print a line for it, and forward it if asked to.

    Webhooks are sent to HTTPS addresses: give a certificate, or put a tunnel or proxy in front.
    """
    from promptlift.cli.listening import Listening, run_listener, secret_of  # noqa: PLC0415

    run_listener(
        Listening(
            host=host,
            port=port,
            secret=secret_of(secret_file),
            tolerance=tolerance,
            certificate=certificate,
            key=key,
            forward=forward,
        )
    )


@app.command()
def demo(
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the report and the picture.")
    ] = Path("promptlift-report"),
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Data folder to keep. [default: a temporary one]"),
    ] = None,
) -> None:
    """Try promptlift on sample conversations: log them, wait for insights, write a report and a picture."""
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


app.command("import")(import_files)
app.command()(pull)
app.command()(verify)
app.command()(export)


@app.command()
def report(
    prompts: Annotated[list[str], typer.Argument(metavar="PROMPT...", help="Names or ids of prompts.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write: .html, .pdf, .xlsx or .md.",
        ),
    ],
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of the report.")] = None,
    logo: Annotated[
        Path | None,
        typer.Option("--logo", metavar="FILE", help="PNG or JPEG picture to show beside the title."),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            "--period",
            metavar="DAYS",
            help="The last DAYS days, or FIRST..LAST such as 2026-01-01..2026-01-31.",
        ),
    ] = None,
    examples: Annotated[
        int, typer.Option("--examples", metavar="N", help="Number of example conversations.")
    ] = 6,
    redact: Annotated[bool, typer.Option("--redact", help="Leave out all text of conversations.")] = False,  # noqa: FBT002
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Write a report on one prompt, or on several side by side. The file's extension sets the format."""
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


app.command()(vacuum)
app.command()(migrate)
app.command()(check)
app.command()(learn)
