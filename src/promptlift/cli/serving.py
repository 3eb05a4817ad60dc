"""``promptlift serve`` and ``promptlift worker``: run the service process of a data folder or a database."""

from __future__ import annotations

import gc
import os
import signal
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from promptlift.cli.accounts import Plan  # noqa: TC001  typer reads the annotations
from promptlift.cli.options import Data, Database, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.service.server import Ready

__all__ = ["serve", "worker"]


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
            help="Plan of the first account, which sets its limits. [default: its current plan; enterprise for a new one]"
        ),
    ] = None,
    worker: Annotated[
        bool,
        typer.Option(
            "--worker/--no-worker",
            help="Do the background work too. With --no-worker, `promptlift worker` must do it, on PostgreSQL only.",
        ),
    ] = True,
    rehearsal_seconds: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=3600,
            help="Duration of a rehearsal that needs every pass, in seconds, so that it can be watched. [default: as fast as possible]",
        ),
    ] = None,
    while_used: Annotated[bool, typer.Option("--while-used", hidden=True)] = False,
) -> None:
    """Run the service until Ctrl-C. The first start prints a new API key, which is not shown again."""
    _leave_processors_to_requests()
    from promptlift.cli.served import Served, plain_http, warn  # noqa: PLC0415  help needs no service
    from promptlift.local.end_when_unused import end_when_unused  # noqa: PLC0415
    from promptlift.local.folder import DataFolder, ServiceRecord, check_platform, usable  # noqa: PLC0415
    from promptlift.service.settings import ServiceSettings  # noqa: PLC0415

    check_platform()
    run = _load_server()
    settings = ServiceSettings.from_env(
        host=host,
        port=port,
        data=data,
        database_url=database,
        plan=None if plan is None else plan.value,
        work=worker,
        rehearsal_seconds=rehearsal_seconds,
    )

    def on_ready(ready: Ready) -> None:
        if ready.new_key and not while_used:
            sys.stdout.write(f"New API key, shown only this once: {ready.new_key}\n")
            sys.stdout.flush()
        started = datetime.now(UTC).isoformat()
        served.record(ServiceRecord(os.getpid(), ready.base_url, started, ready.plan, while_used))
        sys.stdout.write(f"promptlift is ready at {ready.base_url}\n")
        sys.stdout.flush()
        if not while_used:
            warn([plain_http(ready.base_url), *served.open_to_others()])

    with usable(settings.data):
        served = Served(settings)
        served.lock()
        if while_used:
            end_when_unused(DataFolder(settings.data))
        # SIGTERM is not a failure of the service.
        signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
        try:
            run(settings, on_ready=on_ready)
        finally:
            served.release()


def worker(*, database: Database = None) -> None:
    """Do background work (insights, optimizations, regression tests) until Ctrl-C, in addition to `serve` on PostgreSQL.

    Any number of workers may run, on any machines, with the same variables as `serve`.
    """
    _leave_processors_to_requests()
    from promptlift.service.work import work  # noqa: PLC0415  help needs no service

    def on_ready() -> None:
        sys.stdout.write("promptlift worker is ready\n")
        sys.stdout.flush()

    work(settings_of(None, database), on_ready=on_ready)


def _leave_processors_to_requests() -> None:
    """Limit OpenBLAS to one thread before it is loaded: matrices of topics are small, and idle threads would spin while they wait."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _load_server() -> Callable[..., None]:
    """Load the server, which no other command needs, with garbage collection paused."""
    gc.disable()
    from promptlift.service.server import serve  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    return serve
