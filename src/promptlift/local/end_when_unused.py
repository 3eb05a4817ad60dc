"""End the embedded service when the last of its users is gone."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

from promptlift.file_lock import try_acquire

if TYPE_CHECKING:
    from promptlift.local.folder import DataFolder

_EVERY_SECONDS = 1.0
_SHUTDOWN_SECONDS = 30.0


def end_when_unused(folder: DataFolder) -> None:
    """End this process, as if by SIGTERM, soon after the last user of `folder` is gone.

    Users hold locks on files, which the operating system releases when they end, so a killed user counts as
    gone. The check runs in its own thread.

    Parameters
    ----------
    folder
        Folder that this process serves.
    """
    threading.Thread(target=_watch, args=(folder,), name="promptlift-users", daemon=True).start()


def _watch(folder: DataFolder) -> None:
    pause = threading.Event()
    while not pause.wait(_EVERY_SECONDS):
        if _unused(folder):
            os.kill(os.getpid(), signal.SIGTERM)
            pause.wait(_SHUTDOWN_SECONDS)
            # Unfinished work is in the database and continues at the next start.
            os._exit(1)


def _unused(folder: DataFolder) -> bool:
    try:
        lock = folder.start_lock()
        if not try_acquire(lock):
            return False
        try:
            if folder.in_use():
                return False
            # Removed under the lock, so that no process joins a service that is about to end.
            folder.remove_record()
            return True
        finally:
            lock.release()
    except OSError:
        # The folder itself was removed, so it can no longer be used.
        return not folder.path.exists()
