"""The lines that assistant and person speak in a rehearsal, and what kind a line is when it is seen again."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

from promptlift.service.rehearsal.script import SCRIPT
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

_LINES: Final[dict[Kind, list[str]]] = SCRIPT["lines"]

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
