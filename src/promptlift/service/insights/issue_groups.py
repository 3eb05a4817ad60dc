"""Group titles of issues that mean the same.

Rules write a title in a normal form: its words without endings, in any order, without words that say nothing, without
the assistant, who is meant where nobody is named, with synonyms as one word, and with one word for every *not*. Titles of one form are one group, and so is a title of which
all but a fifth of the words are those of a more frequent one. The rules only join what is almost certainly the same:
where a model is configured, it joins the rest (`issue_naming`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from promptlift.service.insights.turns import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["group_titles", "normal_form"]

# Of two titles that differ, the share of common words above which they are the same; "refund late" and "refund refused"
# have a third.
SIMILAR: Final = 0.8
NOT: Final = "not"
_USER: Final = "user"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EMPTY: Final = _words("""
    a an and any are as at be been being but by did do does during for from get gets got had has have he her his how if in
    into is it its issue issues made make more of on or our problem problems request requested requests s she so some such than
    that the their them there they this to too very was were what when which while who whom why will with would you your
    assistant assistants assistant's agent agents agent's bot chatbot ai model system representative
    experienced encountered occurred received provided proper properly
""")
_SYNONYMS: Final[dict[str, str]] = {
    word: name
    for name, words in {
        NOT: "no never nor cannot cant can't couldn't could didn't doesn't don't isn't wasn't won't wouldn't hasn't haven't "
        "without unable lack lacks lacking lacked missing fail fails failed failing failure unsuccessful neither",
        _USER: "users user's customer customers customer's client client's caller human consumer",
        "late": "slow slowly delay delays delayed lateness overdue",
        "wrong": "incorrect incorrectly inaccurate inaccurately false erroneous mistaken wrongly invalid error errors mistake "
        "mistakes",
        "refuse": "refused refusal refuses refusing deny denied denies denial decline declined declines reject rejected rejects "
        "rejection",
        "refund": "refunds refunded refunding reimburse reimbursed reimbursement moneyback",
        "deliver": "delivery deliveries delivered ship shipping shipped shipment arrive arrived arrival",
        "order": "orders ordered purchase purchased purchases",
        "price": "prices priced pricing cost costs charge charges charged fee fees",
        "invent": "invented hallucinate hallucinated hallucination hallucinations fabricate fabricated fabrication",
        "handover": "transfer transferred transfers transferring escalate escalated escalation handoff handed",
        "repeat": "repeats repeated repeatedly repetition repetitive repeating again reask reasked",
        "rude": "impolite unfriendly discourteous disrespectful",
        "misunderstand": "misunderstood misunderstanding misinterpret misinterpreted misread",
        "answer": "answers answered answering reply replies replied respond responded response responses",
        "cancel": "cancels cancelled canceled cancellation cancelling canceling",
        "help": "helps helped helpful helping assist assisted assistance resolve resolved solve solved",
        "upset": "frustrated frustration frustrating angry anger annoyed dissatisfied unhappy",
        "check": "verify verified verification verifying confirm confirmed confirmation checked",
    }.items()
    for word in (name, *words.split())
}
_ENDING: Final = re.compile(r"(?<=[a-z]{3})(?:ies|ing|ed|es|s|ly)$")


@lru_cache(maxsize=50_000)
def normal_form(title: str) -> frozenset[str]:
    """Return the words that a title is compared by."""
    written = plain_words(title.replace("-", " ")).split()
    words = frozenset(_word(word) for word in written if word not in _EMPTY)
    # A title of nothing but empty words, or of another script, is only like itself.
    return words or frozenset(written) or frozenset({title})


def _word(word: str) -> str:
    if word in _SYNONYMS:
        return _SYNONYMS[word]
    if word.endswith("n't"):
        return NOT
    stem = _ENDING.sub("", word)
    return _SYNONYMS.get(stem, stem.removesuffix("e") if len(stem) > 4 else stem)


def group_titles(counts: Mapping[str, int], *, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the name of its group for each title; a group is named by its most frequent title.

    Parameters
    ----------
    counts
        How many conversations have each title.
    known
        Groups that a model named, by title.
    """
    ordered = sorted(counts, key=lambda title: (-counts[title], title))
    leaders = _Leaders()
    found = {title: leaders.find(title) for title in ordered}
    named = known or {}
    # A title that the model has not seen yet goes where the titles of its form went.
    by_leader: dict[str, str] = {}
    for title in ordered:
        if title in named:
            by_leader.setdefault(found[title], named[title])
    return {title: named.get(title) or by_leader.get(found[title], found[title]) for title in ordered}


class _Leaders:
    """The first title of every group, found by its words."""

    def __init__(self) -> None:
        self._by_form: dict[frozenset[str], str] = {}
        self._by_word: dict[str, list[frozenset[str]]] = {}

    def find(self, title: str) -> str:
        """Return the leader of a title, which becomes one when none is like it."""
        form = normal_form(title)
        leader = self._by_form.get(form) or self._similar(form)
        if leader is None:
            leader = title
            for word in form:
                self._by_word.setdefault(word, []).append(form)
        self._by_form.setdefault(form, leader)
        return leader

    def _similar(self, form: frozenset[str]) -> str | None:
        candidates: Iterable[frozenset[str]] = dict.fromkeys(
            other for word in form for other in self._by_word.get(word, ())
        )
        for other in candidates:
            same_sense = all((word in form) == (word in other) for word in (NOT, _USER))
            if same_sense and len(form & other) >= SIMILAR * len(form | other):
                return self._by_form[other]
        return None
