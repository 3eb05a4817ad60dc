"""Folders and files that other users of the machine may read."""

from __future__ import annotations

import stat
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_READ_FILE = stat.S_IRGRP | stat.S_IROTH
_READ_FOLDER = _READ_FILE | stat.S_IXGRP | stat.S_IXOTH


class OpenFolderWarning(UserWarning):
    """Other users of the machine may read a folder with conversations."""


def readable_by_others(path: Path) -> str | None:
    """Return a warning if others may read a folder or file; ``None`` if only its owner may, or it does not exist.

    Parameters
    ----------
    path
        Folder or file.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    is_folder = stat.S_ISDIR(mode)
    if not mode & (_READ_FOLDER if is_folder else _READ_FILE):
        return None
    kind, closed = ("folder", "700") if is_folder else ("file", "600")
    return (
        f"Other users of this machine may read the {kind} {path} (mode {stat.S_IMODE(mode):o}), and "
        f"conversations are stored there. Make it private: chmod {closed} {path}"
    )


def warn_when_open(path: Path) -> None:
    """Warn when other users may read a folder.

    Parameters
    ----------
    path
        The folder.
    """
    problem = readable_by_others(path)
    if problem is not None:
        warnings.warn(problem, OpenFolderWarning, stacklevel=3)
