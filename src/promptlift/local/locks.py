"""Locks on files that the operating system lets go when their process ends, however it ends."""

from __future__ import annotations

import errno
import os
import sys
import time
from typing import TYPE_CHECKING

from promptlift.errors import ServiceStartError

if TYPE_CHECKING:
    from pathlib import Path

_PAUSE = 0.05
_BUSY = (errno.EACCES, errno.EAGAIN)


class FileLock:
    """An exclusive lock of this process on a file.

    The lock belongs to the process, not to the object: a forked child does not inherit it, and
    ``kill -9`` releases it. Two locks of one process on one file do not exclude each other.

    Parameters
    ----------
    path
        File to lock; it is made when missing, readable by its owner only.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def try_acquire(self) -> bool:
        """Take the lock if nobody has it; say whether it is ours now."""
        if self._descriptor is not None:
            return True
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _lock(descriptor):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def acquire(self, *, timeout: float) -> bool:
        """Wait up to `timeout` seconds for the lock; say whether it is ours now."""
        deadline = time.monotonic() + timeout
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE)
        return True

    def release(self) -> None:
        """Let the lock go. Harmless when it is not ours."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_held(path: Path) -> bool:
    """Say whether another process holds the lock on `path`."""
    if not path.exists():
        return False
    probe = FileLock(path)
    if probe.try_acquire():
        probe.release()
        return False
    return True


def _lock(descriptor: int) -> bool:
    if sys.platform == "win32":
        raise ServiceStartError(
            "The embedded service needs Linux or macOS. On Windows run Python in WSL, "
            "or connect to a service elsewhere with promptlift.connect()."
        )
    import fcntl  # noqa: PLC0415  absent on Windows

    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        os.close(descriptor)
        raise
    return True
