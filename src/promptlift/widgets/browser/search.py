"""What a person searches, filters and sorts by, and the words of a search in what is shown."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Final

from promptlift.widgets.tree_widget import whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.widgets.browser.catalogue import Catalogue

__all__ = ["LABELLED", "Query", "marked", "search_words"]

_TEXT_CHARS: Final = 500
_WORDS: Final = re.compile(r'"([^"]+)"|(\S+)')
LABELLED: Final = {"no": "Not labelled", "yes": "Labelled", "differs": "Label differs from the judge"}


@dataclass(frozen=True, slots=True)
class Query:
    """Filters, all of which a conversation must match, and the order of what they find.

    ``chosen`` has the index of a value by the key of its facet; ``since`` and ``until`` are days in UTC, both included.
    """

    text: str = ""
    chosen: Mapping[str, int] = field(default_factory=dict)
    since: date | None = None
    until: date | None = None
    labelled: str = ""
    order: int = 0

    @property
    def words(self) -> list[str]:
        """The words to search for, all of which must occur."""
        return search_words(self.text)

    @classmethod
    def parse(cls, given: Mapping[str, str], catalogue: Catalogue) -> Query:
        """Read the fields by name. They come from outside: one that makes no sense is no filter."""
        places = {
            one.key: (whole(given.get(f"facet {one.key}")), len(one.values)) for one in catalogue.facets
        }
        order, labelled = whole(given.get("order")) or 0, given.get("labelled", "")
        return cls(
            given.get("text", "")[:_TEXT_CHARS],
            {key: at for key, (at, size) in places.items() if at is not None and at < size},
            _day(given.get("since", "")),
            _day(given.get("until", "")),
            labelled if labelled in LABELLED and (labelled != "differs" or catalogue.is_judged) else "",
            order if order < len(catalogue.orders) else 0,
        )


def _day(given: str) -> date | None:
    try:
        day = date.fromisoformat(given)
    except ValueError:
        return None
    # Times with nanoseconds end in 1677 and 2262; nobody logged conversations beyond.
    return day if 1700 <= day.year <= 2200 else None


def search_words(text: str) -> list[str]:
    """Return the words of a search, case-folded; quoted words are one phrase.

    >>> search_words('Refund "on its WAY"')
    ['refund', 'on its way']
    """
    return [(quoted or word).casefold() for quoted, word in _WORDS.findall(text)]


def marked(text: str, words: list[str]) -> list[tuple[str, bool]]:
    """Return a text in parts, each with whether the search found it; empty when it found nothing.

    >>> marked("Grüße aus Köln", ["grüsse"])
    [('Grüße', True), (' aus Köln', False)]
    """
    folded = [character.casefold() for character in text]
    whole_text = "".join(folded)
    # A character may fold to several: each character of the folded text belongs to one of the text.
    origin = [place for place, letters in enumerate(folded) for _ in letters]
    hit = bytearray(len(text))
    for word in filter(None, words):
        for found in re.finditer(re.escape(word), whole_text):
            for place in origin[found.start() : found.end()]:
                hit[place] = 1
    if not any(hit):
        return []
    edges = [
        place for place in range(len(text) + 1) if place in (0, len(text)) or hit[place] != hit[place - 1]
    ]
    return [(text[start:end], bool(hit[start])) for start, end in itertools.pairwise(edges)]
