"""Write a report atomically."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from promptlift.errors import ConfigError, PromptliftError

__all__ = ["check_target", "write_whole"]


def check_target(path: Path) -> None:
    """Refuse a path that cannot be written, before any work is done.

    Raises
    ------
    ConfigError
        When the path is a folder, or its folder does not exist.
    """
    if path.is_dir():
        raise ConfigError(f"{path} is a folder. Name a file in it, such as {path / 'report.html'}.")
    if not path.parent.is_dir():
        raise ConfigError(f"There is no folder {path.parent}. Create it first, or choose another one.")


def write_whole(path: Path, data: bytes) -> None:
    """Write to a temporary file next to the target and rename it once it is complete.

    An existing file stays as it is until then, also when writing fails. A link is followed.

    Raises
    ------
    PromptliftError
        When the file cannot be written, for example without space or permission.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            part.chmod(stat.S_IMODE(target.stat().st_mode))  # same readers as the file it replaces
        part.replace(target)
    except OSError as error:
        raise PromptliftError(
            f"The report could not be written to {path}: {error.strerror or error}. "
            "Nothing was changed. Free some space or choose another path, and write it again."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
