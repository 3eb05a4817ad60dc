"""What differs between two texts: lines first, then the words in them."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, Literal

from promptlift.schema.inert import visible
from promptlift.widgets.static import DiffLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Part = tuple[Literal["same", "removed", "added"], str]

__all__ = ["diff_lines", "what_differs"]

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")
# Lines are shown around a change; so many characters of a line, and so many lines in all.
_CONTEXT: Final = 2
_LINE_CHARS: Final = 3_000
_LINES: Final = 400
# Comparing words one by one takes time that grows with the square of their number.
_WORDS_MOST: Final = 1_500
_ALIKE: Final = 0.35
_PAIRED_MOST: Final = 40


def diff_lines(before: str, after: str, *, context: int | None = _CONTEXT) -> list[DiffLine]:
    """Compare two texts, line by line and then word by word in lines that are alike.

    Parameters
    ----------
    before, after
        The texts.
    context
        Unchanged lines kept around a change; None keeps all.

    Returns
    -------
    list[DiffLine]
        Lines of both, in order, made harmless to look at. Empty when nothing that can be seen differs.
    """
    old, new = visible(before).split("\n"), visible(after).split("\n")
    if old == new:
        return []
    lines: list[DiffLine] = []
    for tag, first, last, start, end in SequenceMatcher(
        None, old, new, autojunk=len(old) > 500
    ).get_opcodes():
        if tag == "equal":
            lines += [_line(" ", "same", one) for one in old[first:last]]
        elif tag == "replace":
            lines += _replaced(old[first:last], new[start:end])
        else:
            lines += [_line("-", "removed", one) for one in old[first:last]]
            lines += [_line("+", "added", one) for one in new[start:end]]
    return _bounded(lines if context is None else list(_around(lines, context)))


def what_differs(before: str, after: str) -> str:
    """Say in words how far two texts differ, also where the difference cannot be seen."""
    if before == after:
        return "The texts are the same, byte for byte."
    if visible(before) == visible(after):
        return (
            "The texts differ only in characters that are not seen, such as line ends or spaces at the end."
        )
    sizes = f"{len(before):,} characters become {len(after):,}"
    return f"{sizes}. − stands before what goes, + before what comes."


def _line(mark: Literal[" ", "-", "+"], kind: Literal["same", "removed", "added"], text: str) -> DiffLine:
    return DiffLine(mark, ((kind, _cut(text)),))


def _cut(text: str) -> str:
    return (
        text
        if len(text) <= _LINE_CHARS
        else f"{text[:_LINE_CHARS]} … {len(text) - _LINE_CHARS:,} more characters"
    )


def _replaced(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """Lines that were replaced: pairs that are alike stand together, with their words compared."""
    found: list[DiffLine] = []
    start = 0
    for one in old:
        partner = _partner(one, new, start) if len(new) <= _PAIRED_MOST else None
        if partner is None:
            found.append(_line("-", "removed", one))
            continue
        found += [_line("+", "added", other) for other in new[start:partner]]
        found += _words(one, new[partner])
        start = partner + 1
    return found + [_line("+", "added", other) for other in new[start:]]


def _partner(one: str, new: Sequence[str], start: int) -> int | None:
    """Place of the line that is most like this one, None when none is."""
    if not one.strip() or len(one) > _LINE_CHARS:
        return None
    mine = _WORDS.findall(one)
    best, place = _ALIKE, None
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
    if len(mine) > _WORDS_MOST or len(theirs) > _WORDS_MOST:
        return [_line("-", "removed", one), _line("+", "added", other)]
    removed: list[Part] = []
    added: list[Part] = []
    for tag, first, last, start, end in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        gone, came = "".join(mine[first:last]), "".join(theirs[start:end])
        if gone:
            removed.append(("same" if tag == "equal" else "removed", gone))
        if came:
            added.append(("same" if tag == "equal" else "added", came))
    return [DiffLine("-", tuple(removed)), DiffLine("+", tuple(added))]


def _around(lines: list[DiffLine], context: int) -> Iterator[DiffLine]:
    """Leave out unchanged lines that are far from every change."""
    changed = [place for place, line in enumerate(lines) if line.mark != " "]
    near = {place + step for place in changed for step in range(-context, context + 1)}
    left_out = 0
    for place, line in enumerate(lines):
        if place in near:
            if left_out:
                yield _gap(left_out)
            left_out = 0
            yield line
        else:
            left_out += 1
    if left_out:
        yield _gap(left_out)


def _gap(count: int) -> DiffLine:
    return DiffLine("…", (("same", f"{count:,} unchanged line{'s' * (count > 1)}"),))


def _bounded(lines: list[DiffLine]) -> list[DiffLine]:
    if len(lines) <= _LINES:
        return lines
    return [*lines[:_LINES], DiffLine("…", (("same", f"{len(lines) - _LINES:,} more lines"),))]
