"""The workspaces of this process on embedded services; the last one that is closed releases its service."""

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
    """A workspace on the embedded service. The last one that is closed ends the service.

    Parameters
    ----------
    folder
        Data folder of the service.
    plan
        Plan whose limits hold, ``None`` for that of a running service.
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
        """Return where the data are, in words, and whether in a temporary folder, which will not last."""
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
    """Return the use of the folder by this process: one, however many workspaces there are."""
    known = _uses.get(folder.path)
    if known is not None and known.process_id == os.getpid() and known.lives():
        if plan not in (None, known.plan):
            raise ServiceStartError(
                f"The service of {folder.path} runs with plan {known.plan}. Close its workspaces first, "
                "leave plan out, or name another data folder."
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
