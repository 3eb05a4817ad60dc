"""Texts from outside, made safe for a plot: on one line, short, without markup, and still distinct."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from promptlift.analysis.reading import is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["columns_of", "distinct_names", "fit_to_width", "plain"]

# Control and format characters (those that change the writing direction too) and lone surrogates.
_NOT_SHOWN = {"Cc", "Cf", "Cs", "Co", "Cn"}


def plain(text: Any, width: int = 40) -> str:
    """Return a text from outside as one line, cut to ``width``, without mathematics or control characters."""
    return _escaped(fit_to_width(_one_line(text), width))


def distinct_names(names: Sequence[Any], width: int) -> list[str]:
    """Return names as `plain` does, but keep different names different.

    Long names with the same start are cut in the middle; those with the same end too get a number.
    """
    full = [_one_line(name) for name in names]
    cut = [fit_to_width(name, width) for name in full]
    short = [_ends(name, width) if cut.count(at) > 1 else at for name, at in zip(full, cut, strict=True)]
    different: list[str] = []
    for name in short:
        numbered, number = name, 1
        while numbered in different:
            number += 1
            numbered = f"{name} ({number})"
        different.append(numbered)
    return [_escaped(name) for name in different]


def fit_to_width(line: str, width: int) -> str:
    """Cut a line to ``width`` columns with an ellipsis at the end; wide characters take two columns."""
    if line.isascii() and len(line) <= width:
        return line
    return line if columns_of(line) <= width else _start(line, width - 1).rstrip() + "…"


def columns_of(text: str) -> int:
    """Return the width of a text in columns; wide East Asian characters take two."""
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text if not char.isascii())


def _one_line(text: Any) -> str:
    if is_missing(text):
        return "not given"
    line = " ".join(str(text).split())
    line = "".join(char for char in line if unicodedata.category(char) not in _NOT_SHOWN)
    return " ".join(line.split())


def _escaped(line: str) -> str:
    return line.replace("$", r"\$") or "(empty)"


def _ends(line: str, width: int) -> str:
    """Return the start and end of a long line, with an ellipsis between."""
    if columns_of(line) <= width:
        return line
    half = (width - 1) // 2
    return f"{_start(line, half).rstrip()}…{_start(line[::-1], half)[::-1].lstrip()}"


def _start(line: str, width: int) -> str:
    left, kept = width, ""
    for char in line:
        left -= columns_of(char)
        if left < 0:
            break
        kept += char
    return kept
