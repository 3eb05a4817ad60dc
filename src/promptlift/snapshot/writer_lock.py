"""One writer at a time: the lock of a snapshot, and who holds it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from promptlift.atomic_write import atomic_write
from promptlift.errors import SnapshotBusy
from promptlift.file_lock import file_lock, try_acquire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["only_writer"]

_LOCK: Final = ".lock"
_OWNER: Final = ".writer.json"


@contextlib.contextmanager
def only_writer(root: Path) -> Iterator[None]:
    """Hold the lock of a snapshot; whoever reads it needs none.

    Raises
    ------
    SnapshotBusy
        When another process, or another thread of this one, writes it now.
    """
    root.mkdir(parents=True, exist_ok=True)
    lock = file_lock(root / _LOCK)
    if not try_acquire(lock):
        raise SnapshotBusy(
            f"{root} is being written {_owner(root)}. Wait until that is done, or pull into another folder; reading it is "
            "possible all the while."
        )
    try:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        atomic_write(
            root / _OWNER,
            json.dumps({"process": os.getpid(), "host": socket.gethostname(), "since": now}).encode(),
        )
        yield
    finally:
        (root / _OWNER).unlink(missing_ok=True)
        lock.release()


def _owner(root: Path) -> str:
    try:
        found = json.loads((root / _OWNER).read_bytes())
        return f"by process {found['process']} on {found['host']} since {found['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "by another process"
