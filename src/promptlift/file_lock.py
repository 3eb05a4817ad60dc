"""Lock files. The operating system releases a lock when its process ends, however it ends."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from filelock import FileLock, Timeout

__all__ = ["file_lock", "is_held", "try_acquire"]


def file_lock(path: Path) -> FileLock:
    """Return an exclusive lock on a file, not yet acquired.

    It also excludes other locks of the same process. Any thread may release it, a forked child does not
    inherit it, and ``kill -9`` releases it.

    Parameters
    ----------
    path
        File to lock; created if missing, readable only by its owner. Its folder must exist.
    """
    return FileLock(path, mode=0o600, thread_local=False, poll_interval=0.02)


def try_acquire(lock: FileLock, *, timeout: float = 0.0) -> bool:
    """Wait up to `timeout` seconds for a lock and return whether it is ours.

    Raises
    ------
    OSError
        The file cannot be created or locked.
    """
    folder = Path(lock.lock_file).parent
    if not folder.is_dir():  # filelock would create it again after it was removed
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    try:
        lock.acquire(timeout=timeout)
    except Timeout:
        return False
    return True


def is_held(path: Path) -> bool:
    """Return whether anybody holds the lock on `path`."""
    if not path.exists():
        return False
    probe = file_lock(path)
    if try_acquire(probe):
        probe.release()
        return False
    return True
