"""The data folder of an embedded service: its files, its users and its key."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from promptlift.atomic_write import atomic_write
from promptlift.errors import ServiceStartError
from promptlift.file_lock import file_lock, is_held, try_acquire
from promptlift.service.identifiers import new_key
from promptlift.service.settings import default_data_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filelock import FileLock

_LOG_BYTES = 5 * 1024 * 1024
_LOG_END_BYTES = 16 * 1024


@dataclass(frozen=True)
class ServiceRecord:
    """The record of a running service in ``service.json``.

    Attributes
    ----------
    pid
        Process id of the service.
    base_url
        Address up to and including ``/api/v1``.
    started
        ISO 8601 time when it was ready.
    plan
        Plan of the accounts it creates.
    embedded
        Whether it ends with its last user; a manually started service does not.
    """

    pid: int
    base_url: str
    started: str
    plan: str
    embedded: bool


class DataFolder:
    """The folder of one embedded service.

    ::

        promptlift.db   the database (the service's)
        local.key       the key of the embedded service, mode 0600
        service.json    pid and address of the running service
        service.log     output of the service
        process.lock    held by the service process while it runs
        start.lock      held while a process starts, joins or ends the service
        users/          one lock file for each process that uses the service

    Parameters
    ----------
    path
        The folder; created if missing, readable only by its owner. ``None`` means ``PROMPTLIFT_DATA``, or
        else the user's data folder.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path if path is not None else default_data_folder()).expanduser().resolve()
        with usable(self.path):
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.users.mkdir(exist_ok=True, mode=0o700)

    @property
    def users(self) -> Path:
        """Folder with one lock file per user."""
        return self.path / "users"

    @property
    def log(self) -> Path:
        """File for the output of the service."""
        return self.path / "service.log"

    def start_lock(self) -> FileLock:
        """Return the lock that decides who starts or ends the service."""
        return file_lock(self.path / "start.lock")

    def service_lock(self) -> FileLock:
        """Return the lock that the service process holds while it runs."""
        return file_lock(self.path / "process.lock")

    def service_lives(self) -> bool:
        """Return whether a process serves this folder."""
        return is_held(self.path / "process.lock")

    def key(self) -> str:
        """Read the key of the embedded service; the first call creates it."""
        path = self.path / "local.key"
        with usable(path):
            if not path.exists() or not path.stat().st_size:  # empty after a start on a full disk
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    file.write(f"{new_key()}\n")
            path.chmod(0o600)
            return path.read_text(encoding="ascii").strip()

    def read_record(self) -> ServiceRecord | None:
        """Read the record of the running service; ``None`` if there is none."""
        try:
            return ServiceRecord(**json.loads((self.path / "service.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write_record(self, record: ServiceRecord) -> None:
        """Record that the service is ready; readers see the complete record or none.

        Parameters
        ----------
        record
            Process id, address and plan of the service.
        """
        atomic_write(self.path / "service.json", json.dumps(asdict(record)).encode())

    def remove_record(self) -> None:
        """Record that the service is about to end."""
        (self.path / "service.json").unlink(missing_ok=True)

    def new_user_lock(self) -> FileLock:
        """Acquire the lock that marks this process as a user. Call this with the start lock held."""
        user_lock = file_lock(self.users / f"{os.getpid()}-{secrets.token_hex(4)}")
        try_acquire(user_lock)
        return user_lock

    def in_use(self) -> bool:
        """Return whether a live process uses the service. Call this with the start lock held."""
        used = False
        for path in sorted(self.users.glob("*")):
            if is_held(path):
                used = True
            else:
                path.unlink(missing_ok=True)
        return used

    def open_log(self) -> int:
        """Open the log for a new service process and return its descriptor; a long old log is set aside."""
        with contextlib.suppress(FileNotFoundError):
            if self.log.stat().st_size > _LOG_BYTES:
                self.log.replace(self.log.with_suffix(".log.1"))
        return os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def log_end(self, *, since: int, lines: int = 12) -> str:
        """Read the last lines of the log.

        Parameters
        ----------
        since
            Byte at which to begin.
        lines
            Maximum number of lines.
        """
        try:
            with self.log.open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(since, end - _LOG_END_BYTES))
                text = file.read(_LOG_END_BYTES).decode("utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.strip().splitlines()[-lines:])


@contextlib.contextmanager
def usable(path: Path) -> Iterator[None]:
    """Convert operating system errors in the block to the error of a failed start, with a remedy.

    Parameters
    ----------
    path
        The data folder, or a file in it.
    """
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise ServiceStartError(
            f"The service cannot start with {path}: {error}. Free some space, correct the permissions, or "
            "choose another folder with data=, --data or PROMPTLIFT_DATA."
        ) from error


def check_platform() -> None:
    """Refuse to serve on Windows, where the service has never been tested.

    Raises
    ------
    ServiceStartError
        On Windows; the message explains what to do instead.
    """
    if sys.platform == "win32":
        raise ServiceStartError(
            "The embedded service needs Linux or macOS. On Windows run Python in WSL, "
            "or connect to a service elsewhere with promptlift.connect()."
        )
