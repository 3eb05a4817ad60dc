"""Write a file so that readers see all of it or none."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["append_private", "atomic_write", "create_private"]

_BINARY = getattr(os, "O_BINARY", 0)  # only on Windows


def atomic_write(path: Path, data: bytes) -> None:
    """Write `data` to a temporary file in the same folder, then rename it to `path`.

    An existing file stays unchanged until then, even if writing fails, and keeps its permissions. Links are
    followed. The data are on disk before the rename: a power failure leaves the old file or the new one.

    Parameters
    ----------
    path
        The file; its folder must exist.
    data
        All of its content.

    Raises
    ------
    OSError
        The file cannot be written: no space, no permission, no such folder. Nothing is left behind.
    """
    target = Path(os.path.realpath(path))
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = stat.S_IMODE(target.stat().st_mode)
    # Nobody may read the temporary file who may not read the file itself.
    with _written(target, data, mode=0o666 if mode is None else 0o600) as part:
        if mode is not None:
            part.chmod(mode)
        part.replace(target)


def create_private(path: Path, data: bytes) -> None:
    """Create a file readable only by its owner; an existing file stays unchanged.

    If several processes do it at once, one creates it, and all find it complete afterwards.

    Parameters
    ----------
    path
        The file; its folder must exist.
    data
        All of its content.

    Raises
    ------
    OSError
        The file cannot be written. Nothing is left behind.
    """
    with _written(path, data, mode=0o600) as part, contextlib.suppress(FileExistsError):
        os.link(part, path)


def append_private(path: Path, data: bytes) -> None:
    """Append to a file readable only by its owner, which is created if missing; the data are on disk afterwards.

    A power failure may leave a part of the data at the end of the file.

    Parameters
    ----------
    path
        The file; its folder must exist.
    data
        What to append.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _BINARY, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _written(target: Path, data: bytes, *, mode: int) -> Iterator[Path]:
    """Write a temporary file next to `target`, on disk when the block begins, and remove it after the block."""
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield part
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
