"""The embedded service, started from Python: ``promptlift.local()``.

The service is a separate process on loopback, with its database in a folder of the user. All notebooks and
commands that use the same folder share one service process: the first starts it, the others join it, and it
ends when the last of them has closed its workspace or has ended, however it ended. Unfinished work, such as
pending insights, continues at the next start.
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
    """Start the embedded service, or join it if it is already running, and return a workspace on it.

    Parameters
    ----------
    data
        Folder of the database, the key and the log; ``PROMPTLIFT_DATA``, or else the user's data folder.
    plan
        Plan that sets the limits: ``free``, ``pro`` or ``enterprise``; by default the account's plan, and for
        a new account ``enterprise``, which has no limits.
    progress
        Whether reads show a progress bar.

    Returns
    -------
    Workspace
        Closing it releases the service; the service ends with its last user.

    Raises
    ------
    ServiceStartError
        The service did not start; the message contains the end of its log and what to do next.
    """
    if plan is not None and plan not in PLANS:
        raise ConfigError(f"There is no plan {plan!r}: choose one of {', '.join(PLANS)}.")
    folder = DataFolder(data)
    from promptlift.local.workspace import LocalWorkspace  # noqa: PLC0415  what only starts a service needs no tables

    return LocalWorkspace(folder, plan=plan, progress=progress)


class _CallableModule(types.ModuleType):
    """Keeps ``promptlift.local`` callable once this module has been imported under that name."""

    def __call__(self, *arguments: Any, **options: Any) -> Workspace:
        return local(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
