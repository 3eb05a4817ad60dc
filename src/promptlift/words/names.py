"""Names and texts from outside on one line: without control characters, and cut to a width by what tells them apart."""

from __future__ import annotations

import unicodedata
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

# Columns of a name in a sentence, and in a title.
_IN_WORDS: Final = 48
IN_TITLE: Final = 44

_RIGHT_TO_LEFT = {"R", "AL"}
_MARK = "\N{LEFT-TO-RIGHT MARK}"
# Control and format characters (those that change the writing direction too) and lone surrogates.
_NOT_SHOWN = {"Cc", "Cf", "Cs", "Co", "Cn"}


def one_line(text: Any, width: int | None = None) -> str:
    """Return a text from outside as one line without control characters, cut to ``width`` columns."""
    if is_missing(text):
        return "not given"
    line = " ".join(str(text).split())
    line = "".join(char for char in line if unicodedata.category(char) not in _NOT_SHOWN)
    line = " ".join(line.split())
    return line if width is None else fit_to_width(line, width)


def fit_to_width(line: str, width: int) -> str:
    """Cut a line to ``width`` columns with an ellipsis at the end, not in a short word; wide characters take two columns."""
    if (line.isascii() and len(line) <= width) or columns_of(line) <= width:
        return line
    kept = start_of(line, width - 1)
    whole, _, cut = (kept + line[len(kept)]).rpartition(" ")
    return (whole if len(cut) <= len(whole) // 2 else kept).rstrip(" ·") + "…"


def columns_of(text: str) -> int:
    """Return the width of a text in columns; wide East Asian characters take two."""
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text if not char.isascii())


def start_of(line: str, width: int) -> str:
    """Return as much of the start of a line as ``width`` columns hold."""
    left, kept = width, ""
    for char in line:
        left -= columns_of(char)
        if left < 0:
            break
        kept += char
    return kept


def in_a_sentence(name: str) -> str:
    """Return a name that leaves the order of the words and numbers around it, also where it is written from right to left."""
    if name.isascii() or not any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in name):
        return name
    return f"{_MARK}{name}{_MARK}"


def name_in_words(name: Any) -> str:
    """Return the name of a group as a sentence can hold it: one line, and not too long."""
    return name_in_title(name, _IN_WORDS)


def name_in_title(text: Any, width: int = IN_TITLE) -> str:
    """Return a name as one line, cut to ``width`` columns."""
    return in_a_sentence(one_line(text, width)) or "(empty)"


def names_in_title(names: Sequence[Any]) -> list[str]:
    """Return names as `name_in_title` does, but cut by what tells them apart."""
    return [in_a_sentence(name) or "(empty)" for name in distinct_lines(names, IN_TITLE)]


def quoted(text: Any) -> str:
    """Return a name of a title in quotation marks."""
    return f"“{name_in_title(text)}”"


def capital(text: str) -> str:
    """Return a text of ours whose first letter is large."""
    return text[:1].upper() + text[1:]


def distinct_lines(names: Sequence[Any], width: int) -> list[str]:
    """Return names as `one_line` does, but keep different names different.

    Long names that start alike keep their start and their end. Where the ends are alike too, they keep their start and
    the part from the first difference on. What still looks the same gets a number.
    """
    full = [one_line(name) for name in names]
    shown = [fit_to_width(name, width) for name in full]
    for at in {name for name in shown if shown.count(name) > 1}:
        places = [place for place, name in enumerate(shown) if name == at]
        alike = [full[place] for place in places]
        ends = [_ends(name, width) for name in alike]
        cut = ends if len(set(ends)) == len(set(alike)) else _from_first_difference(alike, width)
        for place, name in zip(places, cut, strict=True):
            shown[place] = name
    return _numbered(shown)


def _numbered(names: Sequence[str]) -> list[str]:
    different: list[str] = []
    for name in names:
        numbered, number = name, 1
        while numbered in different:
            number += 1
            numbered = f"{name} ({number})"
        different.append(numbered)
    return different


def _ends(line: str, width: int) -> str:
    """Return the start and end of a long line, with an ellipsis between."""
    if columns_of(line) <= width:
        return line
    half = (width - 1) // 2
    return f"{start_of(line, half).rstrip()}…{start_of(line[::-1], half)[::-1].lstrip()}"


def _from_first_difference(lines: Sequence[str], width: int) -> list[str]:
    """Return the start of every line, and what follows where the lines stop being the same."""
    same = len([*takewhile(lambda chars: len(set(chars)) == 1, zip(*lines, strict=False))])
    word = lines[0].rfind(" ", 0, same) + 1
    # A word that is the same at its start is shown whole, unless that start is long.
    begin = word if same - word <= width // 4 else same
    head = start_of(lines[0], width // 3).rstrip() + "…"
    return [
        head + fit_to_width(line[begin:], width - columns_of(head)) if columns_of(line) > width else line
        for line in lines
    ]
