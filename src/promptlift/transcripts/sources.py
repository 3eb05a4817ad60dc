"""Files as streams: gzip, byte order marks, encodings. Knows no format."""

from __future__ import annotations

import gzip
import io
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, TextIO, cast

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Record", "encoding_of", "is_packed", "is_zip", "open_bytes", "open_text", "read_head"]

HEAD_BYTES: Final = 65_536


class Record(NamedTuple):
    """One record of a file: a value, or why there is none.

    ``line`` is its line or number, from 1. ``last`` says that nothing after a fault can be read.
    """

    line: int
    value: Any = None
    fault: str | None = None
    last: bool = False


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacked if it is gzip by content."""
    return cast("IO[bytes]", gzip.open(path)) if is_packed(path) else path.open("rb")


def is_packed(path: Path) -> bool:
    """Return whether a file is gzip by content."""
    return _begins(path, b"\x1f\x8b")


def is_zip(path: Path) -> bool:
    """Return whether a file is a ZIP archive by content."""
    return _begins(path, b"PK\x03\x04")


def _begins(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def read_head(path: Path) -> bytes:
    """Read the first bytes of a file, unpacked."""
    with open_bytes(path) as file:
        return file.read(HEAD_BYTES)


def encoding_of(head: bytes) -> str:
    """Return the encoding that the byte order mark names; without one it is UTF-8."""
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


def open_text(path: Path, encoding: str) -> TextIO:
    """Open a file as text with its line ends as they are.

    Bytes that are not UTF-8 become lone surrogates, which are found and reported where the text is used.
    """
    errors = "strict" if encoding == "utf-16" else "surrogateescape"
    return io.TextIOWrapper(cast("Any", open_bytes(path)), encoding=encoding, errors=errors, newline="\n")
