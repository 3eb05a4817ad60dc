"""Texts from outside on one line: without control characters, and cut to a width in columns."""

from __future__ import annotations

import unicodedata
from typing import Any

from promptlift.analysis.reading import is_missing

__all__ = ["columns_of", "fit_to_width", "in_a_sentence", "one_line", "start_of"]

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
    """Cut a line to ``width`` columns with an ellipsis at the end; wide characters take two columns."""
    if line.isascii() and len(line) <= width:
        return line
    return line if columns_of(line) <= width else start_of(line, width - 1).rstrip() + "…"


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
