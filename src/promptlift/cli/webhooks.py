"""``promptlift listen`` and ``promptlift webhooks``: receive deliveries, list webhooks, and resume those that failed."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003  typer reads the annotations
from typing import Annotated

import typer

from promptlift.cli.options import BaseUrl, Data, open_service

__all__ = ["listen", "webhooks_app"]

webhooks_app = typer.Typer(
    help="List the webhooks of an account, and resume those that failed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@webhooks_app.command("list")
def list_webhooks(base_url: BaseUrl = None, data: Data = None) -> None:
    """List the webhooks with their ids and whether they are failing."""
    with open_service(base_url, data) as lift:
        webhooks = lift.client.webhooks.list().data
    if not webhooks:
        sys.stdout.write("There are no webhooks.\n")
    for one in webhooks:
        sys.stdout.write(f"{one.id}  {one.status:7}  {one.url}  {', '.join(one.events)}\n")


@webhooks_app.command("resume")
def resume_webhook(
    webhook: Annotated[str, typer.Argument(help="Id of the webhook, as shown by `webhooks list`.")],
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Make a failing webhook active again, and deliver its waiting events."""
    with open_service(base_url, data) as lift:
        resumed = lift.client.webhooks.resume(webhook)
    sys.stdout.write(f"The webhook {resumed.id} is {resumed.status}: waiting events are delivered now.\n")


def listen(
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 8787,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    forward: Annotated[
        str | None,
        typer.Option(
            "--forward", metavar="URL", help="Forward every verified delivery to this address, byte for byte."
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
        typer.Option("--certificate", metavar="FILE", help="Certificate (PEM) for HTTPS."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="Its private key. [default: in the same file]"),
    ] = None,
) -> None:
    """Receive webhook deliveries until Ctrl-C: verify each one, print a line for it, and optionally forward it.

    Webhooks are sent to HTTPS addresses: give a certificate, or put a tunnel or proxy in front.
    """
    from promptlift.cli.listening import EventServer, secret_of  # noqa: PLC0415

    files = {"certificate": certificate, "key": key}
    server = EventServer(secret_of(secret_file), (host, port), tolerance=tolerance, forward=forward, **files)
    server.run()
