"""The files of Inspect AI: an evaluation log as ``.eval``, which is a ZIP archive, or as one JSON object.

Both contain much more than the conversations, such as every event of every sample, and may be larger than the
memory. They are read sample by sample, and overlong parts of a sample are not held.
"""

from __future__ import annotations

import io
import re
import zipfile
from typing import IO, TYPE_CHECKING, Any, Final, TextIO, cast

from promptlift.errors import MissingExtra
from promptlift.schema.boundary import Boundary, Unreadable, reason
from promptlift.transcripts.json_layouts import json_members
from promptlift.transcripts.sources import Record, is_zip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["archive_records", "begins_log", "is_archive", "log_records"]

_ZSTANDARD: Final = 93
_LOCAL_HEADER: Final = 30
_SAMPLE: Final = re.compile(r"samples/[^/]+\.json")
_CHUNKED: Final = re.compile(r"samples/[^/]+/sample\.json")
# The header of a finished log, and that of a running one.
_HEADERS: Final = ("header.json", "_journal/start.json")
_BEGINNING: Final = re.compile(r'\s*\{\s*\n\s*"version"\s*:\s*\d+,\s*"status"\s*:\s*"\w+",\s*"eval"\s*:\s*\{')
_IN_CHUNKS: Final = "samples of this log are stored in chunks ({}), a form that is not supported; import the log from which it was converted"


def is_archive(path: Path) -> bool:
    """Return whether a file is an ``.eval`` archive."""
    if not is_zip(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name in archive.namelist() for name in _HEADERS)
    except zipfile.BadZipFile:
        return False


def begins_log(head: str) -> bool:
    """Return whether a text begins like a log in one JSON object."""
    return _BEGINNING.match(head) is not None


def archive_records(path: Path) -> Iterator[Record]:
    """Read an archive as logs of one sample each, and finally its header as a log without samples."""
    with zipfile.ZipFile(path) as archive, path.open("rb") as raw:
        members = {member.filename: member for member in archive.infolist()}
        header: dict[str, Any] = {}
        for name in _HEADERS:
            if name in members and not header:
                try:
                    header = _object(_open(archive, members[name], raw))
                except Exception as error:
                    raise Unreadable(
                        f"{name} {reason(error)}; the samples are not read without it"
                    ) from error
        samples = (member for name, member in members.items() if _SAMPLE.fullmatch(name))
        number = 0
        for number, member in enumerate(samples, start=1):
            faults: list[str] = []
            with Boundary(faults.append):
                yield Record(
                    number,
                    {"eval": header.get("eval"), "samples": [_object(_open(archive, member, raw))]},
                )
            for fault in faults:
                yield Record(number, fault=f"{member.filename} {fault}")
        chunked = sum(_CHUNKED.fullmatch(name) is not None for name in members)
        if chunked:
            yield Record(number + 1, fault=_IN_CHUNKS.format(chunked))
        yield Record(number + 1, {**header, "samples": []})


def log_records(stream: TextIO) -> Iterator[Record]:
    """Read a JSON log as logs of one sample each, and finally its other content as a log without samples."""
    header: dict[str, Any] = {}
    line = 1
    for name, record in json_members(stream, listed="samples"):
        line = record.line
        if record.fault is not None:
            yield record
        elif name == "samples":
            yield Record(line, {"eval": header.get("eval"), "samples": [record.value]})
        else:
            header[name] = record.value
    yield Record(line, {**header, "samples": []})


def _object(stream: IO[bytes]) -> dict[str, Any]:
    """Return the members of an object, without those too long to be held.

    Raises
    ------
    Unreadable
        If it cannot be read, or its messages are too long.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="\n")
    found = {}
    for name, record in json_members(text):
        if record.fault is None:
            found[name] = record.value
        elif record.last or name in ("", "messages"):
            raise Unreadable(f"cannot be read: {record.fault}")
    return found


def _open(archive: zipfile.ZipFile, member: zipfile.ZipInfo, raw: IO[bytes]) -> IO[bytes]:
    """Open a decompressed member; Python before 3.14 does not support Zstandard in archives."""
    if member.compress_type != _ZSTANDARD:
        return archive.open(member)
    try:
        import pyarrow as pa  # noqa: PLC0415  reading other files needs none of it
    except ModuleNotFoundError as error:
        raise MissingExtra("Unpacking Zstandard", "parquet") from error

    raw.seek(member.header_offset)
    header = raw.read(_LOCAL_HEADER)
    name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    raw.seek(name + extra, io.SEEK_CUR)
    packed = raw.read(member.compress_size)
    return cast("IO[bytes]", pa.CompressedInputStream(pa.BufferReader(packed), "zstd"))
