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
_MAX_PAIRED: Final = 40


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
    """Return the lines of a replacement: similar lines in pairs, with their words compared."""
    found: list[DiffLine] = []
    start = 0
    for one in old:
        partner = _partner(one, new, start) if len(new) <= _MAX_PAIRED else None
        if partner is None:
            found.append(_line("-", "removed", one))
            continue
        found += [_line("+", "added", other) for other in new[start:partner]]
        found += _words(one, new[partner])
        start = partner + 1
    return found + [_line("+", "added", other) for other in new[start:]]


def _partner(one: str, new: Sequence[str], start: int) -> int | None:
    """Return the position of the most similar line, None when none is similar."""
    if not one.strip() or len(one) > _LINE_CHARS:
        return None
    mine = _WORDS.findall(one)
    best, place = _SIMILAR, None
    for at in range(start, len(new)):
        if len(new[at]) > _LINE_CHARS or not new[at].strip():
            continue
        compared = SequenceMatcher(None, mine, _WORDS.findall(new[at]), autojunk=False)
        if (
            compared.real_quick_ratio() > best
            and compared.quick_ratio() > best
            and (ratio := compared.ratio()) > best
        ):
            best, place = ratio, at
    return place


def _words(one: str, other: str) -> list[DiffLine]:
    mine, theirs = _WORDS.findall(one), _WORDS.findall(other)
    if len(mine) > _MAX_WORDS or len(theirs) > _MAX_WORDS:
        return [_line("-", "removed", one), _line("+", "added", other)]
    removed: list[Part] = []
    added: list[Part] = []
    for tag, first, last, start, end in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        removed_words, added_words = "".join(mine[first:last]), "".join(theirs[start:end])
        if removed_words:
            removed.append(("same" if tag == "equal" else "removed", removed_words))
        if added_words:
            added.append(("same" if tag == "equal" else "added", added_words))
    return [DiffLine("-", tuple(removed)), DiffLine("+", tuple(added))]


def _around(lines: list[DiffLine], context: int) -> Iterator[DiffLine]:
    """Omit unchanged lines that are far from every change."""
    changed = [place for place, line in enumerate(lines) if line.mark != " "]
    near = {place + step for place in changed for step in range(-context, context + 1)}
    for is_near, group in itertools.groupby(enumerate(lines), lambda one: one[0] in near):
        if is_near:
            yield from (line for _, line in group)
        else:
            yield _omitted(counted(len(list(group)), "unchanged line"))
