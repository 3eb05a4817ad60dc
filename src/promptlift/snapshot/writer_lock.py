"""One writer at a time: the lock of a snapshot, and its holder."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import SnapshotBusy, SnapshotDamaged
from promptlift.file_lock import file_lock, try_acquire
from promptlift.snapshot.location import LocalFolder, RemoteFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.snapshot.location import Location

__all__ = ["OWNER", "only_writer"]

_LOCK: Final = ".lock"
# Exists while a writer is at work, and after one was killed.
OWNER: Final = ".writer.json"
# A claim on an address that was not renewed for this long belongs to a process that has ended.
_CLAIM: Final = timedelta(minutes=5)
_RENEW_SECONDS: Final = 60.0


@contextlib.contextmanager
def only_writer(location: Location) -> Iterator[None]:
    """Hold the write lock of a snapshot; readers need none.

    In a folder it is an operating system lock, which ends with its process. At an address, where there are no
    locks, it is an object with the writer's claim, renewed every minute and void after five.

    Raises
    ------
    SnapshotBusy
        Another process, or another thread of this one, is writing it.
    """
    held = _claimed(location) if isinstance(location, RemoteFolder) else _locked(location)
    with held:
        yield


@contextlib.contextmanager
def _locked(location: Location) -> Iterator[None]:
    assert isinstance(location, LocalFolder)  # noqa: S101
    root = location.place
    root.mkdir(parents=True, exist_ok=True)
    lock = file_lock(location.file(_LOCK))
    if not try_acquire(lock):
        raise _busy(location)
    try:
        location.write(OWNER, _claim())
        yield
    finally:
        location.remove([OWNER])
        lock.release()


@contextlib.contextmanager
def _claimed(location: RemoteFolder) -> Iterator[None]:
    token, since = secrets.token_hex(8), _now()
    if not location.create(OWNER, _claim(token, since)):
        found = _owner(location)
        if found is not None and _is_fresh(found):
            raise _busy(location)
        location.write(OWNER, _claim(token, since))
    # If two take over a void claim simultaneously, or the store cannot tell, the last one gets it.
    if (_owner(location) or {}).get("token") != token:
        raise _busy(location)
    done = threading.Event()

    def renew() -> None:
        while not done.wait(_RENEW_SECONDS):
            with contextlib.suppress(
                Exception
            ):  # a claim that could not be renewed once is still valid for some minutes
                location.write(OWNER, _claim(token, since))

    renewing = threading.Thread(target=renew, name="promptlift-claim", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        done.set()
        renewing.join()
        if (_owner(location) or {}).get("token") == token:
            location.remove([OWNER])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _claim(token: str = "", since: str | None = None) -> bytes:
    owner = {"process": os.getpid(), "host": socket.gethostname(), "since": since or _now()}
    return json.dumps({**owner, "renewed": _now(), "token": token}).encode()


def _is_fresh(owner: dict[str, Any]) -> bool:
    try:
        return datetime.now(UTC) - datetime.fromisoformat(owner["renewed"]) < _CLAIM
    except (KeyError, TypeError, ValueError):
        return False


def _owner(location: Location) -> dict[str, Any] | None:
    try:
        found = json.loads(location.read(OWNER))
    except (OSError, ValueError, SnapshotDamaged):
        return None
    return found if isinstance(found, dict) else None


def _busy(location: Location) -> SnapshotBusy:
    found = _owner(location) or {}
    by = "by another process"
    if {"process", "host", "since"} <= found.keys():
        by = f"by process {found['process']} on {found['host']} since {found['since']}"
    return SnapshotBusy(
        f"{location.place} is being written {by}. Wait until that is done, or pull into another folder; "
        "reading it is possible meanwhile."
    )
