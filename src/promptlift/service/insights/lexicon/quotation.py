"""The part of a message that shows a signal: around the words that were found."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from promptlift.schema.inert import shorten_around, shorten_middle

__all__ = ["QUOTATION_CHARS", "quotation"]

QUOTATION_CHARS: Final = 200


def quotation(text: str, phrase: str | None = None) -> str:
    """Return a message in one line of at most ``QUOTATION_CHARS`` characters, cut at words.

    Parameters
    ----------
    text
        The message.
    phrase
        What a long message is cut around, as in ``phrases``; without one it loses its middle.
    """
    line = " ".join(text.split())
    if len(line) <= QUOTATION_CHARS:
        return line
    found = _pattern(phrase).search(line) if phrase else None
    if found is None:
        return shorten_middle(line, QUOTATION_CHARS)
    return shorten_around(line, *found.span(), QUOTATION_CHARS)


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    """Find a phrase with any punctuation between its words, and any apostrophe in them."""
    words = (re.escape(word).replace("'", "['\u2019\u2018\u02bc`]") for word in phrase.split())
    return re.compile(r"(?<!\w)" + r"[\W_]+".join(words) + r"(?!\w)", re.IGNORECASE)
