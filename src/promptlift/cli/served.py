"""The lock that allows only one service process, and warnings about unsafe ways of serving."""

from __future__ import annotations

import ipaddress
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from promptlift.errors import ServiceStartError
from promptlift.file_lock import file_lock, try_acquire
from promptlift.local.folder import DataFolder, ServiceRecord
from promptlift.local.privacy import readable_by_others
from promptlift.service.settings import DATABASE_NAME, ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from filelock import FileLock

__all__ = ["Served", "plain_http", "warn"]

# Checking whether a service is running takes its lock for a moment, so one refusal proves nothing.
_LOCK_SECONDS = 2.0


class Served:
    """A SQLite file, which only one service process may serve at a time. No lock if the database is a server.

    The file may be given by its data folder or by its address.

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
        """Lock out other services; raise if one is already running."""
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
            f"A service{who} already serves {what}. Use that one, stop it, or choose another folder with "
            "--data."
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


def plain_http(base_url: str) -> str | None:
    """Return a warning about an address that other machines reach over plain HTTP."""
    host = urlsplit(base_url).hostname or ""
    if ipaddress.ip_address(host).is_loopback:
        return None
    return (
        f"Listening on {host} exposes the service to the network over plain HTTP: anybody in between can "
        "read the keys and the conversations. Put a TLS proxy in front of it, or listen on 127.0.0.1."
    )


def warn(problems: Iterable[str | None]) -> None:
    """Print warnings on standard error."""
    for problem in filter(None, problems):
        sys.stderr.write(f"promptlift: {problem}\n")
    sys.stderr.flush()
