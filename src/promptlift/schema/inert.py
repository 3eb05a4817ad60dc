"""Text from outside made safe to display: nothing hidden, nothing that moves other text, nothing endless.

Escaping is up to the renderer; this module handles characters that do harm even when escaped.
"""

from __future__ import annotations

import re
from typing import Any, Final

_ANSI: Final = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|[@-Z\\^_])"
)
_BREAKS: Final = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Characters that change the writing direction, are invisible, or are not characters at all.
_UNSEEN: Final = re.compile(
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
_CONTROLS: Final = {
    **{code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)},
    0x7F: "\u2421",
    **dict.fromkeys(range(0x80, 0xA0), "\ufffd"),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}
# Stacked accents overlap the lines above.
_PILED: Final = re.compile(
    r"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{3})"
    r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
_LEFT_OUT: Final = "… "
_LONG_WORD: Final = 24
_EMPTY_LINES: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


def visible(text: Any) -> str:
    """Replace every control character of a text by a visible mark, or remove it.

    Terminal colour codes and invisible characters are removed, other control characters become their symbols
    (NUL becomes ␀), half surrogates the replacement character. More than one empty line in a row becomes one.
    """
    line = _ANSI.sub("", "" if text is None else str(text))
    line = _BREAKS.sub("\n", line).translate(_CONTROLS)
    line = _PILED.sub(r"\1", _UNSEEN.sub("", line))
    return _EMPTY_LINES.sub("\n\n", line).strip()


def one_line(text: Any, limit: int) -> str:
    """Return a text on one line without control characters, cut to ``limit`` characters."""
    return shorten(" ".join(visible(text).split()), limit)[0]


def shorten(text: str, limit: int) -> tuple[str, int]:
    """Cut a text to ``limit`` characters, at a nearby space if possible, and count the characters cut."""
    if len(text) <= limit:
        return text, 0
    kept = text[: limit - 1]
    space = kept.rfind(" ", int(limit * 0.85))
    kept = (kept[:space] if space > 0 else kept).rstrip().rstrip(".")
    return f"{kept}…", len(text) - len(kept)


def shorten_middle(text: str, limit: int, marker: str = " … ") -> str:
    """Cut a text to ``limit`` characters by leaving out its middle, at nearby spaces if possible."""
    if len(text) <= limit:
        return text
    kept = max(limit - len(marker), 0)
    head, tail = text[: kept - kept // 2], text[len(text) - kept // 2 :]
    return f"{_whole_words(head)}{marker}{_whole_words(tail[::-1])[::-1]}"


def shorten_around(text: str, start: int, end: int, limit: int) -> str:
    """Cut a text to ``limit`` characters around the part from ``start`` to ``end``, at nearby spaces if possible.

    >>> shorten_around("one two three four five six", 8, 13, 20)
    '… two three …'
    """
    if len(text) <= limit:
        return text
    room = max(limit - 2 * len(_LEFT_OUT), 0)
    first = min(max((start + end - room) // 2, 0), len(text) - room)
    last = first + room
    if first:
        first = (text.find(" ", first, start) + 1) or first
    if last < len(text):
        last = max(text.rfind(" ", end, last), 0) or last
    before, after = _LEFT_OUT if first else "", _LEFT_OUT[::-1] if last < len(text) else ""
    return f"{before}{text[first:last]}{after}"


def _whole_words(text: str) -> str:
    """Drop a short last word that a cut may have divided."""
    space = text.rfind(" ", max(0, len(text) - _LONG_WORD))
    return text[:space] if space > 0 else text
