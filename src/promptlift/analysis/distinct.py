"""Names cut to a width by what tells them apart."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from promptlift.analysis.one_line import columns_of, fit_to_width, one_line, start_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["distinct_lines"]


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
