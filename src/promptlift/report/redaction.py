"""Personal data that a pattern can find, taken out of example texts."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["REDACTION_NOTE", "redact"]

REDACTION_NOTE: Final = (
    "E-mail addresses, links and numbers of five or more digits are taken out of the examples. Names and other "
    "words are not recognised: read the examples before you pass the report on."
)

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
