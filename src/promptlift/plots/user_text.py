"""Texts from outside, made safe for a plot: on one line, short, without markup, and still distinct."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.analysis.one_line import columns_of, fit_to_width, one_line, start_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["columns_of", "distinct_names", "fit_to_width", "plain"]


def plain(text: Any, width: int = 40) -> str:
    """Return a text from outside as one line, cut to ``width``, without mathematics or control characters."""
    return _escaped(one_line(text, width))


def distinct_names(names: Sequence[Any], width: int) -> list[str]:
    """Return names as `plain` does, but keep different names different.

    Long names with the same start are cut in the middle; those with the same end too get a number.
    """
    full = [one_line(name) for name in names]
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


def _escaped(line: str) -> str:
    return line.replace("$", r"\$") or "(empty)"


def _ends(line: str, width: int) -> str:
    """Return the start and end of a long line, with an ellipsis between."""
    if columns_of(line) <= width:
        return line
    half = (width - 1) // 2
    return f"{start_of(line, half).rstrip()}…{start_of(line[::-1], half)[::-1].lstrip()}"
