"""Guards against edits without evidence, in customers' own words, or with addresses that nobody gave.

Transcripts are data. A model may still follow instructions in them, so strangers' words never become a
sentence of a prompt.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from promptlift.service.llm.hostile_text import quotation_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

EDIT_CHARS: Final = 800
QUOTE_CHARS: Final = 300
# Length of runs of words that occur in one message, and the share of an edit's words that makes it a
# repetition.
RUN: Final = 3
REPEATED_SHARE: Final = 0.6
_WORD: Final = re.compile(r"\w+(?:['\u2019]\w+)*")
_ADDRESS: Final = re.compile(
    r"(?:https?://|\bwww\.)\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b(?:[\w-]+\.)+(?:com|net|org|io|example|info|biz|co|dev|app)\b",
    re.IGNORECASE,
)


def existing_evidence(claimed: Iterable[tuple[str, str]], texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the evidence whose quotation is in the cited conversation.

    Parameters
    ----------
    texts
        The full text of each conversation shown, by id.
    """
    found = ((name, quotation_from(texts.get(name, ""), quote, QUOTE_CHARS)) for name, quote in claimed)
    return list(dict.fromkeys((name, quote) for name, quote in found if quote is not None))


def says_what_was_said(text: str, messages: Iterable[str]) -> bool:
    """Return whether most words of an edit occur literally in one message of a stranger.

    Parameters
    ----------
    messages
        Strangers' messages.
    """
    words = _words(text)
    if not words:
        return False
    run = min(RUN, len(words))
    for message in messages:
        said = _words(message)
        runs = {tuple(said[at : at + run]) for at in range(len(said) - run + 1)}
        covered: set[int] = set()
        for at in range(len(words) - run + 1):
            if tuple(words[at : at + run]) in runs:
                covered.update(range(at, at + run))
        if len(covered) >= REPEATED_SHARE * len(words):
            return True
    return False


def new_addresses(text: str, original: str) -> list[str]:
    """Return the web and e-mail addresses of an edit that are not the prompt's own."""
    known = original.casefold()
    return [found for found in _ADDRESS.findall(text) if found.rstrip(".,;:").casefold() not in known]


def _words(text: str) -> Sequence[str]:
    return _WORD.findall(text.casefold())
