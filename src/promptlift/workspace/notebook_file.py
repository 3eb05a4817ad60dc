"""A small file beside the notebook, for what a service does not keep."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from promptlift.atomic_write import atomic_write
from promptlift.errors import ConfigError
from promptlift.file_lock import file_lock, try_acquire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Row = dict[str, Any]

_FORMAT: Final = 1
_LOCK_SECONDS: Final = 10.0


class NotebookFile:
    """What belongs to one service in one file, which several notebooks may use at once.

    A reader never sees half a file, and of two that write at once neither loses anything. The file has no key.

    Parameters
    ----------
    base_url
        Address of the service; one file serves many.
    path
        The file; ``None`` is the one in the working directory.
    """

    # Its name in the working directory, what it is called in messages, and its parts with what is in them at first.
    name: ClassVar[str]
    title: ClassVar[str]
    parts: ClassVar[dict[str, type]]

    def __init__(self, base_url: str, path: Path | None = None) -> None:
        self.path = (Path.cwd() / self.name) if path is None else path
        self._service = base_url

    def _read(self) -> Row:
        return self._part(self._load())

    def _change(self, change: Callable[[Row], Any]) -> Any:
        with _locked(self.path.with_name(f".{self.path.name}.lock")):
            whole = self._load()
            answer = change(self._part(whole))
            self._write(whole)
        return answer

    def _part(self, whole: Row) -> Row:
        part: Row = whole["services"].setdefault(self._service, {})
        for name, kind in self.parts.items():
            part.setdefault(name, kind())
        return part

    def _load(self) -> Row:
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return {"format": _FORMAT, "services": {}}
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be read: {error.strerror or error}.") from error
        try:
            whole = json.loads(text)
        except ValueError as error:
            raise ConfigError(
                f"{self.path} was not written by promptlift ({error}). Move it away, and a new one is started."
            ) from error
        if (
            not isinstance(whole, dict)
            or whole.get("format") != _FORMAT
            or not isinstance(whole.get("services"), dict)
        ):
            raise ConfigError(
                f"{self.path} is not a {self.title} of this version of promptlift. Move it away, and a new one is started."
            )
        return whole

    def _write(self, whole: Row) -> None:
        # ASCII with escapes, so that every text comes back byte for byte.
        data = json.dumps(whole, indent=1).encode("ascii")
        try:
            atomic_write(self.path, data)
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror or error}.") from error


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that the operating system releases when the process ends; threads of one process wait for each other too."""
    lock = file_lock(path)
    try:
        if not try_acquire(lock, timeout=_LOCK_SECONDS):
            raise ConfigError(f"Another notebook has held {path} for {_LOCK_SECONDS:.0f} seconds. Try again.")
    except OSError as error:
        raise ConfigError(f"{path.parent} cannot be written to: {error.strerror or error}.") from error
    try:
        yield
    finally:
        lock.release()
