"""The embedded service, started from Python: ``promptlift.local()``.

The service is a process of its own on loopback, with its database in a folder of the user. All
notebooks and commands that name the same folder share one service process: the first starts it, the
others join it, and it ends when the last of them has closed its workspace or has ended, in whatever
way. Work that is unfinished then, such as insights still to be derived, goes on with the next start.
"""

from __future__ import annotations

import atexit
import os
import sys
import types
import weakref
from typing import TYPE_CHECKING, Any

from promptlift.errors import ConfigError
from promptlift.local.folder import DataFolder
from promptlift.local.process import ServiceUse
from promptlift.local.sampling import log_samples, wait_for_insights

if TYPE_CHECKING:
    from pathlib import Path

    from promptlift.workspace import Workspace

__all__ = ["DataFolder", "ServiceUse", "local", "log_samples", "wait_for_insights"]

PLANS = ("free", "pro", "enterprise")

_uses: dict[Path, ServiceUse] = {}
_workspaces: dict[Path, weakref.WeakSet[Workspace]] = {}


def local(data: str | Path | None = None, *, plan: str | None = None, progress: bool = True) -> Workspace:
    """Start the embedded service, or join it where it runs, and give a workspace on it.

    Parameters
    ----------
    data
        Folder of the database, the key and the log; ``PROMPTLIFT_DATA``, else the user's data folder.
    plan
        Plan whose limits hold: ``free``, ``pro`` or ``enterprise``; the default is that of a running
        service, else ``enterprise``, which limits nothing.
    progress
        Whether reads show a progress bar.

    Returns
    -------
    Workspace
        Its ``close`` gives the service back: the last user's ends it.

    Raises
    ------
    ServiceStartError
        The service did not start; the message has the end of its log and says what to do.
    """
    if plan is not None and plan not in PLANS:
        raise ConfigError(f"There is no plan {plan!r}: choose one of {', '.join(PLANS)}.")
    folder = DataFolder(data)
    use = _use(folder, plan)
    from promptlift.workspace import connect  # noqa: PLC0415  what only starts a service needs no tables

    workspace = connect(use.base_url, folder.key(), progress=progress)
    _workspaces.setdefault(folder.path, weakref.WeakSet()).add(workspace)
    _give_back_at_close(workspace, folder.path)
    return workspace


def _use(folder: DataFolder, plan: str | None) -> ServiceUse:
    """Use of the folder by this process: one, however many workspaces."""
    known = _uses.get(folder.path)
    if known is not None and known.process_id == os.getpid() and known.lives():
        if plan not in (None, known.plan):
            raise ConfigError(f"The service of {folder.path} runs with plan {known.plan}: close it first.")
        return known
    if known is not None:
        known.end(wait=False)
    _uses[folder.path] = ServiceUse(folder, plan=plan)
    return _uses[folder.path]


def _give_back_at_close(workspace: Workspace, path: Path) -> None:
    close = workspace.close

    def close_and_give_back() -> None:
        try:
            close()
        finally:
            _give_back(path, workspace)

    workspace.close = close_and_give_back  # type: ignore[method-assign]


def _give_back(path: Path, workspace: Workspace) -> None:
    """End the use of the folder when `workspace` was the last open one of this process."""
    others = _workspaces.get(path, weakref.WeakSet())
    others.discard(workspace)
    if not others and path in _uses:
        _uses.pop(path).end()


def _end_all() -> None:
    for use in list(_uses.values()):
        use.end(wait=False)
    _uses.clear()


atexit.register(_end_all)


class _CallableModule(types.ModuleType):
    """``promptlift.local`` is this module once anything has imported it, and stays callable."""

    def __call__(self, *arguments: Any, **options: Any) -> Workspace:
        return local(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
