"""Texts that are one template with different values filled in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Template", "filled_in", "templates_of"]

# Dates, times, addresses and ids are one token each, so that they differ as a whole.
_TOKEN: Final = re.compile(
    r"[\w.+-]+@\w[\w-]*(?:\.\w+)+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\d+(?:[-:./T]\d+)+Z?|\w+|\s+|[^\w\s]"
)
# Most of a text must be the same, and the values few, or it is a different text.
_SHARE: Final = 0.6
_MOST_VALUES: Final = 8
# Longer texts are compared only by their beginnings and ends.
_MOST_TOKENS: Final = 4_000
# Dates, times, e-mail addresses, long numbers and ids: changes of these are not edits of a prompt.
_FILLED_IN: Final = re.compile(
    r"""\s*(?: \d{4}-\d\d?-\d\d?(?:T[\d:.]+Z?)? (?:\s+\d\d?:\d\d(?::\d\d)?)? | \d\d?:\d\d(?::\d\d)? | \d\d?[./]\d\d?[./]\d{2,4}
      | \S+@\S+\.\w+ | \d{6,} | [0-9a-f]{8}-[0-9a-f-]{27} | [0-9a-f]{16,} )\s*""",
    re.VERBOSE | re.IGNORECASE,
)

_PLACEHOLDER: Final = re.compile(r"\{\{[^{}\n]{1,100}\}\}")

Parts = tuple[str | None, ...]


@dataclass
class Template:
    """What some texts have in common.

    Attributes
    ----------
    parts
        Tokens of the text; ``None`` for a value that differs.
    texts
        The texts from which it was made.
    words
        Words that all of them have.
    """

    parts: Parts
    texts: list[str] = field(default_factory=list)
    words: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """The template, with ``{{value}}`` for its value, or ``{{value_1}}`` and so on for several."""
        count = self.parts.count(None)
        numbers = iter(range(1, count + 1))
        return "".join(
            part if part is not None else "{{value}}" if count == 1 else f"{{{{value_{next(numbers)}}}}}"
            for part in self.parts
        )

    def matches(self, text: str) -> bool:
        """Return whether a text is this template with values filled in."""
        fixed = self.fixed()
        if None not in self.parts:
            return text == fixed[0]
        first, *middle, last = fixed
        if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
            return False
        at, end = len(first), len(text) - len(last)
        for piece in middle:
            found = text.find(piece, at, end)
            if found < 0:
                return False
            at = found + len(piece)
        return True

    @property
    def of_dates_or_ids(self) -> bool:
        """Whether all values are dates, times, addresses or ids."""
        values = [value for text in self.texts for value in self.values(text)]
        return bool(values) and all(map(_FILLED_IN.fullmatch, values))

    def shares(self, words: frozenset[str]) -> bool:
        """Return whether enough words are shared to justify a detailed comparison."""
        return 2 * len(words & self.words) >= _SHARE * min(len(words), len(self.words))

    def fixed(self) -> list[str]:
        """Return the texts before, between and after the values."""
        pieces: list[str] = [""]
        for part in self.parts:
            if part is None:
                pieces.append("")
            else:
                pieces[-1] += part
        return pieces

    def values(self, text: str) -> list[str]:
        """Return the values of a text of this template."""
        first, *others = self.fixed()
        found, at = [], len(first)
        for number, piece in enumerate(others, start=1):
            end = len(text) - len(piece) if number == len(others) else text.find(piece, at)
            found.append(text[at:end])
            at = end + len(piece)
        return found


def templates_of(texts: Iterable[str]) -> list[Template]:
    """Return the templates of some texts, each text in one of them; a text unlike any other gets its own."""
    found: list[Template] = []
    for text in texts:
        known = next((one for one in found if None in one.parts and one.matches(text)), None)
        if known is not None:
            known.texts.append(text)
            continue
        tokens = tuple(_TOKEN.findall(text))
        words = frozenset(filter(_is_word, tokens))
        for one in found:
            joined = _joined(one.parts, tokens) if one.shares(words) else None
            if joined is not None:
                one.parts = joined
                one.words &= words
                one.texts.append(text)
                break
        else:
            found.append(Template(tokens, [text], words))
    return found


def filled_in(template: str, text: str) -> bool:
    """Return whether a text is a template with its placeholders, such as ``{{name}}``, filled in."""
    pieces = _PLACEHOLDER.split(template)
    parts: list[str | None] = [pieces[0]]
    for piece in pieces[1:]:
        parts += [None, piece]
    return Template(tuple(parts)).matches(text)


def _joined(one: Parts, other: Parts) -> Parts | None:
    """Return the template of two texts, ``None`` if they have too little in common."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    middle_one, middle_other = one[start : len(one) - end], other[start : len(other) - end]
    middle = _common(middle_one, middle_other) if max(len(one), len(other)) <= _MOST_TOKENS else (None,)
    joined = _without_splinters((*one[:start], *middle, *one[len(one) - end :]))
    same = sum(len(part) for part in joined if part is not None)
    shorter = min(sum(len(part) for part in parts if part is not None) for parts in (one, other))
    if joined.count(None) > _MOST_VALUES or same < _SHARE * shorter or not any(map(_is_word, joined)):
        return None
    return joined


def _common(one: Parts, other: Parts) -> Parts:
    parts: list[str | None] = []
    for tag, begin, end, _, _ in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        parts += one[begin:end] if tag == "equal" else [None]
    return tuple(parts)


def _without_splinters(parts: Sequence[str | None]) -> Parts:
    """Join values separated only by blanks or punctuation, such as first and last name."""
    kept: list[str | None] = []
    pending: list[str] = []
    for part in parts:
        if part is None:
            if not kept or kept[-1] is not None or any(map(_is_word, pending)):
                kept += [*pending, None]
            pending = []
        elif kept and kept[-1] is None and not _is_word(part) and len(pending) < 2:
            pending.append(part)
        else:
            kept += [*pending, part]
            pending = []
    return (*kept, *pending)


def _is_word(part: str | None) -> bool:
    return part is not None and (part.isalnum() or "_" in part)
