"""The workspaces of this process on embedded services; closing the last one releases its service."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from promptlift.client import configure
from promptlift.errors import ServiceStartError
from promptlift.local.service_use import ServiceUse
from promptlift.workspace import Workspace

if TYPE_CHECKING:
    from promptlift.local.folder import DataFolder

_threads = threading.RLock()
_uses: dict[Path, ServiceUse] = {}
_open: dict[Path, weakref.WeakSet[LocalWorkspace]] = {}


class LocalWorkspace(Workspace):
    """A workspace on the embedded service. Closing the last one ends the service.

    Parameters
    ----------
    folder
        Data folder of the service.
    plan
        Plan that sets the limits; ``None`` for that of a running service.
    progress
        Whether reads show a progress bar.
    """

    def __init__(self, folder: DataFolder, *, plan: str | None = None, progress: bool = True) -> None:
        with _threads:
            use = _use(folder, plan)
            _open.setdefault(folder.path, weakref.WeakSet()).add(self)
        super().__init__(configure(use.base_url, folder.key()), progress=progress)
        self._folder_path = folder.path

    def _place(self) -> str:
        """Describe where the data are, and return whether the folder is temporary."""
        folder, temporary = self._folder_path, Path(tempfile.gettempdir()).resolve()
        if folder.is_relative_to(temporary):
            return f"on this computer, in the temporary folder {folder.relative_to(temporary)}"
        home = Path.home()
        shown = Path("~") / folder.relative_to(home) if folder.is_relative_to(home) else folder
        return f"on this computer, in {shown}"

    def close(self) -> None:
        """Close all connections and release the service; it ends when it has no other user."""
        super().close()
        with _threads:
            others = _open.get(self._folder_path, weakref.WeakSet())
            others.discard(self)
            if not others and self._folder_path in _uses:
                _uses.pop(self._folder_path).end()


def _use(folder: DataFolder, plan: str | None) -> ServiceUse:
    """Return this process's single use of the folder, shared by all its workspaces."""
    known = _uses.get(folder.path)
    if known is not None and known.process_id == os.getpid() and known.lives():
        if plan not in (None, known.plan):
            raise ServiceStartError(
                f"The service of {folder.path} runs with plan {known.plan}. Close its workspaces first, "
                "leave plan out, or choose another data folder."
            )
        return known
    if known is not None:
        known.end(wait=False)
    _uses[folder.path] = ServiceUse(folder, plan=plan)
    return _uses[folder.path]


@atexit.register
def _end_all() -> None:
    for use in list(_uses.values()):
        use.end(wait=False)
    _uses.clear()
