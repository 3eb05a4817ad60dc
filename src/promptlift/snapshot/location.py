"""Where a snapshot is: a folder of this computer, or an address on a file system that fsspec knows, such as ``s3://``."""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from promptlift.atomic_write import atomic_write
from promptlift.errors import MissingExtra, SnapshotError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["LocalFolder", "Location", "RemoteFolder", "location_of"]


class Location(Protocol):
    """The files of a snapshot; their paths are relative to it, with ``/``."""

    @property
    def place(self) -> Path | str:
        """The folder, or the address."""

    def read(self, path: str) -> bytes:
        """Return a whole file.

        Raises
        ------
        FileNotFoundError
            When it is not there.
        """

    def blocks(self, path: str) -> Iterator[bytes]:
        """Yield a file in blocks, read anew."""

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file: readers see all of it or what was there before."""

    def remove_unfinished(self, path: str) -> None:
        """Remove what writers that were killed left of a file."""

    def exists(self, path: str) -> bool:
        """Whether a file, or a folder with files, is there."""

    def paths(self, folder: str) -> list[str]:
        """Return all files below a folder, in order."""

    def remove(self, paths: Sequence[str]) -> None:
        """Remove files; those that are not there do not matter."""

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with all its files."""

    def stamp(self, path: str) -> object:
        """Return what tells whether a file is still the same, without reading it."""


class LocalFolder:
    """A folder of this computer.

    Parameters
    ----------
    folder
        The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.place = folder

    def read(self, path: str) -> bytes:
        """Return a whole file."""
        return (self.place / path).read_bytes()

    def blocks(self, path: str) -> Iterator[bytes]:
        """Yield a file in blocks."""
        with (self.place / path).open("rb") as file:
            while block := file.read(1 << 20):
                yield block

    def write(self, path: str, data: bytes) -> None:
        """Write a file under another name and rename it."""
        target = self.place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(target, data)

    def remove_unfinished(self, path: str) -> None:
        """Remove the files under other names."""
        target = self.place / path
        for one in target.parent.glob(f".{target.name}.*.part"):
            one.unlink(missing_ok=True)

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return (self.place / path).exists()

    def paths(self, folder: str) -> list[str]:
        """Return all files below a folder."""
        return sorted(
            (Path(at) / name).relative_to(self.place).as_posix()
            for at, _, files in os.walk(self.place / folder)
            for name in files
        )

    def remove(self, paths: Sequence[str]) -> None:
        """Remove files, and the folders that are empty then."""
        for path in paths:
            target = self.place / path
            target.unlink(missing_ok=True)
            for above in target.parents:
                if above == self.place or any(above.iterdir()):
                    break
                above.rmdir()

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with all its files."""
        shutil.rmtree(self.place / folder, ignore_errors=True)

    def stamp(self, path: str) -> object:
        """Return size, time and inode."""
        found = (self.place / path).stat()
        return found.st_size, found.st_mtime_ns, found.st_ino


class RemoteFolder:
    """An address on a file system that fsspec knows. Its files are objects, each put whole.

    Parameters
    ----------
    address
        Such as ``s3://bucket/january``.
    options
        Of the file system, as fsspec takes them.

    Raises
    ------
    MissingExtra
        When the library for the address is not installed.
    """

    def __init__(self, address: str, options: Mapping[str, Any]) -> None:
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415  (an extra)

            self.system, root = url_to_fs(address, **options)
        except ImportError as error:
            raise MissingExtra(f"Reading {address.partition('://')[0]}:// addresses", "s3") from error
        except ValueError as error:
            raise SnapshotError(f"{address} is no address that fsspec knows: {error}.") from error
        self.place = address.rstrip("/")
        self.options = dict(options)
        self._root = str(root).rstrip("/")

    def _at(self, path: str) -> str:
        return posixpath.join(self._root, path) if path else self._root

    def read(self, path: str) -> bytes:
        """Return a whole object."""
        data: bytes = self.system.cat_file(self._at(path))
        return data

    def blocks(self, path: str) -> Iterator[bytes]:
        """Yield an object in blocks."""
        with self.system.open(self._at(path), "rb") as file:
            while block := file.read(1 << 20):
                yield block

    def write(self, path: str, data: bytes) -> None:
        """Put an object."""
        self.system.pipe_file(self._at(path), data)

    def create(self, path: str, data: bytes) -> bool:
        """Put an object where there is none, and return whether there was none, as far as the store can tell."""
        try:
            self.system.pipe_file(self._at(path), data, mode="create")
        except FileExistsError:
            return False
        return True

    def remove_unfinished(self, path: str) -> None:
        """Remove nothing: an object is put whole or not at all."""

    def exists(self, path: str) -> bool:
        """Whether an object, or one below, is there."""
        self.system.invalidate_cache()
        return bool(self.system.exists(self._at(path)))

    def paths(self, folder: str) -> list[str]:
        """Return all objects below a folder."""
        self.system.invalidate_cache()
        found = self.system.find(self._at(folder))
        root = self._root.lstrip("/")
        return sorted(one.lstrip("/").removeprefix(root).lstrip("/") for one in found)

    def remove(self, paths: Sequence[str]) -> None:
        """Remove objects."""
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                self.system.rm_file(self._at(path))

    def remove_folder(self, folder: str) -> None:
        """Remove all objects below a folder."""
        self.remove(self.paths(folder))

    def stamp(self, path: str) -> object:
        """Return nothing that is ever the same: what is read is compared with its hash each time."""
        del path
        return object()


def location_of(
    folder: str | os.PathLike[str] | Location, options: Mapping[str, Any] | None = None
) -> Location:
    """Return the location that a folder's name or an address means.

    Parameters
    ----------
    options
        Of the file system of an address.
    """
    if not isinstance(folder, str | os.PathLike):
        return folder
    text = os.fspath(folder)
    if "://" in text and not text.startswith("file://"):
        return RemoteFolder(text, options or {})
    return LocalFolder(Path(text.removeprefix("file://")))
