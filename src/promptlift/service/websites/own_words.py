"""What a company says of itself, found without a model: its industry by a word list, the rest in its page's own words.

English only, and rough: a page in another language gives its own description as objectives and nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from promptlift.service.websites.company import FIELD_CHARS, Company, harmless_sentences, sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptlift.service.websites.page_text import PageText

__all__ = ["own_words"]

# Words of an industry; a word ends with * where it is the start of one.
_INDUSTRIES: Final[dict[str, str]] = {
    "Airlines and aviation": "airline* flight* airport* boarding cabin baggage aircraft",
    "Automotive": "car cars vehicle* dealership* automotive garage* tyre* tires driver*",
    "Banking and payments": "bank* loan* mortgage* payment* deposit* savings card cards lending fintech",
    "Construction": "construction contractor* building* renovation* architect* concrete scaffold*",
    "Education": "school* student* course* university teacher* learning curriculum tuition campus",
    "Energy and utilities": "energy electricity gas solar utility grid meter* kilowatt* heating",
    "Food and restaurants": "restaurant* food chef* dish dishes meal* recipe* bakery kitchen cuisine",
    "Government and public services": "citizen* council ministry municipal* permit* public tax* authority",
    "Healthcare": "patient* clinic* doctor* hospital* medical health nurse* therap* appointment*",
    "Hospitality": "hotel* guests rooms resort* breakfast suites reservation* spa",
    "Insurance": "insurance insurer* insured policyholder* premiums claims coverage underwrit*",
    "Legal services": "law lawyer* attorney* legal litigation counsel solicitor* court",
    "Logistics and delivery": "parcel* delivery shipping freight courier* warehous* logistics shipment* tracking",
    "Manufacturing": "manufactur* factory industrial machine* production component* assembly plant",
    "Media and publishing": "news journalis* magazine* publish* editor* subscri* podcast* article*",
    "Nonprofit": "donat* volunteer* charity nonprofit humanitarian fundrais* communit*",
    "Real estate": "properties apartment* rental* renting landlord* tenant* realtor* estate homes housing",
    "Recruiting and staffing": "recruit* candidate* hiring job jobs staffing employer* talent career*",
    "Retail and e-commerce": "shop shops shopper* shopping cart checkout clothing fashion retail* ecommerce outlet* brands",
    "Software": "software platform developer* api cloud saas integration* dashboard* app apps deploy*",
    "Telecommunications": "broadband mobile network* roaming sim fibre fiber telecom* internet tariff* 5g",
    "Travel": "travel* trip* holiday* tour tours destination* itinerar* cruise* vacation*",
}
# A few words of an industry stand on every long page; this many different ones, one of them in a prominent place, do not.
_WORDS_NEEDED: Final = 3
_PROMINENT: Final = 2
_HEADINGS_READ: Final = 3
_AIM: Final = re.compile(
    r"\bour\s+(?:mission|goal|aim|vision|purpose|promise|ambition)\b|\bwe\s+(?:help|aim|strive|want|exist|believe|enable|"
    r"empower|make it|work to|are committed)\b|\b(?:mission|aim)\s+is\s+to\b",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"\d[\d.,]{0,10}\s?(?:%|percent|hours?|minutes?|seconds?|days?|stars?|/\s?5|/\s?7|out of)", re.IGNORECASE
)
_MEASURE: Final = re.compile(
    r"\b(?:uptime|availability|satisf\w*|respon\w*|answer\w*|deliver\w*|on[ -]time|retention|churn|conversion\w*|rating\w*|"
    r"rated|review\w*|refund\w*|resol\w*|accuracy|waiting|wait|recommend\w*|nps|success rate|first contact)\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[a-z0-9]{2,40}")
_SENTENCES_READ: Final = 400
_AIMS: Final = 3
_KPIS: Final = 3
_SENTENCE_CHARS: Final = range(15, 300)


def own_words(page: PageText) -> Company:
    """Find what a page says; an industry only where several of its words are on the page."""
    said = [one for one in _shown(page) if len(one) in _SENTENCE_CHARS]
    aims = [one for one in said if _AIM.search(one)][:_AIMS]
    about = aims or page.descriptions[:1] or page.headings[:1]
    measured = [one for one in said if _NUMBER.search(one) and _MEASURE.search(one)][:_KPIS]
    return Company(industry=_industry(page), objectives=_joined(about), kpis=_joined(measured))


def _shown(page: PageText) -> Iterator[str]:
    texts = [*page.descriptions, *page.paragraphs]
    found = dict.fromkeys(sentence for text in texts for sentence in sentences(text))
    yield from list(found)[:_SENTENCES_READ]


def _joined(texts: Iterable[str]) -> str:
    ended = (text if text[-1:] in ".!?。！？" else f"{text}." for text in texts)
    return harmless_sentences(" ".join(ended), FIELD_CHARS)


def _industry(page: PageText) -> str:
    prominent = _words([page.title, *page.descriptions, *page.headings[:_HEADINGS_READ]])
    words = prominent | _words(page.paragraphs)
    scores = {name: _score(vocabulary, words, prominent) for name, vocabulary in _INDUSTRIES.items()}
    best = max(scores, key=lambda name: scores[name])
    is_clear = list(scores.values()).count(scores[best]) == 1
    return best if is_clear else ""


def _words(texts: Iterable[str]) -> set[str]:
    return set(_WORD.findall(" ".join(texts).lower()))


def _score(vocabulary: str, words: set[str], prominent: set[str]) -> int:
    """Count the words of an industry on the page; those in its title, descriptions and first headings count more."""
    found = [word for word in vocabulary.split() if _has(words, word)]
    in_front = [word for word in found if _has(prominent, word)]
    return len(found) + _PROMINENT * len(in_front) if len(found) >= _WORDS_NEEDED and in_front else 0


def _has(words: set[str], word: str) -> bool:
    return any(one.startswith(word[:-1]) for one in words) if word.endswith("*") else word in words
