"""Lines of a file, holding no more than a limit of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from promptlift.schema.limits import CONTENT_BYTES, KB

if TYPE_CHECKING:
    from typing import Self, TextIO

__all__ = ["RECORD_CHARS", "Line", "Lines", "too_long"]

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
