"""Keep the words of conversations out of a report that is shared."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["REDACTION_NOTE", "WITHHELD", "redact", "repeats"]

WITHHELD: Final = "(title withheld: it repeats what was said)"
REDACTION_NOTE: Final = (
    "This report contains no words of the conversations: no transcripts, quotes or summaries. Titles of issues are "
    "written by the analyser; e-mail addresses, links and numbers of five or more digits are removed from them, and "
    "titles that repeat what was said are withheld. Names in titles are not recognised, so read them before you share "
    "the report."
)

_RUN: Final = 4
_WORDS: Final = re.compile(r"\w+")
# Every repetition is bounded, so that a hostile text takes no longer than others.
_PATTERNS: Final = (
    (re.compile(r"[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"), "[e-mail]"),
    (re.compile(r"\b(?:https?|ftp)://[^\s<>\"']{1,2000}|\bwww\.[^\s<>\"']{1,2000}", re.IGNORECASE), "[link]"),
    (re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"), "[account]"),
    (re.compile(r"(?:[A-Z]{1,4}-)?\+?\(?\d(?:[ ()./-]{0,2}\d){4,40}"), "[number]"),
)


def redact(text: str) -> str:
    """Replace e-mail addresses, links, account numbers and long numbers by placeholders.

    >>> redact("Write to jo@example.org or call +44 20 7946 0999 about order 4821.")
    'Write to [e-mail] or call [number] about order 4821.'
    """
    for pattern, mark in _PATTERNS:
        text = pattern.sub(mark, text)
    return text


def repeats(title: str, said: str) -> bool:
    """Return whether a title repeats four or more consecutive words of what was said, or all of it.

    >>> repeats("Customer says my name is Jo Doe", "Hello, my name is Jo Doe!")
    True
    >>> repeats("Refund late", "My refund is late")
    False
    """
    mine, theirs = (_WORDS.findall(text.casefold()) for text in (title, said))
    run = min(_RUN, len(theirs))
    if run == 0 or len(mine) < run:
        return False
    runs = {tuple(theirs[place : place + run]) for place in range(len(theirs) - run + 1)}
    return any(tuple(mine[place : place + run]) in runs for place in range(len(mine) - run + 1))
