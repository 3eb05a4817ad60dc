"""The other files of an import, for formats that split related data into several files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from promptlift.schema.boundary import Boundary
from promptlift.transcripts.recognition import json_records
from promptlift.transcripts.sources import encoding_of, open_text, read_head

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["OtherFiles"]

_Index = TypeVar("_Index")


class OtherFiles:
    """Files that are imported together. What is known of them is cached from one file to the next.

    Parameters
    ----------
    files
        All files of the import.

    Attributes
    ----------
    files
        The same, as paths.
    formats
        Formats of those that were looked at.
    """

    def __init__(self, files: Iterable[str | os.PathLike[str]] = ()) -> None:
        self.files = [Path(file) for file in files]
        self.formats: dict[Path, str | None] = {}
        self._found: dict[str, Any] = {}

    def index(
        self,
        name: str,
        wanted: Callable[[dict[str, Any]], bool],
        empty: Callable[[], _Index],
        add: Callable[[_Index, dict[str, Any]], object],
    ) -> _Index:
        """Return an index of the records of all files that begin with a wanted record, built once.

        Parameters
        ----------
        name
            Name of the index.
        wanted
            Whether the first record of a file has the format.
        empty, add
            Create the index, and add a record to it.
        """
        if name not in self._found:
            self._found[name] = empty()
            for file in self.files if len(self.files) > 1 else ():
                with Boundary(_reported_there):
                    for value in _records_of(file, wanted):
                        with Boundary(_reported_there):
                            add(self._found[name], value)
        index: _Index = self._found[name]
        return index


def _reported_there(reason: str) -> None:
    """Ignore a problem, which is reported when the file itself is read."""


def _records_of(file: Path, wanted: Callable[[dict[str, Any]], bool]) -> Iterator[dict[str, Any]]:
    head = read_head(file)
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"["):
        return
    with open_text(file, encoding_of(head)) as stream:
        begun = False
        for record in json_records(stream):
            if not isinstance(record.value, dict):
                continue
            if not begun and not wanted(record.value):
                return
            begun = True
            yield record.value
