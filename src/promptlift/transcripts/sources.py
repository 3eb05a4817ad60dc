"""Files as streams of records: gzip, byte order marks, JSON in its layouts. Knows no format."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import re
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Record", "encoding_of", "json_records", "open_bytes", "open_text", "read_head"]

HEAD_BYTES: Final = 65_536
_BLANK: Final = re.compile(r"[ \t\r\n]*")
# NaN and Infinity are not JSON, but Python tools write them where a number is missing.
_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


class Record(NamedTuple):
    """One record of a file: a value, or why there is none. ``line`` is its line or number, from 1."""

    line: int
    value: Any = None
    fault: str | None = None


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacked if it is gzip by content."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path)) if packed else path.open("rb")


def read_head(path: Path) -> bytes:
    """Read the first bytes of a file, unpacked."""
    with open_bytes(path) as file:
        return file.read(HEAD_BYTES)


def encoding_of(head: bytes) -> str:
    """Tell the encoding from the byte order mark; without one it is UTF-8."""
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


def open_text(path: Path, encoding: str) -> TextIO:
    """Open a file as text with its line ends as they are.

    Bytes that are not UTF-8 become lone surrogates; whoever uses such a text finds and reports them.
    """
    errors = "strict" if encoding == "utf-16" else "surrogateescape"
    return io.TextIOWrapper(cast("Any", open_bytes(path)), encoding=encoding, errors=errors, newline="\n")


def json_records(stream: TextIO) -> Iterator[Record]:
    """Give the records of JSON Lines, of a JSON array, or of one or several JSON objects.

    Lines are read one at a time. Of an array the text is held, its elements are decoded one at a time. A line
    that is not JSON is a fault and the next line goes on; inside an array nothing after a fault can be found.
    """
    lines = _filled_lines(stream)
    first = next(lines, None)
    if first is None:
        return
    second = next(lines, None)
    rest = itertools.chain([first] if second is None else [first, second], lines)
    opening = first[1].lstrip()[:1]
    follows = second is not None and second[1].lstrip().startswith(opening)
    if opening == "{":
        whole = not follows and _decode(first).fault is not None
    elif opening == "[":
        whole = not follows or _decode(first).fault is not None
    else:
        yield Record(first[0], fault="not JSON: it starts with neither { nor [")
        return
    if not whole:
        yield from map(_decode, rest)
        return
    # The layout is known by now; what the two lines hold goes back in front of the rest.
    text = first[1] + _gap(first, second) + (second[1] if second else "") + stream.read()
    yield from _whole(text, first[0])


def _filled_lines(stream: TextIO) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(iter(stream.readline, ""), start=1):
        if line.strip(" \t\r\n"):
            yield number, line


def _gap(first: tuple[int, str], second: tuple[int, str] | None) -> str:
    """Give the blank lines between two lines, so that line numbers stay right."""
    return "" if second is None else "\n" * (second[0] - first[0] - 1)


def _decode(numbered: tuple[int, str]) -> Record:
    number, line = numbered
    try:
        return Record(number, _DECODER.decode(line.rstrip("\r\n")))
    except RecursionError:
        return Record(number, fault="nested too deeply to be read")
    except json.JSONDecodeError as error:
        return Record(number, fault=f"not valid JSON: {error.msg}, column {error.colno}")
    except ValueError as error:
        return Record(number, fault=f"not valid JSON: {error}")


def _whole(text: str, line: int) -> Iterator[Record]:
    position = _skip(text, 0)
    array = text[position] == "["
    position = _skip(text, position + 1) if array else position
    counted = 0
    while position < len(text) and not (array and text[position] == "]"):
        line += text.count("\n", counted, position)
        counted = position
        try:
            value, end = _DECODER.raw_decode(text, position)
        except RecursionError:
            yield Record(line, fault="nested too deeply to be read; nothing after it can be read")
            return
        except ValueError as error:
            yield _whole_fault(error, line, text, position)
            return
        yield Record(line, value)
        position = _skip(text, end)
        if array and text[position : position + 1] == ",":
            position = _skip(text, position + 1)
        elif array and text[position : position + 1] != "]":
            line += text.count("\n", counted, position)
            missing = "the array does not end" if position == len(text) else "a comma is missing"
            yield Record(line, fault=f"not valid JSON: {missing}; nothing after it can be read")
            return
    if array and position >= len(text):
        line += text.count("\n", counted)
        yield Record(line, fault="not valid JSON: the array does not end; nothing after it can be read")
    elif array and _skip(text, position + 1) < len(text):
        line += text.count("\n", counted, _skip(text, position + 1))
        yield Record(line, fault="not valid JSON: something follows the end of the array")


def _whole_fault(error: ValueError, line: int, text: str, start: int) -> Record:
    message = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    at = error.pos if isinstance(error, json.JSONDecodeError) else start
    line += text.count("\n", start, at)
    return Record(line, fault=f"not valid JSON: {message}; nothing after it can be read")


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position
