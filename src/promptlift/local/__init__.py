"""The embedded service, started from Python: ``promptlift.local()``.

The service is a process of its own on loopback, with its database in a folder of the user. All
notebooks and commands that name the same folder share one service process: the first starts it, the
others join it, and it ends when the last of them has closed its workspace or has ended, in whatever
way. Work that is unfinished then, such as insights still to be derived, continues at the next start.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

from promptlift.errors import ConfigError
from promptlift.local.folder import DataFolder
from promptlift.local.samples import InsightsMissing, log_samples, wait_for_insights
from promptlift.local.service_use import ServiceUse
from promptlift.schema.limits import PLANS

if TYPE_CHECKING:
    from pathlib import Path

    from promptlift.workspace import Workspace

__all__ = ["DataFolder", "InsightsMissing", "ServiceUse", "local", "log_samples", "wait_for_insights"]


def local(data: str | Path | None = None, *, plan: str | None = None, progress: bool = True) -> Workspace:
    """Start the embedded service, or join it if it runs already, and return a workspace on it.

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
        Closing it releases the service; the service ends with its last user.

    Raises
    ------
    ServiceStartError
        The service did not start; the message has the end of its log and says what to do next.
    """
    if plan is not None and plan not in PLANS:
        raise ConfigError(f"There is no plan {plan!r}: choose one of {', '.join(PLANS)}.")
    folder = DataFolder(data)
    from promptlift.local.workspace import LocalWorkspace  # noqa: PLC0415  what only starts a service needs no tables

    return LocalWorkspace(folder, plan=plan, progress=progress)


class _CallableModule(types.ModuleType):
    """``promptlift.local`` is this module once anything has imported it, and stays callable."""

    def __call__(self, *arguments: Any, **options: Any) -> Workspace:
        return local(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
