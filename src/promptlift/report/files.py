"""Check the path of a report and write it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.atomic_write import atomic_write
from promptlift.errors import ConfigError, PromptliftError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_target", "write_report_file"]


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


def write_report_file(path: Path, data: bytes) -> None:
    """Write a report; an existing file stays as it is when that fails.

    Raises
    ------
    PromptliftError
        When the file cannot be written: no space, no permission.
    """
    try:
        atomic_write(path, data)
    except OSError as error:
        raise PromptliftError(
            f"The report could not be written to {path}: {error.strerror or error}. "
            "Nothing was changed. Free some space or choose another path, and write it again."
        ) from error
