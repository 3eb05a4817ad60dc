"""Files as streams: gzip, byte order marks, encodings, and lines of a bounded length. Independent of formats."""

from __future__ import annotations

import gzip
import io
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, TextIO, cast

from promptlift.schema.limits import CONTENT_BYTES, KB

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

__all__ = [
    "RECORD_CHARS",
    "Line",
    "Lines",
    "Record",
    "encoding_of",
    "is_packed",
    "is_zip",
    "open_bytes",
    "open_text",
    "read_head",
    "too_long",
]

HEAD_BYTES: Final = 65_536


class Record(NamedTuple):
    """One record of a file: a value, or the reason why there is none.

    ``line`` is its line or number, from 1. ``last`` means that nothing after a fault can be read, ``beside`` that the
    value is not a record, but what a page of an API has beside its records.
    """

    line: int
    value: Any = None
    fault: str | None = None
    last: bool = False
    beside: bool = False


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, decompressing it if its content is gzip."""
    return cast("IO[bytes]", gzip.open(path)) if is_packed(path) else path.open("rb")


def is_packed(path: Path) -> bool:
    """Return whether a file's content is gzip."""
    return _begins(path, b"\x1f\x8b")


def is_zip(path: Path) -> bool:
    """Return whether a file's content is a ZIP archive."""
    return _begins(path, b"PK\x03\x04")


def _begins(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def read_head(path: Path) -> bytes:
    """Read the first bytes of a file, decompressed."""
    with open_bytes(path) as file:
        return file.read(HEAD_BYTES)


def encoding_of(head: bytes) -> str:
    """Return the encoding given by the byte order mark, by default UTF-8."""
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


def open_text(path: Path) -> TextIO:
    """Open a file as text, keeping its line breaks.

    Bytes that are not UTF-8 become lone surrogates, which are detected and reported where the text is used.
    """
    encoding = encoding_of(read_head(path))
    errors = "strict" if encoding == "utf-16" else "surrogateescape"
    return io.TextIOWrapper(cast("Any", open_bytes(path)), encoding=encoding, errors=errors, newline="\n")


RECORD_CHARS: Final = 32 * CONTENT_BYTES
"""Maximum length of a record: much more than that of a conversation, because dropped parts count too."""

_PIECE: Final = 1024 * KB


class Line(NamedTuple):
    """One line with its number from 1, and its line break; only its start if not ``whole``."""

    number: int
    text: str
    whole: bool = True


class Lines:
    """Iterate over the lines of a stream; the rest of a line longer than ``most`` characters is skipped."""

    def __init__(self, stream: TextIO, most: int) -> None:
        self._stream, self._most = stream, most
        self._number, self._inside = 0, False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Line:
        while self._inside:
            piece = self._stream.readline(_PIECE)
            self._inside = bool(piece) and not piece.endswith("\n")
        text = self._stream.readline(self._most + 1)
        if not text:
            raise StopIteration
        self._number += 1
        self._inside = len(text) > self._most and not text.endswith("\n")
        return Line(self._number, text, not self._inside)


def too_long(what: str, most: int) -> str:
    """Report a record that exceeds the limit."""
    size = f"{most // KB // 1024} MB" if most >= 1024 * KB else f"{most:,} characters"
    return (
        f"the {what} is longer than {size} and is left out; a conversation may have {CONTENT_BYTES // KB} "
        "KB, so remove everything but text, such as pictures, or split it"
    )
