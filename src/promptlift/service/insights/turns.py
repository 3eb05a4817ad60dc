"""The part of a transcript that the lexicon judge reads, bounded so that no transcript takes long.

At most ``MESSAGE_CHARS`` characters of a message and ``TOTAL_CHARS`` of a conversation are read: of a long
message the beginning and the end, half of the limit each, of a conversation with more than ``MESSAGES_READ``
messages the first ``FIRST_MESSAGES`` and the last ones, because a conversation's request is at its start and
its outcome at its end.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from promptlift.schema.inert import shorten_middle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Message, Transcript


MESSAGES_READ: Final = 240
FIRST_MESSAGES: Final = 40
MESSAGE_CHARS: Final = 4_000
TOTAL_CHARS: Final = 48_000

Speaker = Literal["user", "assistant", "tool"]

_APOSTROPHES: Final = "\u2019\u2018\u02bc`"
_PUNCTUATION: Final = string.punctuation.replace("'", "") + "…“”–—¿¡"
_OF_ASCII: Final = str.maketrans({**dict.fromkeys(_PUNCTUATION, " "), "`": "'"})
_RUNS: Final = re.compile(f"[{re.escape(_PUNCTUATION)}]+")


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """One message in the form used by the rules.

    Attributes
    ----------
    speaker
        ``tool`` is a system message, or a tool call merged into an assistant message.
    text
        The text, up to the cap.
    words
        The same in lower case without punctuation, one space before, between and after the words, so that
        ``" thank you " in turn.words`` finds whole words only.
    vocabulary
        The different words of ``words``.
    number
        Index of the message in the transcript.
    """

    speaker: Speaker
    text: str
    words: str
    vocabulary: frozenset[str]
    number: int = 0


def read_turns(transcript: Transcript) -> list[JudgedTurn]:
    """Read the turns with text, in order, within the caps of this module."""
    messages = [
        (number, message)
        for number, message in enumerate(transcript.messages)
        if message.content and not message.content.isspace()
    ]
    if len(messages) > MESSAGES_READ:
        messages = messages[:FIRST_MESSAGES] + messages[FIRST_MESSAGES - MESSAGES_READ :]
    allowed = _allowance([message for _, message in messages])
    return [_turn(message, allowed, number) for number, message in messages]


def plain_words(text: str) -> str:
    """Return a text in lower case without punctuation, with one space around every word."""
    if text.isascii():
        kept = text.lower().translate(_OF_ASCII)
    else:  # str.translate takes four times as long
        for mark in _APOSTROPHES:
            text = text.replace(mark, "'")
        kept = _RUNS.sub(" ", text.lower())
    return f" {' '.join(kept.split())} "


def _allowance(messages: Sequence[Message]) -> int:
    # Typical conversations are far below the total, and are read in full.
    if sum(min(len(message.content), MESSAGE_CHARS) for message in messages) <= TOTAL_CHARS:
        return MESSAGE_CHARS
    return TOTAL_CHARS // len(messages)


def _turn(message: Message, allowed: int, number: int) -> JudgedTurn:
    text = shorten_middle(message.content, allowed).strip()
    machine = message.role == "system" or text.startswith(("[tool call]", "[tool result]"))
    speaker: Speaker = "tool" if machine else "user" if message.role == "user" else "assistant"
    words = plain_words(text[:400] if machine else text)
    return JudgedTurn(speaker, text, words, frozenset(words.split()), number)
