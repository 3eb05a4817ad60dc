"""Find the words of a search again in what is shown, so that they can be marked."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["marked", "search_words"]

_WORDS: Final = re.compile(r'"([^"]+)"|(\S+)')


def search_words(text: str) -> list[str]:
    """Return the words of a search, case-folded; quoted words are one phrase.

    >>> search_words('Refund "on its WAY"')
    ['refund', 'on its way']
    """
    return [(quoted or word).casefold() for quoted, word in _WORDS.findall(text)]


def marked(text: str, words: list[str]) -> list[tuple[str, bool]]:
    """Return a text in parts, each with whether the search found it; empty when it found nothing.

    >>> marked("Grüße aus Köln", ["grüsse"])
    [('Grüße', True), (' aus Köln', False)]
    """
    folded = [character.casefold() for character in text]
    whole = "".join(folded)
    # A character may fold to several: each character of the folded text belongs to one of the text.
    origin = [place for place, letters in enumerate(folded) for _ in letters]
    hit = bytearray(len(text))
    for word in filter(None, words):
        start = whole.find(word)
        while start >= 0:
            for place in origin[start : start + len(word)]:
                hit[place] = 1
            start = whole.find(word, start + len(word))
    if not any(hit):
        return []
    parts: list[tuple[str, bool]] = []
    begin = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or hit[place] != hit[begin]:
            parts.append((text[begin:place], bool(hit[begin])))
            begin = place
    return parts
