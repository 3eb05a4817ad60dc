"""Write a file so that readers see all of it or none."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

__all__ = ["atomic_write"]

_BINARY = getattr(os, "O_BINARY", 0)  # only on Windows


def atomic_write(path: Path, data: bytes) -> None:
    """Write `data` to a temporary file in the same folder, then rename it to `path`.

    A file that was there before stays as it was until then, also when writing fails, and keeps its permissions. Links
    are followed. The data are on the disk before the name is: a power failure leaves the old file or the new one.

    Parameters
    ----------
    path
        The file; its folder must exist.
    data
        All of its content.

    Raises
    ------
    OSError
        When the file cannot be written: no space, no permission, no such folder. Nothing is left behind.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = stat.S_IMODE(target.stat().st_mode)
    try:
        # Nobody may read the temporary file who may not read the file itself.
        descriptor = os.open(
            part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666 if mode is None else 0o600
        )
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            part.chmod(mode)
        part.replace(target)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
