"""JSON in its layouts: one value per line, one array, consecutive values, or pages of an API. Independent of formats."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import reason
from promptlift.transcripts.sources import RECORD_CHARS, Line, Lines, Record, too_long

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

__all__ = ["json_members", "json_records", "unpaged"]

_BLANK: Final = re.compile(r"[ \t\r\n]*")
# Tokens that matter when skipping a value undecoded: brackets and commas outside strings, and the rest of a
# string.
_MARKS: Final = re.compile(r'["{}\[\],]')
_TEXT: Final = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)
# NaN and Infinity are not JSON, but Python tools write them for missing numbers.
_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
_PIECE: Final = 1024 * 1024
# The longest token outside a text that the end of a piece may cut: -Infinity, or an escape like \ud83d.
_CUT: Final = 16
_LOST: Final = "nothing after it can be read"


def json_records(stream: TextIO, *, most: int = RECORD_CHARS) -> Iterator[Record]:
    """Read the records of JSON Lines, of a JSON array, or of one or several JSON objects, one at a time.

    A line that is not JSON is a fault, and reading continues at the next line; inside an array nothing after
    a fault can be read. A record longer than ``most`` characters is a fault and is never held, and reading
    continues at the next one.
    """
    lines = Lines(stream, most)
    filled = (line for line in lines if not line.whole or line.text.strip(" \t\r\n"))
    first = next(filled, None)
    if first is None:
        return
    opening = first.text.lstrip()[:1]
    if opening not in ("{", "["):
        yield Record(first.number, fault="not JSON: it starts with neither { nor [")
        return
    # An incomplete first line continues beyond the part, so there is no second one to look at.
    second = next(filled, None) if first.whole else None
    follows = second is not None and second.text.lstrip().startswith(opening)
    if not first.whole:
        whole = opening == "[" or _begins_with_a_value(first.text)
    else:
        alone = not follows
        broken = (alone or opening == "[") and _decode(first).fault is not None
        whole = broken or (alone and opening == "[")
    if whole:
        # The layout is known now; put the two lines back in front of the rest.
        gap = "\n" * min(second.number - first.number - 1, most) if second else ""
        text = first.text + gap + (second.text if second else "")
        yield from _whole(_Window(text, stream, first.number, most))
        return
    yield from map(_decode, itertools.chain([first] if second is None else [first, second], filled))


def _begins_with_a_value(text: str) -> bool:
    try:
        _DECODER.raw_decode(text, _after_blanks(text, 0))
    except (ValueError, RecursionError):
        return False
    return True


def _decode(line: Line) -> Record:
    number = line.number
    if not line.whole:
        # It has one character more than allowed.
        return Record(number, fault=too_long("line", len(line.text) - 1))
    try:
        return Record(number, _DECODER.decode(line.text.rstrip("\r\n")))
    except json.JSONDecodeError as error:
        return Record(number, fault=f"not valid JSON: {error.msg}, column {error.colno}")
    except (RecursionError, ValueError) as error:
        return Record(number, fault=reason(error))


def json_members(
    stream: TextIO, *, listed: str | None = None, most: int = RECORD_CHARS
) -> Iterator[tuple[str, Record]]:
    """Read the members of a JSON object one at a time, with their names.

    A member longer than ``most`` characters is a fault and is never held; reading continues after it.

    Parameters
    ----------
    stream
        The text of the object.
    listed
        Name of a member that is a list: its values are read one at a time, each under the name.
    most
        Maximum length of a value to hold.
    """
    window = _Window("", stream, 1, most)
    if window.next_char() != "{":
        yield "", Record(window.line, fault="not valid JSON: it does not start with {")
        return
    char = window.skip_char()
    while char and char != "}":
        name = window.value()
        if not isinstance(name.value, str) or window.next_char() != ":":
            yield "", Record(window.line, fault=f"not valid JSON: a name or a colon is missing; {_LOST}")
            return
        if window.skip_char() == "[" and name.value == listed:
            records = _elements(window)
        else:
            records = iter([window.value()])
        for record in records:
            yield name.value, record
            if record.last:
                return
        char = window.next_char()
        if char == ",":
            char = window.skip_char()
    if not char:
        yield "", Record(window.line, fault=f"not valid JSON: the object does not end; {_LOST}")


def _whole(window: _Window) -> Iterator[Record]:
    if window.next_char() != "[":
        while window.next_char():
            record = window.value()
            yield record
            if record.last:
                return
        return
    for record in _elements(window):
        yield record
        if record.last:
            return
    if window.next_char():
        yield Record(window.line, fault="not valid JSON: something follows the end of the array")


def _elements(window: _Window) -> Iterator[Record]:
    """Yield the values of an array and move past it; after a record marked as last, nothing can be read."""
    char = window.skip_char()
    while char and char != "]":
        record = window.value()
        yield record
        if record.last:
            return
        char = window.next_char()
        if char == ",":
            char = window.skip_char()
        elif char and char != "]":
            yield Record(window.line, fault=f"not valid JSON: a comma is missing; {_LOST}", last=True)
            return
    if not char:
        yield Record(window.line, fault=f"not valid JSON: the array does not end; {_LOST}", last=True)
    else:
        window.advance(window.at + 1)


class _Window:
    """The part of a text that is being decoded: consumed text is dropped, the rest is read when needed.

    Attributes
    ----------
    text, at
        The part, and the position in it.
    line
        Line of the file at ``at``.
    """

    def __init__(self, text: str, stream: TextIO, line: int, most: int) -> None:
        self.text, self.at, self.line = text, 0, line
        self._stream, self._most, self._ended = stream, most, False

    def advance(self, to: int) -> None:
        """Move forward, counting lines."""
        self.line += self.text.count("\n", self.at, to)
        self.at = to

    def next_char(self) -> str:
        """Skip white space and return the next character, an empty text at the end."""
        while True:
            self.advance(_after_blanks(self.text, self.at))
            if self.at < len(self.text) or not self._more():
                return self.text[self.at : self.at + 1]

    def skip_char(self) -> str:
        """Move past the next character and return the one after it."""
        self.next_char()
        self.advance(self.at + 1)
        return self.next_char()

    def value(self) -> Record:
        """Decode the value that begins here and move past it."""
        line = self.line
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if self._ended or not self._cut(error):
                    return self._fault(error)
            except (RecursionError, ValueError) as error:
                # Valid JSON that cannot be decoded: nested too deeply, or a number with thousands of digits.
                self._skip()
                return Record(line, fault=reason(error))
            else:
                if end - self.at > self._most:
                    break
                # A number may continue after the part: 1 may be 10, and 1e+5 cut after 1e+ would give 1.
                if self._ended or not isinstance(value, int | float) or end + _CUT <= len(self.text):
                    self.advance(end)
                    return Record(line, value)
            if len(self.text) - self.at > self._most + _CUT:
                break
            self._more()
        self._skip()
        return Record(line, fault=too_long("record", self._most))

    def _more(self) -> bool:
        rest = len(self.text) - self.at
        # Twice as much every time, so that a long record is not decoded again for every piece.
        piece = self._stream.read(max(1, min(max(_PIECE, rest), self._most + _CUT + 1 - rest)))
        self.text, self.at = self.text[self.at :] + piece, 0
        self._ended = not piece
        return bool(piece)

    def _cut(self, error: json.JSONDecodeError) -> bool:
        """Return whether the error may come from the end of the part."""
        return error.msg.startswith("Unterminated string") or error.pos >= len(self.text) - _CUT

    def _fault(self, error: json.JSONDecodeError) -> Record:
        line = self.line + self.text.count("\n", self.at, error.pos)
        return Record(line, fault=f"not valid JSON: {error.msg}; {_LOST}", last=True)

    def _skip(self) -> None:
        """Skip a value by its brackets and quotes alone, holding no more than a piece of it."""
        depth, quoted = 0, False
        while True:
            while self.at < len(self.text):
                if quoted:
                    text = _TEXT.match(self.text, self.at)
                    end = text.end() if text else self.at
                    quoted = self.text[end : end + 1] != '"'
                    self.advance(end + (not quoted))
                    if quoted:
                        break  # including a backslash at the end of this part, which belongs to the next character
                    continue
                mark = _MARKS.search(self.text, self.at)
                if mark is None:
                    self.advance(len(self.text))
                    break
                found = mark.group()
                if depth == 0 and found in ",}]":
                    self.advance(mark.start())
                    return
                self.advance(mark.end())
                quoted = found == '"'
                depth += (found in "{[") - (found in "}]")
                if depth == 0 and found in "}]":
                    return
            if not self._more():
                return


def _after_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


_LISTS: Final = ("data", "runs", "traces", "examples", "feedback")
# Names next to the records of a page, in snake and camel case alike.
_PAGING: Final = frozenset(
    {
        *("meta", "object", "error", "hasmore", "firstid", "lastid", "page", "limit", "offset", "links"),
        *("cursor", "cursors", "nextcursor", "nextpagetoken", "total", "totalcount", "totalitems"),
        "count",
    }
)


def _page_of(value: Any) -> list[Any] | None:
    """Return the records of a page, ``None`` if the value is not a page."""
    if not isinstance(value, dict):
        return None
    name = next((name for name in _LISTS if isinstance(value.get(name), list)), None)
    others = {str(other).replace("_", "").lower() for other in value if other != name}
    if name is None or not others <= _PAGING or not all(isinstance(one, dict) for one in value[name]):
        return None
    found: list[Any] = value[name]
    return found


def unpaged(records: Iterable[Record]) -> Iterator[Record]:
    """Yield records, those of pages one by one."""
    for record in records:
        page = _page_of(record.value)
        if page is None:
            yield record
        else:
            for value in page:
                yield record._replace(value=value)
