"""Words from logged conversations: kept out of variants, and out of requests to the model that writes them.

A variant goes live and is visible to everybody, so it must not contain what one customer said. Two things
count:

- **Five words in a row** that occur in one message of a logged conversation, ignoring case and punctuation.
- **Particulars** that occur only there: e-mail addresses, web addresses, numbers of two or more digits,
  codes with two or more digits in them, and names.

A name is a word that is capitalised within a sentence in conversations, and that occurs nowhere in lower
case, neither in the conversations nor among the owner's own words. Names of months and days do not count. In
a language that capitalises nouns (German) this rule does not work; there only words after *Herr*, *Frau* or
*ich heiße* are names.

The owner's words (the prompt, its objective, the intent of the request, the general settings) may be used,
even if a customer used them too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from promptlift.errors import TranscriptError
from promptlift.schema.transcript import parse_content
from promptlift.service.insights.exclusions import EMAIL
from promptlift.service.optimizations.checks import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

RUN: Final = 5
# Maximum text to read, newest conversations first: twelve million words.
MOST_CHARS: Final = 64_000_000

_SHOWN_WORDS: Final = 12
_WORD: Final = re.compile(r"\w+(?:'\w+)*")
_APOSTROPHES: Final = "\u2019\u2018\u02bc`"
_LINK: Final = re.compile(r"(?:https?://|\bwww\.)[^\s<>\"'`\])}]{1,2000}", re.IGNORECASE)
# Digits, or letters and digits, in one piece: 48213, 14:30, 0171-2223334, A1B-22, INV/2026/07.
_NUMBER: Final = re.compile(r"(?<![\w])[+#]?\w+(?:[-./:,]\w+)*")
_DIGIT: Final = re.compile(r"\d")
_PARTS: Final = re.compile(r"[-./:]")
_CAPITAL: Final = re.compile(r"(?<!\w)[^\W\d_a-z]\w+")
# The share of these words is above a tenth in German, and close to zero elsewhere.
_NOUNS_ARE_CAPITALISED: Final = 0.06
_GERMAN: Final = frozenset(_WORD.findall("der das und ist nicht ich mit ein eine zu den sie es auf für wir"))
_CALENDAR: Final = frozenset(
    _WORD.findall(
        "january february march april may june july august september october november december jan feb mar apr jun jul aug "
        "sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun "
        "i i'm i'll i've i'd ok"
    )
)
_MASKS: Final = ((_LINK, "(link)"), (EMAIL, "(e-mail)"), (_NUMBER, "(number)"), (_CAPITAL, "(name)"))
_SENTENCE_ENDS: Final = frozenset(".!?:;\n\r…•*#>|")
# Text in quotation marks or brackets may begin like a sentence: a capital there does not make a name.
_OPENINGS: Final = frozenset('"“”„()[]{}-–—')
_CALLED: Final = re.compile(
    r"\b(?:my name is|i am called|this is|herrn?|frau|ich hei(?:ß|ss)e|mein name ist) +"
    r"((?-i:[^\W\d_a-z]\w+)(?: +(?-i:[^\W\d_a-z]\w+))?)",
    re.IGNORECASE,
)
_CALLED_SIGNS: Final = ("my name is", "i am called", "this is", "herr", "frau", "ich hei", "mein name")


class LoggedWords:
    """The words of logged conversations, indexed once for look-ups.

    Parameters
    ----------
    own
        The owner's words, which may be used.
    contents
        Transcripts in either form, newest first; unreadable ones are skipped, and so are system messages,
        which contain a text of the prompt.
    """

    def __init__(self, own: Sequence[str], contents: Iterable[str] = ()) -> None:
        written = "\n".join(own)
        self._own_runs = frozenset(run for text in own for run in _runs(_words(text)).tolist())
        self._own_particulars = {key for key, _ in _written(written)} | set(_words(written))
        self._particulars: set[str] = set()
        self._names: set[str] = set()
        self._ordinary = {word for word in _WORD.findall(_plain(written)) if word.islower()}
        parts = []
        left = MOST_CHARS
        for content in contents:
            said = _said(content)
            parts += [_runs(_words(text)) for text in said]
            self._learn("\n".join(said))
            left -= len(content)
            if left < 0:
                break
        self._runs = np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.uint64)
        self._names -= self._ordinary | _CALENDAR | self._own_particulars
        self._particulars -= self._own_particulars

    def _learn(self, text: str) -> None:
        self._particulars.update(key for key, _ in _written(text))
        # A name in an address is in lower case, but still a name.
        text = EMAIL.sub(" ", _LINK.sub(" ", text)) if "@" in text or "://" in text else text
        words = _WORD.findall(_plain(text))
        self._ordinary.update(word for word in set(words) if word.islower())
        small = text.casefold()
        if any(sign in small for sign in _CALLED_SIGNS):
            for found in _CALLED.findall(text):
                self._names.update(map(_name_key, _WORD.findall(found)))
        german = sum(map(_GERMAN.__contains__, words))
        if german <= _NOUNS_ARE_CAPITALISED * len(words):
            self._names.update(map(_name_key, _capitalised(text, after=_SENTENCE_ENDS | _OPENINGS)))

    def problems(self, text: str) -> list[str]:
        """Describe what a text repeats from the conversations, for its author; empty if nothing."""
        found = (
            (
                f"It repeats {RUN} or more words in a row from logged conversations; put these in other words",
                [f"“{_shown(run)}”" for run in self.runs(text)],
            ),
            (
                "It contains details that occur only in logged conversations; leave them out",
                self.particulars(text),
            ),
        )
        return [f"{words}: {listed(items)}." for words, items in found if items]

    def runs(self, text: str) -> list[str]:
        """Return the runs of five words or more that a text repeats, as written in it."""
        places = [found.span() for found in _WORD.finditer(_plain(text))]
        runs = _runs(_words(text))
        if not len(self._runs) or not len(runs):
            return []
        at = np.minimum(np.searchsorted(self._runs, runs), len(self._runs) - 1)
        spans: list[tuple[int, int]] = []
        for place in np.flatnonzero(self._runs[at] == runs).tolist():
            if int(runs[place]) in self._own_runs:
                continue
            start = spans.pop()[0] if spans and place <= spans[-1][1] else place
            spans.append((start, place + RUN))
        return [" ".join(text[places[start][0] : places[end - 1][1]].split()) for start, end in spans]

    def particulars(self, text: str) -> list[str]:
        """Return the names, numbers, addresses and codes that a text repeats, in its order."""
        found = [written for key, written in _written(text) if key in self._particulars]
        words = _capitalised(text, after=_SENTENCE_ENDS)
        return list(dict.fromkeys([*found, *(word for word in words if _name_key(word) in self._names)]))

    def masked(self, text: str) -> str:
        """Replace particulars that are not the owner's own by words such as ``(name)`` and ``(number)``.

        Unlike `particulars` this also masks numbers and addresses that no conversation contains literally: a
        judge's text about a conversation may write them differently.
        """
        for pattern, mask in _MASKS:
            text = pattern.sub(lambda found, mask=mask: self._mask(found.group(), mask), text)  # type: ignore[misc]
        return text

    def _mask(self, found: str, mask: str) -> str:
        if mask == "(name)":
            hidden = found[0].isupper() and _name_key(found) in self._names
        else:
            hidden = (mask != "(number)" or _is_number(found)) and _key(found) not in self._own_particulars
        return mask + found[len(found.rstrip(".,;:!?")) :] if hidden else found


def _shown(run: str) -> str:
    words = run.split()
    return " ".join(words[:_SHOWN_WORDS]) + (" …" if len(words) > _SHOWN_WORDS else "")


def _said(content: str) -> list[str]:
    try:
        messages = parse_content(content).messages
    except TranscriptError:
        return []
    return [message.content for message in messages if message.role != "system" and message.content]


def _plain(text: str) -> str:
    """Return the text with a single kind of apostrophe, at the same length."""
    for sign in _APOSTROPHES:
        text = text.replace(sign, "'")
    return text


def _words(text: str) -> list[str]:
    # Lower-cased after the split: lower case may need more characters than the capital.
    return [word.casefold() for word in _WORD.findall(_plain(text))]


def _runs(words: Sequence[str]) -> NDArray[np.uint64]:
    """Hash each run of words; equal runs have equal hashes in this process."""
    if len(words) < RUN:
        return np.zeros(0, np.uint64)
    codes = np.fromiter(map(hash, words), np.int64, len(words)).view(np.uint64)
    mixed = np.zeros(len(words) - RUN + 1, np.uint64)
    for place in range(RUN):
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + codes[place : len(words) - RUN + 1 + place]
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _key(found: str) -> str:
    return found.rstrip(".,;:!?").lstrip("+#").replace(",", "").casefold()


def _name_key(word: str) -> str:
    return word.casefold().removesuffix("'s")


def _is_number(found: str) -> bool:
    return sum(character.isdigit() for character in found) >= 2


def _written(text: str) -> Iterator[tuple[str, str]]:
    """Yield addresses, numbers and codes of a text: the normalized form, and the form as written."""
    for pattern, signs in ((_LINK, ("://", "www.", "WWW.")), (EMAIL, ("@",))):
        if any(sign in text for sign in signs):
            for found in pattern.findall(text):
                yield _key(found), found
            text = pattern.sub(" ", text)
    for piece in text.split():
        if not _DIGIT.search(piece):
            continue
        for found in filter(_is_number, _NUMBER.findall(piece)):
            yield _key(found), found
            # The parts count too: the year in 12/05/2026, and both numbers in 20-30.
            parts = _PARTS.split(found)
            yield from ((_key(part), part) for part in parts if len(parts) > 1 and _is_number(part))


def _capitalised(text: str, *, after: frozenset[str]) -> Iterator[str]:
    """Find words within a sentence that begin with a capital and continue in lower case.

    Parameters
    ----------
    after
        Characters after which a capital is not significant.
    """
    for found in _CAPITAL.finditer(text):
        word = found.group()
        if not word[0].isupper() or word.isupper():
            continue
        place = found.start() - 1
        while place >= 0 and not text[place].isalnum() and text[place] not in after:
            place -= 1
        if place >= 0 and text[place] not in after:
            yield word
