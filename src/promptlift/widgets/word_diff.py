"""The differences between two texts: by line, then by word within similar lines."""

from __future__ import annotations

import itertools
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from promptlift.schema.inert import visible
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Part = tuple[Literal["same", "removed", "added"], str]

__all__ = ["DiffLine", "describe_difference", "diff_lines"]

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")
# Unchanged lines around a change, and the most characters of a line and lines that are shown.
_CONTEXT: Final = 2
_LINE_CHARS: Final = 3_000
_LINES: Final = 400
# The time to compare words grows with the square of their number.
_MAX_WORDS: Final = 1_500
_SIMILAR: Final = 0.35


class DiffLine(NamedTuple):
    """One line of a diff.

    ``mark`` is ``" "`` for an unchanged line, ``"-"`` for a removed and ``"+"`` for an added one, ``"…"`` for omitted
    lines. ``parts`` are the pieces of the line, each ``"same"``, ``"removed"`` or ``"added"``.
    """

    mark: Literal[" ", "-", "+", "…"]
    parts: tuple[tuple[Literal["same", "removed", "added"], str], ...]


def diff_lines(before: str, after: str, *, context: int | None = _CONTEXT) -> list[DiffLine]:
    """Compare two texts line by line, and word by word within similar lines.

    Parameters
    ----------
    before, after
        The texts.
    context
        Number of unchanged lines to keep around a change; None keeps all.

    Returns
    -------
    list[DiffLine]
        Lines of both, in order, safe to show. Empty when there is no visible difference.
    """
    old, new = visible(before).split("\n"), visible(after).split("\n")
    if old == new:
        return []
    lines: list[DiffLine] = []
    compared = SequenceMatcher(None, old, new, autojunk=len(old) > 500)
    for tag, first, last, start, end in compared.get_opcodes():
        if tag == "equal":
            lines += [_line(" ", "same", one) for one in old[first:last]]
        elif tag == "replace":
            lines += _replaced(old[first:last], new[start:end])
        else:
            lines += [_line("-", "removed", one) for one in old[first:last]]
            lines += [_line("+", "added", one) for one in new[start:end]]
    shown = lines if context is None else list(_around(lines, context))
    if len(shown) <= _LINES:
        return shown
    return [*shown[:_LINES], _omitted(f"{len(shown) - _LINES:,} more lines")]


def describe_difference(before: str, after: str) -> str:
    """Describe how two texts differ, also where the difference is invisible."""
    if before == after:
        return "The texts are identical."
    if visible(before) == visible(after):
        return "The texts differ only in invisible characters, such as line endings or trailing spaces."
    return f"From {len(before):,} to {len(after):,} characters. − removed, + added."


def _line(mark: Literal[" ", "-", "+"], kind: Literal["same", "removed", "added"], text: str) -> DiffLine:
    more = len(text) - _LINE_CHARS
    return DiffLine(mark, ((kind, f"{text[:_LINE_CHARS]} … {more:,} more characters" if more > 0 else text),))


def _omitted(words: str) -> DiffLine:
    return DiffLine("…", (("same", words),))


def _replaced(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """Return the lines of a replacement, with their words compared where the texts are similar."""
    mine, theirs = (_WORDS.findall("\n".join(lines)) for lines in (old, new))
    compared = SequenceMatcher(None, mine, theirs, autojunk=False)
    if max(len(mine), len(theirs)) > _MAX_WORDS or compared.ratio() <= _SIMILAR:
        return [*(_line("-", "removed", one) for one in old), *(_line("+", "added", one) for one in new)]
    removed: list[list[Part]] = [[]]
    added: list[list[Part]] = [[]]
    for tag, first, last, start, end in compared.get_opcodes():
        _extend(removed, "same" if tag == "equal" else "removed", "".join(mine[first:last]))
        _extend(added, "same" if tag == "equal" else "added", "".join(theirs[start:end]))
    lines = [DiffLine("-", tuple(parts)) for parts in removed]
    return lines + [DiffLine("+", tuple(parts)) for parts in added]


def _extend(lines: list[list[Part]], kind: Literal["same", "removed", "added"], text: str) -> None:
    """Add a piece of text to the last line, and to new ones after its line breaks."""
    for number, piece in enumerate(text.split("\n")):
        if number:
            lines.append([])
        if piece:
            lines[-1].append((kind, piece))


def _around(lines: list[DiffLine], context: int) -> Iterator[DiffLine]:
    """Omit unchanged lines that are far from every change."""
    changed = [place for place, line in enumerate(lines) if line.mark != " "]
    near = {place + step for place in changed for step in range(-context, context + 1)}
    for is_near, group in itertools.groupby(enumerate(lines), lambda one: one[0] in near):
        if is_near:
            yield from (line for _, line in group)
        else:
            yield _omitted(counted(len(list(group)), "unchanged line"))
