"""JSON in its layouts: one value per line, one array, or consecutive values. Independent of formats."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import reason
from promptlift.transcripts.sources import RECORD_CHARS, Line, Lines, Record, too_long

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

__all__ = ["json_members", "json_records"]

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


def json_records(
    stream: TextIO,
    *,
    most: int = RECORD_CHARS,
    of_page: Callable[[str, Any], Any] = lambda _name, _value: None,
) -> Iterator[Record]:
    """Read the records of JSON Lines, of a JSON array, or of one or several JSON objects, one at a time.

    A line that is not JSON is a fault, and reading continues at the next line; inside an array nothing after
    a fault can be read. A record longer than ``most`` characters is never held: it is a fault, unless it is a
    page of an API, whose records are read one at a time. Reading continues at the next one.

    Parameters
    ----------
    stream
        The text.
    most
        Maximum length of a record.
    of_page
        Returns the record for an element of a list in a page, by the name of the list; ``None`` if it is not one.
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
    whole = not first.whole or (not follows and opening == "[")
    if not whole and _decode(first).fault is not None:
        whole = (
            not follows
            or opening == "["
            or (second is not None and _ends_early(first.text) and _decode(second).fault is not None)
        )
    if whole:
        # The layout is known now; put the two lines back in front of the rest.
        gap = "\n" * min(second.number - first.number - 1, most) if second else ""
        text = first.text + gap + (second.text if second else "")
        yield from _whole(_Window(text, stream, first.number, most), of_page)
        return
    for line in itertools.chain([first] if second is None else [first, second], filled):
        if not line.whole:
            yield from _whole(_Window(line.text, stream, line.number, most), of_page)
            return
        yield _decode(line)


def _ends_early(text: str) -> bool:
    """Return whether a text is JSON up to its end, such as the first line of a page with a record on each line."""
    try:
        _DECODER.decode(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text.rstrip())
    except (RecursionError, ValueError):
        pass
    return False


def _decode(line: Line) -> Record:
    number = line.number
    try:
        return Record(number, _DECODER.decode(line.text.rstrip("\r\n")))
    except json.JSONDecodeError as error:
        return Record(
            number, fault=f"not valid JSON: {error.msg.removesuffix(' starting at')}, column {error.colno}"
        )
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
    else:
        yield from _members(window, listed)


def _members(window: _Window, listed: str | None, *, of_page: bool = False) -> Iterator[tuple[str, Record]]:
    """Yield the members of an object and move past it; those of a page with the elements of all its lists."""
    char = window.skip_char()
    while char and char != "}":
        name = window.value()
        if not isinstance(name.value, str) or window.next_char() != ":":
            yield (
                "",
                Record(
                    window.line, fault=f"not valid JSON: a name or a colon is missing; {_LOST}", last=True
                ),
            )
            return
        opening = window.skip_char()
        members: Iterator[tuple[str, Record]]
        if opening == "[" and (of_page or name.value == listed):
            members = ((name.value, one) for one in _elements(window))
        elif (record := window.decoded()) is None and opening == "{" and of_page:
            members = _members(window, listed, of_page=True)
        else:
            members = iter([(name.value, record or window.left_out())])
        for member in members:
            yield member
            if member[1].last:
                return
        char = window.next_char()
        if char == ",":
            char = window.skip_char()
    if not char:
        yield "", Record(window.line, fault=f"not valid JSON: the object does not end; {_LOST}", last=True)
    else:
        window.advance(window.at + 1)


def _whole(window: _Window, of_page: Callable[[str, Any], Any]) -> Iterator[Record]:
    if window.next_char() != "[":
        while window.next_char():
            value = window.decoded()
            for record in _page(window, of_page) if value is None else [value]:
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


def _page(window: _Window, of_page: Callable[[str, Any], Any]) -> Iterator[Record]:
    """Yield the records in an object that is too long to be held, then its other members; a fault if it has none."""
    line, found, others = window.line, False, dict[str, Any]()
    if window.next_char() != "{":
        yield window.left_out()
        return
    for name, record in _members(window, None, of_page=True):
        value = of_page(name, record.value)
        if value is not None:
            found = True
            yield record._replace(value=value)
        elif record.last or (record.fault is not None and found):
            yield record
        elif record.fault is None:
            others[name] = None if isinstance(record.value, dict) and name in others else record.value
    yield Record(line, others, beside=True) if found else Record(line, fault=too_long("record", window.most))


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
    most
        Maximum length of a value.
    """

    def __init__(self, text: str, stream: TextIO, line: int, most: int) -> None:
        self.text, self.at, self.line = text, 0, line
        self.most, self._stream, self._ended = most, stream, False

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
        """Decode the value that begins here and move past it; one that is too long is a fault."""
        return self.decoded() or self.left_out()

    def decoded(self) -> Record | None:
        """Decode the value that begins here and move past it; ``None`` if it is too long."""
        line = self.line
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                may_be_cut = error.msg.startswith("Unterminated string") or error.pos >= len(self.text) - _CUT
                if self._ended or not may_be_cut:
                    at = self.line + self.text.count("\n", self.at, error.pos)
                    return Record(
                        at,
                        fault=f"not valid JSON: {error.msg.removesuffix(' starting at')}; {_LOST}",
                        last=True,
                    )
            except (RecursionError, ValueError) as error:
                # Valid JSON that cannot be decoded: nested too deeply, or a number with thousands of digits.
                self._skip()
                return Record(line, fault=reason(error))
            else:
                if end - self.at > self.most:
                    return None
                # A number may continue after the part: 1 may be 10, and 1e+5 cut after 1e+ would give 1.
                if self._ended or not isinstance(value, int | float) or end + _CUT <= len(self.text):
                    self.advance(end)
                    return Record(line, value)
            if len(self.text) - self.at > self.most + _CUT:
                return None
            self._more()

    def left_out(self) -> Record:
        """Move past the value that begins here, which is too long."""
        line = self.line
        self._skip()
        return Record(line, fault=too_long("record", self.most))

    def _more(self) -> bool:
        rest = len(self.text) - self.at
        # Twice as much every time, so that a long record is not decoded again for every piece.
        piece = self._stream.read(max(1, min(max(_PIECE, rest), self.most + _CUT + 1 - rest)))
        self.text, self.at = self.text[self.at :] + piece, 0
        self._ended = not piece
        return bool(piece)

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
