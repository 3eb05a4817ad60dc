"""The location of a snapshot: a local folder, or an address on a file system supported by fsspec, such as ``s3://``."""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlift.atomic_write import atomic_write
from promptlift.errors import MissingExtra, SnapshotDamaged, SnapshotError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["LocalFolder", "Location", "RemoteFolder", "damaged", "location_of"]


def damaged(problems: dict[str, str]) -> SnapshotDamaged:
    """Return the error that names damaged files."""
    named = "; ".join(f"{path} ({what})" for path, what in problems.items())
    return SnapshotDamaged(
        f"The snapshot is damaged: {named}. Take the files from a backup, or pull into a new folder.",
        problems=problems,
    )


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Describe a file that exists but cannot be read: no permission, a link to itself, a broken disk."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise damaged({path: f"unreadable: {error.strerror}"}) from None


class LocalFolder:
    """A local folder. Paths of files are relative to it, with ``/``, and nothing outside it is ever opened.

    Parameters
    ----------
    folder
        The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.place = folder
        self._root = Path(os.path.realpath(folder))

    def file(self, path: str) -> Path:
        """Return the path of a file, existing or not.

        Raises
        ------
        SnapshotDamaged
            A link leads out of the folder, or the path is not a regular file: opening a pipe or a device may
            block forever.
        """
        found = self._inside(path)
        if found.exists() and not found.is_file():
            raise damaged({path: "not a regular file"})
        return found

    def _inside(self, path: str) -> Path:
        found = Path(os.path.realpath(self.place / path))
        if not found.is_relative_to(self._root):
            raise damaged({path: "a link that leads out of the snapshot"})
        return found

    def read(self, path: str) -> bytes:
        """Return a whole file.

        Raises
        ------
        FileNotFoundError
            The file does not exist.
        SnapshotDamaged
            It is not a file in the folder, or cannot be read.
        """
        with _named(path):
            return self.file(path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        """Write a complete file: readers see all of it or its previous content."""
        target = self.file(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(target, data)

    def remove_unfinished(self, path: str) -> None:
        """Remove leftovers of a file from killed writers."""
        target = self.place / path
        for one in target.parent.glob(f".{target.name}.*.part"):
            one.unlink(missing_ok=True)

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        return (self.place / path).exists()

    def paths(self, folder: str) -> list[str]:
        """Return all files below a folder."""
        self._inside(folder)
        return sorted(
            (Path(at) / name).relative_to(self.place).as_posix()
            for at, _, files in os.walk(self.place / folder)
            for name in files
        )

    def remove(self, paths: Sequence[str]) -> None:
        """Remove files, and folders left empty."""
        for path in paths:
            folder, name = posixpath.split(path)
            target = self._inside(folder) / name
            target.unlink(missing_ok=True)
            for above in target.parents:
                if above == self._root or any(above.iterdir()):
                    break
                above.rmdir()

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with all its files."""
        shutil.rmtree(self.place / folder, ignore_errors=True)

    def stamp(self, path: str) -> tuple[int, object]:
        """Return the size of a file, and a mark that changes with its content, without reading it."""
        with _named(path):
            found = self.file(path).stat()
        return found.st_size, (found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


class RemoteFolder:
    """An address on a file system supported by fsspec. Its files are objects, each written in one piece.

    Parameters
    ----------
    address
        Such as ``s3://bucket/january``.
    options
        Options of the file system for fsspec.

    Raises
    ------
    MissingExtra
        The library for the address is not installed.
    """

    def __init__(self, address: str, options: Mapping[str, Any]) -> None:
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415  (an extra)

            self.system, root = url_to_fs(address, **options)
        except ImportError as error:
            raise MissingExtra(f"Reading {address.partition('://')[0]}:// addresses", "s3") from error
        except ValueError as error:
            raise SnapshotError(f"{address} is not an address that fsspec supports: {error}.") from error
        self.place = address.rstrip("/")
        self.options = dict(options)
        self.root = str(root).rstrip("/")

    def _at(self, path: str) -> str:
        return posixpath.join(self.root, path) if path else self.root

    def read(self, path: str) -> bytes:
        """Return a whole object."""
        data: bytes = self.system.cat_file(self._at(path))
        return data

    def write(self, path: str, data: bytes) -> None:
        """Put an object."""
        self.system.pipe_file(self._at(path), data)

    def create(self, path: str, data: bytes) -> bool:
        """Create an object, and return whether there was none before, as far as the store can tell."""
        try:
            self.system.pipe_file(self._at(path), data, mode="create")
        except FileExistsError:
            return False
        return True

    def remove_unfinished(self, path: str) -> None:
        """Remove nothing: objects are written in full or not at all."""

    def exists(self, path: str) -> bool:
        """Return whether an object, or one below, exists."""
        self.system.invalidate_cache()
        return bool(self.system.exists(self._at(path)))

    def paths(self, folder: str) -> list[str]:
        """Return all objects below a folder."""
        self.system.invalidate_cache()
        found = self.system.find(self._at(folder))
        root = self.root.lstrip("/")
        return sorted(one.lstrip("/").removeprefix(root).lstrip("/") for one in found)

    def remove(self, paths: Sequence[str]) -> None:
        """Remove objects."""
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                self.system.rm_file(self._at(path))

    def remove_folder(self, folder: str) -> None:
        """Remove all objects below a folder."""
        self.remove(self.paths(folder))

    def stamp(self, path: str) -> tuple[int, object]:
        """Return the store's size, time and tag of an object."""
        self.system.invalidate_cache()
        found = self.system.info(self._at(path))
        return found["size"], repr(sorted(found.items()))


Location = LocalFolder | RemoteFolder


def location_of(
    folder: str | os.PathLike[str] | Location, options: Mapping[str, Any] | None = None
) -> Location:
    """Return the location for a folder's name or an address.

    Parameters
    ----------
    options
        Options of the file system of an address.
    """
    if not isinstance(folder, str | os.PathLike):
        return folder
    text = os.fspath(folder)
    if "://" in text and not text.startswith("file://"):
        return RemoteFolder(text, options or {})
    return LocalFolder(Path(text.removeprefix("file://")))
