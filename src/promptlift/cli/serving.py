"""``promptlift serve``: run the service process of a data folder or a database."""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from promptlift.errors import ServiceStartError
from promptlift.local.folder import DataFolder, ServiceRecord
from promptlift.local.watch import end_when_unused

if TYPE_CHECKING:
    from pathlib import Path

    from promptlift.service.server import Ready

# A look whether a service lives takes its lock for a moment, so one refusal proves nothing.
_LOCK_SECONDS = 2.0


def run_service(
    *, host: str, port: int, data: Path | None, database: str | None, plan: str, while_used: bool
) -> None:
    """Serve until SIGINT or SIGTERM, and say on standard output when ready.

    Parameters
    ----------
    host, port
        Where to listen.
    data
        Data folder; ``None`` is ``PROMPTLIFT_DATA``, else the user's.
    database
        Address of the database; ``None`` is ``PROMPTLIFT_DATABASE_URL``, else SQLite in the folder.
    plan
        Plan of new accounts.
    while_used
        Whether to end with the last user of the folder, and to keep the key off the output.
    """
    from promptlift.service.server import serve  # noqa: PLC0415  no other command needs the server
    from promptlift.service.settings import ServiceSettings  # noqa: PLC0415

    settings = ServiceSettings.from_env(host=host, port=port, data=data, database_url=database, plan=plan)
    folder = DataFolder(settings.data)
    alone = settings.database_url is None
    lock = folder.service_lock()
    if alone and not lock.acquire(timeout=_LOCK_SECONDS):
        raise ServiceStartError(_taken(folder))

    def on_ready(ready: Ready) -> None:
        if alone:
            started = datetime.now(UTC).isoformat()
            folder.write_record(ServiceRecord(os.getpid(), ready.base_url, started, plan, while_used))
        if ready.new_key and not while_used:
            sys.stdout.write(f"New API key, shown this once: {ready.new_key}\n")
        sys.stdout.write(f"promptlift is ready at {ready.base_url}\n")
        sys.stdout.flush()

    if while_used:
        end_when_unused(folder)
    # Being told to end is no failure of a service.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    try:
        serve(settings, on_ready=on_ready)
    finally:
        if alone:
            folder.remove_record()
            lock.release()


def _taken(folder: DataFolder) -> str:
    record = folder.read_record()
    who = f" (pid {record.pid}, at {record.base_url})" if record else ""
    return (
        f"A service{who} already serves {folder.path}. Use that one, stop it, "
        "or name another folder with --data."
    )
