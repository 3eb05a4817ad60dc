"""Start, join and end the service process of a data folder."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from promptlift.errors import ServiceStartError
from promptlift.file_lock import try_acquire
from promptlift.local.folder import check_platform, usable
from promptlift.local.privacy import warn_when_open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filelock import FileLock

    from promptlift.local.folder import DataFolder, ServiceRecord

START_SECONDS = 60.0
STOP_SECONDS = 20.0
_ANSWER_SECONDS = 5.0
_PAUSE = 0.03
_threads = threading.RLock()
# A service may outlive the workspace that started it; its process is reaped after it ends.
_children: list[subprocess.Popen[bytes]] = []


class ServiceUse:
    """One use of a data folder's service by this process.

    Parameters
    ----------
    folder
        The data folder.
    plan
        Plan of the account; ``None`` for that of a running service, or else ``enterprise``.

    Attributes
    ----------
    base_url
        Address up to and including ``/api/v1``.
    pid
        Process id of the service.
    plan
        Plan that sets the limits.
    """

    def __init__(self, folder: DataFolder, *, plan: str | None = None) -> None:
        self.folder = folder
        self.process_id = os.getpid()
        self._plan = plan
        self._child: subprocess.Popen[bytes] | None = None
        self._user_lock: FileLock | None = None
        check_platform()
        warn_when_open(folder.path)
        with usable(folder.path), _start_lock_held(folder):
            self._user_lock = folder.new_user_lock()
            try:
                record = self._join_or_start()
            except BaseException:
                self._end_child()
                self._release_user_lock()
                raise
        self.base_url = record.base_url
        self.pid = record.pid
        self.plan = record.plan

    def lives(self) -> bool:
        """Return whether the service still answers at this address."""
        record = self.folder.read_record()
        return (
            record is not None
            and record.base_url == self.base_url
            and self.folder.service_lives()
            and _status(record, self.folder.key()) == HTTPStatus.OK
        )

    def end(self, *, wait: bool = True) -> None:
        """Stop using the service; it ends when it has no other user.

        Parameters
        ----------
        wait
            Whether to wait until the service process is gone.
        """
        if self._user_lock is None or self.process_id != os.getpid():
            return
        try:
            with _start_lock_held(self.folder):
                self._release_user_lock()
                record = self.folder.read_record()
                if not self.folder.in_use() and record is not None and record.embedded:
                    self._terminate(record.pid, wait=wait)
        except OSError:
            self._release_user_lock()
            if (
                not self.folder.path.exists()
            ):  # it was removed, and there is nothing left to shut down in order
                self._end_child()
        _reap_ended()

    def _join_or_start(self) -> ServiceRecord:
        deadline = time.monotonic() + START_SECONDS
        logged = self.folder.log.stat().st_size if self.folder.log.exists() else 0
        while time.monotonic() < deadline:
            record = self.folder.read_record()
            if self.folder.service_lives():
                if record is not None and self._accepts(record):
                    return record
            elif self._child is None:
                self._child, logged = self._spawn()
            elif self._child.poll() is not None:
                raise ServiceStartError(self._why(logged, f"ended with exit code {self._child.returncode}"))
            time.sleep(_PAUSE)
        if self._child is None and record is not None:
            raise ServiceStartError(
                f"The service of {self.folder.path} (pid {record.pid}) does not answer at {record.base_url}. "
                f"End it with `kill {record.pid}` and try again. Its log: {self.folder.log}"
            )
        raise ServiceStartError(self._why(logged, f"was not ready within {START_SECONDS:.0f} seconds"))

    def _accepts(self, record: ServiceRecord) -> bool:
        """Return whether the running service answers; raise if it cannot be used."""
        status = _status(record, self.folder.key())
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise ServiceStartError(
                f"A service started by hand (pid {record.pid}) serves {self.folder.path} and does not know "
                f'the key of this folder. Use promptlift.connect("{record.base_url}", api_key=…), '
                "stop that service, or choose another data folder."
            )
        if status != HTTPStatus.OK:
            return False
        if self._plan is not None and self._plan != record.plan:
            raise ServiceStartError(
                f"A service with plan {record.plan} already serves {self.folder.path}. "
                "End its other users first, leave plan out, or choose another data folder."
            )
        return True

    def _spawn(self) -> tuple[subprocess.Popen[bytes], int]:
        environment = {**os.environ, "PROMPTLIFT_API_KEY": self.folder.key()}
        # The embedded service uses the data folder's database, whatever database other services on this
        # machine use.
        environment.pop("PROMPTLIFT_DATABASE_URL", None)
        # -P: a file in the notebook's folder must not shadow a module of the service.
        command = [sys.executable, "-P", "-m", "promptlift", "serve", "--while-used", "--port", "0"]
        command += ["--data", str(self.folder.path)]
        if self._plan is not None:
            command += ["--plan", self._plan]
        log = self.folder.open_log()
        try:
            logged = os.fstat(log).st_size
            child = subprocess.Popen(  # noqa: S603  our own interpreter and module
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self.folder.path,
                start_new_session=True,  # the notebook's stop button must not reach it
            )
        finally:
            os.close(log)
        _children.append(child)
        return child, logged

    def _why(self, logged: int, what: str) -> str:
        end = self.folder.log_end(since=logged) or "(nothing: the machine may be very busy, or the disk full)"
        return f"The embedded service {what}. Its log, {self.folder.log}, ends with:\n{end}"

    def _terminate(self, pid: int, *, wait: bool) -> None:
        if not self.folder.service_lives():
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while wait and self.folder.service_lives():
            if time.monotonic() > deadline:
                self._end_child()
                return
            time.sleep(_PAUSE)
        if wait and self._child is not None:
            self._child.wait(timeout=STOP_SECONDS)

    def _end_child(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()

    def _release_user_lock(self) -> None:
        if self._user_lock is not None:
            with contextlib.suppress(OSError):
                Path(self._user_lock.lock_file).unlink()
            self._user_lock.release()
            self._user_lock = None


@contextlib.contextmanager
def _start_lock_held(folder: DataFolder) -> Iterator[None]:
    """Hold the start lock: one thread of one process at a time starts, joins or ends the service."""
    with _threads:
        lock = folder.start_lock()
        if not try_acquire(lock, timeout=START_SECONDS + STOP_SECONDS):
            raise ServiceStartError(
                f"Another process has been starting the service of {folder.path} for over a minute. "
                "End that process, or choose another data folder."
            )
        try:
            yield
        finally:
            lock.release()


def _reap_ended() -> None:
    _children[:] = [child for child in _children if child.poll() is None]


def _status(record: ServiceRecord, key: str) -> int | None:
    """Request the account from the service; return the HTTP status, ``None`` without an answer."""
    address = urlsplit(record.base_url)
    try:
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_ANSWER_SECONDS)
        with contextlib.closing(connection):
            connection.request("GET", f"{address.path}/account", headers={"Authorization": f"Bearer {key}"})
            return connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError):
        return None
