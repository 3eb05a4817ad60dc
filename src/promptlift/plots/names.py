"""Texts of unknown origin made fit for a picture: harmless, on one line, short, and still told apart."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["columns_of", "plain", "shorten", "tell_apart"]

# Control and format characters (also those that turn the writing direction) and lone surrogates.
_NOT_SHOWN = {"Cc", "Cf", "Cs", "Co", "Cn"}


def plain(text: Any, width: int = 40) -> str:
    """Make a text of unknown origin fit for a picture: one line, cut to ``width``, no mathematics, no controls."""
    return _escaped(shorten(_one_line(text), width))


def tell_apart(names: Sequence[Any], width: int) -> list[str]:
    """Make names fit for a picture as `plain` does, but so that different ones stay different.

    Long names that begin alike are cut in the middle; those that also end alike get a number.
    """
    full = [_one_line(name) for name in names]
    cut = [shorten(name, width) for name in full]
    short = [_ends(name, width) if cut.count(at) > 1 else at for name, at in zip(full, cut, strict=True)]
    different: list[str] = []
    for name in short:
        numbered, number = name, 1
        while numbered in different:
            number += 1
            numbered = f"{name} ({number})"
        different.append(numbered)
    return [_escaped(name) for name in different]


def shorten(line: str, width: int) -> str:
    """Cut a line to ``width`` columns and end it with an ellipsis when it was longer; wide characters take two."""
    if line.isascii() and len(line) <= width:
        return line
    return line if columns_of(line) <= width else _start(line, width - 1).rstrip() + "…"


def columns_of(text: str) -> int:
    """How wide a text is, in columns of a Latin letter: characters of East Asia take two."""
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text if not char.isascii())


def _one_line(text: Any) -> str:
    if text is None or text is pd.NA or (isinstance(text, float) and np.isnan(text)):
        return "not given"
    line = " ".join(str(text).split())
    line = "".join(char for char in line if unicodedata.category(char) not in _NOT_SHOWN)
    return " ".join(line.split())


def _escaped(line: str) -> str:
    return line.replace("$", r"\$") or "(empty)"


def _ends(line: str, width: int) -> str:
    """Start and end of a line that is too long, with an ellipsis between."""
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
