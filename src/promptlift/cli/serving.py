"""``promptlift serve``: run the service process of a data folder or a database."""

from __future__ import annotations

import gc
import ipaddress
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from promptlift.errors import ServiceStartError
from promptlift.file_lock import file_lock, try_acquire
from promptlift.local.end_when_unused import end_when_unused
from promptlift.local.folder import DataFolder, ServiceRecord, usable
from promptlift.local.platform import check_platform
from promptlift.local.privacy import readable_by_others
from promptlift.service.settings import DATABASE_NAME, ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from filelock import FileLock

    from promptlift.service.server import Ready

# Checking whether a service lives takes its lock for a moment, so one refusal proves nothing.
_LOCK_SECONDS = 2.0


def run_service(
    *,
    host: str,
    port: int,
    data: Path | None,
    database: str | None,
    plan: str | None,
    while_used: bool,
    work: bool = True,
    rehearsal_seconds: float | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, and print a line when ready.

    Parameters
    ----------
    host, port
        Where to listen.
    data
        Data folder; ``None`` is ``PROMPTLIFT_DATA``, else the user's.
    database
        Address of the database; ``None`` is ``PROMPTLIFT_DATABASE_URL``, else SQLite in the folder.
    plan
        Plan of the first account; ``None`` keeps the plan that it has.
    while_used
        Whether to end with the last user of the folder, and not to print the key.
    work
        Whether to do the background work too.
    rehearsal_seconds
        Seconds of a rehearsal that needs every pass; ``None`` is ``PROMPTLIFT_REHEARSAL_SECONDS``, else as fast as it can be.
    """
    check_platform()
    serve = _load_server()
    settings = ServiceSettings.from_env(
        host=host,
        port=port,
        data=data,
        database_url=database,
        plan=plan,
        work=work,
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
            _warn([_plain_http(ready.base_url), *served.open_to_others()])

    with usable(settings.data):
        served = _Served(settings)
        served.lock()
        if while_used:
            end_when_unused(DataFolder(settings.data))
        # SIGTERM is not a failure of the service.
        signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
        try:
            serve(settings, on_ready=on_ready)
        finally:
            served.release()


def _load_server() -> Callable[..., None]:
    """Load the server, which no other command needs, without garbage collection while modules are created."""
    gc.disable()
    from promptlift.service.server import serve  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    return serve


class _Served:
    """What only one service process may serve at a time: a SQLite file. Nothing, where the database is a server.

    The file may be named by its data folder or by its address.

    Parameters
    ----------
    settings
        Settings of the service.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._file = settings.sqlite_file()
        self._folder: DataFolder | None = None
        self._lock: FileLock | None = None
        if self._file is not None and self._file.name == DATABASE_NAME:
            self._folder = DataFolder(self._file.parent)
            self._lock = self._folder.service_lock()
        elif self._file is not None:
            self._lock = file_lock(self._file.with_name(f"{self._file.name}.lock"))

    def lock(self) -> None:
        """Lock out other services; raises when one runs already."""
        if self._lock is None:
            return
        try:
            if try_acquire(self._lock, timeout=_LOCK_SECONDS):
                return
        except FileNotFoundError as error:
            raise ServiceStartError(
                f"There is no folder {Path(self._lock.lock_file).parent}. Create it first."
            ) from error
        record = self._folder.read_record() if self._folder else None
        who = f" (pid {record.pid}, at {record.base_url})" if record else ""
        what = self._folder.path if self._folder else self._file
        raise ServiceStartError(
            f"A service{who} already serves {what}. Use that one, stop it, or name another folder with --data."
        )

    def record(self, record: ServiceRecord) -> None:
        """Record that the service is ready."""
        if self._folder is not None:
            self._folder.write_record(record)

    def release(self) -> None:
        """Allow others to serve it."""
        if self._folder is not None:
            self._folder.remove_record()
        if self._lock is not None:
            self._lock.release()

    def open_to_others(self) -> list[str | None]:
        """Return warnings about files that other users of the machine may read."""
        if self._folder is not None:
            return [readable_by_others(self._folder.path)]
        return [readable_by_others(self._file)] if self._file is not None else []


def _plain_http(base_url: str) -> str | None:
    host = urlsplit(base_url).hostname or ""
    if ipaddress.ip_address(host).is_loopback:
        return None
    return (
        f"Listening on {host} opens the service to the network over plain HTTP: anybody on the way can read the keys "
        "and the conversations. Put a TLS proxy in front of it, or listen on 127.0.0.1."
    )


def _warn(problems: Iterable[str | None]) -> None:
    for problem in filter(None, problems):
        sys.stderr.write(f"promptlift: {problem}\n")
    sys.stderr.flush()
