"""Words of conversations kept out of a report that is passed on."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["REDACTION_NOTE", "WITHHELD", "redact", "repeats"]

WITHHELD: Final = "(title withheld: it repeats what was said)"
REDACTION_NOTE: Final = (
    "No words of the conversations are in this report: no transcripts, no quotes, no summaries. Titles of issues are the "
    "analyser's own; e-mail addresses, links and numbers of five or more digits are taken out of them, and titles that "
    "repeat the words they rest on are withheld. Names in titles are not recognised: read them before you pass the "
    "report on."
)

_RUN: Final = 4
_WORDS: Final = re.compile(r"\w+")
# Every repetition is bounded: a hostile text must not cost more than an honest one.
_PATTERNS: Final = (
    (re.compile(r"[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"), "[e-mail]"),
    (re.compile(r"\b(?:https?|ftp)://[^\s<>\"']{1,2000}|\bwww\.[^\s<>\"']{1,2000}", re.IGNORECASE), "[link]"),
    (re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"), "[account]"),
    (re.compile(r"(?:[A-Z]{1,4}-)?\+?\(?\d(?:[ ()./-]{0,2}\d){4,40}"), "[number]"),
)


def redact(text: str) -> str:
    """Put marks in place of e-mail addresses, links, account numbers and long numbers.

    >>> redact("Write to jo@example.org or call +44 20 7946 0999 about order 4821.")
    'Write to [e-mail] or call [number] about order 4821.'
    """
    for pattern, mark in _PATTERNS:
        text = pattern.sub(mark, text)
    return text


def repeats(title: str, said: str) -> bool:
    """Tell whether a title holds four or more words in a row of what was said, or all of it.

    >>> repeats("Customer says my name is Jo Doe", "Hello, my name is Jo Doe!")
    True
    >>> repeats("Refund late", "My refund is late")
    False
    """
    mine, theirs = (_WORDS.findall(text.casefold()) for text in (title, said))
    run = min(_RUN, len(theirs))
    if run == 0 or len(mine) < run:
        return False
    heard = {tuple(theirs[place : place + run]) for place in range(len(theirs) - run + 1)}
    return any(tuple(mine[place : place + run]) in heard for place in range(len(mine) - run + 1))
