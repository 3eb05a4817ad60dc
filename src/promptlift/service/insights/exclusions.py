"""Keep excluded data and topics out of judgements.

The setting is free text. It is read as phrases between commas, semicolons, line ends, "and" and "or". A
phrase hides its own words wherever they appear, singular or plural, and the kinds of data that it names
(e-mail addresses, telephone numbers, card and account numbers) hide everything that matches their pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

from promptlift.schema.insights import Insights
from promptlift.service.insights.turns import plain_words

Found = TypeVar("Found", bound=Insights)
HIDDEN: Final = "[excluded]"
TEXT_CHARS: Final = 4_000
PHRASES_MAX: Final = 100
PHRASE_LETTERS: Final = range(3, 101)

_SPLIT: Final = re.compile(r"[,;\n\r.•]|\s[-*]\s|\b(?:and|or)\b", re.IGNORECASE)
EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_NUMBER: Final = re.compile(r"\+?\d(?:[ ().-]{0,2}\d){6,24}")
_IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){10,30}\b")
# Words in a phrase, and the patterns that they hide.
_KINDS: Final[dict[str, tuple[re.Pattern[str], ...]]] = {
    "email": (EMAIL,),
    "mail": (EMAIL,),
    "phone": (_NUMBER,),
    "telephone": (_NUMBER,),
    "card": (_NUMBER,),
    "account number": (_NUMBER, _IBAN),
    "bank": (_NUMBER, _IBAN),
    "iban": (_IBAN,),
    "social security": (_NUMBER,),
    "ssn": (_NUMBER,),
    "personal data": (EMAIL, _NUMBER, _IBAN),
    "personal information": (EMAIL, _NUMBER, _IBAN),
    "contact": (EMAIL, _NUMBER),
    "pii": (EMAIL, _NUMBER, _IBAN),
}


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Words and kinds of data that must not appear in a judgement.

    Attributes
    ----------
    patterns
        Patterns to hide in a text.
    """

    patterns: tuple[re.Pattern[str], ...] = ()

    def clean(self, text: str) -> str:
        """Replace everything excluded by ``[excluded]``."""
        for pattern in self.patterns:
            text = pattern.sub(HIDDEN, text)
        return text

    def found_in(self, text: str) -> bool:
        """Return whether a text contains anything excluded."""
        return any(pattern.search(text) for pattern in self.patterns)

    def new_in(self, text: str, known: str) -> list[str]:
        """Return the excluded parts of a text that another text does not contain."""
        found = {hit.group() for pattern in self.patterns for hit in pattern.finditer(text)}
        return sorted(hit for hit in found if hit.casefold() not in known.casefold())

    def applied(self, found: Found) -> Found:
        """Remove excluded parts from insights; topics and issues with a title that contain any are left out."""
        if not self.patterns:
            return found
        found.topics = [topic for topic in found.topics if not self.found_in(topic)]
        found.summary = self.clean(found.summary or "")
        found.issues = [
            {**one, "evidence": None if one["evidence"] is None else self.clean(one["evidence"])}
            for one in found.issues
            if not self.found_in(one["title"])
        ]
        if found.failed_step is not None:
            found.failed_step.quote = self.clean(found.failed_step.quote)
        return found

    def applied_to_document(self, document: str) -> str:
        """Return a stored insights document without what is excluded now."""
        if not self.patterns:
            return document
        found = self.applied(Insights.model_validate_json(document))
        return found.model_dump_json(by_alias=True, exclude_unset=True)


@lru_cache(maxsize=256)
def read_exclusions(text: str | None) -> Exclusions:
    """Read the setting ``excludedDataAndTopics``."""
    if not text:
        return Exclusions()
    phrases = [plain_words(part).strip() for part in _SPLIT.split(text[:TEXT_CHARS])]
    phrases = list(dict.fromkeys(phrase for phrase in phrases if len(phrase) in PHRASE_LETTERS))[:PHRASES_MAX]
    if not phrases:
        return Exclusions()
    kinds = dict.fromkeys(
        shape
        for phrase in phrases
        for name, shapes in _KINDS.items()
        if f" {name}" in f" {phrase}"
        for shape in shapes
    )
    said = "|".join(_either_number(phrase.split()) for phrase in phrases)
    return Exclusions((*kinds, re.compile(rf"\b(?:{said})\b", re.IGNORECASE)))


def _either_number(words: list[str]) -> str:
    """Return a pattern of a phrase, with its last word in the singular and the plural."""
    *before, last = words
    stem, ending = last.removesuffix("s"), "s?"
    if last.endswith(("ies", "y")):
        stem, ending = last.removesuffix("ies").removesuffix("y"), "(?:y|ies|ys)"
    parts = [*(re.escape(word.removesuffix("s")) for word in before), re.escape(stem) + ending]
    return r"[\W_]+".join(parts)
