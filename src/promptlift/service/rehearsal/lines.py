"""The lines that assistant and person speak in a rehearsal, and what kind a line is when it is seen again."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

from promptlift.service.rehearsal.words import keywords

__all__ = ["MARK", "USELESS", "Kind", "kind_of", "known_line", "speak", "subject"]

MARK: Final = "(Rehearsal)"
"""Stands before the assistant's first answer."""

_READ_CHARS: Final = 4_000

Kind = Literal[
    # The assistant's.
    "asks",
    "goes on",
    "solves",
    "solves curtly",
    "vague",
    "again",
    "declined",
    "beside",
    "closes",
    # The person's.
    "tells",
    "agrees",
    "complains",
    "is glad",
    "is done",
    "gives up",
]
USELESS: Final[frozenset[Kind]] = frozenset({"vague", "again", "declined", "beside"})

_LINES: Final[dict[Kind, tuple[str, ...]]] = {
    "asks": (
        "I can help you with {it}. So that I get it right: since when has it been like this, and what have you tried?",
        "Let us look at {it} together. Which date or reference is this about?",
        "Of course. One detail first: what should be different about {it} in the end?",
    ),
    "goes on": (
        "Thank you, that helps. I have found what concerns {it}, and one step is left. May I go on?",
        "Good, the first part is clear now. For the rest of {it} I need your go-ahead.",
        "I see where it went wrong with {it}. I would set it right now, if you agree.",
    ),
    "solves": (
        "That is settled. Everything about {it} is as it should be, and there is nothing left for you to do.",
        "Here is what you need for {it}: keep the reference, check the two lines that I marked, and send it off.",
        "Done: I took care of {it} as you asked, and made sure that nothing else changes because of it.",
        "I have found the reason and put it right. From now on {it} works as it was promised to you.",
    ),
    "solves curtly": (
        "Done. It was all in the instructions about {it}, had you read them.",
        "It is changed. There was no need to make so much of {it}.",
    ),
    "vague": (
        "There are several ways to deal with {it}. In general it is best to look into the usual places first.",
        "With {it} it depends on many things. Most people find a way that suits them.",
        "I understand that {it} matters to you. Such things can often be sorted out in different ways.",
    ),
    "again": (
        "Could you tell me once more what this is about? I need all details of {it} again.",
        "Before I begin I need the date, the reference and a description of {it}.",
        "Thank you. Please describe {it} from the start, with date and reference.",
    ),
    "declined": (
        "I'm sorry, but I cannot do anything about {it} here.",
        "Unfortunately {it} is not something that I am able to look into.",
        "I am afraid that this is not possible. I cannot say more about {it}.",
    ),
    "beside": (
        "You will be glad to hear that we have a new overview page. Many people like its colours.",
        "In the meantime you may want to read how to change your notification settings.",
        "Speaking of that: our opening hours were extended in spring.",
    ),
    "closes": (
        "You're welcome. Is there anything else?",
        "My pleasure. Come back whenever something is unclear.",
    ),
    "tells": (
        "It has been like this since Monday, and I have tried nothing but waiting. I just want it sorted out.",
        "It is about the entry of the third of this month; the reference ends in 2213.",
        "In the end it should simply be the way it was agreed. That is all I want.",
    ),
    "agrees": (
        "Yes, please go on.",
        "Yes, do that, please.",
        "I agree. Nothing else has to change.",
    ),
    "complains": (
        "That doesn't answer my question. What will you do about it?",
        "I already told you that. Can we get to the point, please?",
        "That is not what I asked for. I would like a real answer.",
        "That doesn't help me, I am afraid. Is there nothing more definite?",
    ),
    "is glad": (
        "That works, thank you very much!",
        "Great, that is exactly what I needed. Thanks a lot.",
        "Perfect, that solves it. Thank you, and have a nice day.",
        "Good, all sorted then. Thanks for your help.",
    ),
    "is done": (
        "It works, but that was rather unfriendly.",
        "Fine, it is done. I would have liked a kinder word.",
    ),
    "gives up": (
        "Forget it, this does not help me. I will look elsewhere.",
        "I give up. That was a waste of time.",
        "Never mind. I still don't have what I came for.",
    ),
}

# The longest piece of each line that is always the same.
_PIECES: Final = tuple(
    (max(line.split("{it}"), key=len).strip(" ,.:?!"), kind, place)
    for kind, lines in _LINES.items()
    for place, line in enumerate(lines)
)
# What an opening is about stands after one of these, if anywhere.
_ABOUT: Final = re.compile(
    r"\b(?:about|my|our|her|his|their|your|the|a|an|cancel|change)\s+(?:\w+\s+)?([^\W\d_]{4,24})\b",
    re.IGNORECASE,
)


def speak(kind: Kind, place: int, *, about: str = "this") -> str:
    """Return a line of a kind.

    Parameters
    ----------
    place
        Which one; counting starts over after the last.
    about
        What the conversation is about.
    """
    lines = _LINES[kind]
    return lines[place % len(lines)].replace("{it}", about)


@lru_cache(maxsize=4096)
def known_line(text: str) -> tuple[Kind, int] | None:
    """Return the kind and place of a line; ``None`` for any other text."""
    return next(((kind, place) for piece, kind, place in _PIECES if piece in text), None)


def kind_of(text: str) -> Kind | None:
    """Return the kind of a line; ``None`` for any other text."""
    line = known_line(text)
    return None if line is None else line[0]


def subject(opening: str) -> str:
    """Return what an opening is about, in words for the middle of a sentence."""
    words = keywords(opening)
    named = [found.lower() for found in _ABOUT.findall(opening[:_READ_CHARS])]
    word = next((one for one in named if one in words), words[0] if words else None)
    return "this" if word is None else f"the {word}"
