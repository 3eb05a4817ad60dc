"""Names of clusters in the words of their own conversations: those that are most over-represented there.

References
----------
B. L. Monroe, M. P. Colaresi, K. M. Quinn (2008), Fightin' Words: lexical feature selection and evaluation for identifying the content of
political conflict. Political Analysis 16, 372-403 (log-odds with an informative prior).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from promptlift.clustering.vectors import ASSISTANT, HIRAGANA, MASK, UNSPACED, Block, words_of
from promptlift.words.names import distinct_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from promptlift.clustering.vectors import Document

_TERMS: Final = 3
_CANDIDATES: Final = 20
_FEWEST: Final = 3
_LONGEST_NAME: Final = 60
_FEWEST_LETTERS: Final = 3
# unspecified: standard errors of a log-odds, and share of the conversations, that a term of a name needs.
_LEAST_Z: Final = 2.5
_LEAST_SHARE: Final = 0.15
_USUAL_LENGTH: Final = 5
# Weight of the prior, the usual frequency of each term, in conversations.
_PRIOR: Final = 10.0
# unspecified: two words are a phrase if this share of the conversations with either has them side by side; the other word must be
# among the first candidates, so that it carries meaning too.
_PARTNERS: Final = 6
_TOGETHER: Final = 0.35
# Fewest initial letters that forms of a word share, and their least share of the longer form.
_STEM: Final = (4, 0.57)
# Addresses, identifiers and numbers are not words.
_CODE: Final = re.compile(r"[\w.+-]{0,64}[@_\d][\w@.+-]{0,64}", re.ASCII)
# Including the preceding space if it follows another word.
_WRITTEN: Final = re.compile(r"(?:(?<=\w) )?[^\W\d_]+")
# German writes a quarter of its words with a capital.
_MOST_CAPITALS: Final = 0.18
_NEARLY_ALWAYS: Final = 0.8


class Term(NamedTuple):
    """A word or tool that tells a cluster from others.

    Attributes
    ----------
    word
        As in the documents.
    shown
        As it is written in the conversations, in the phrase in which it usually occurs.
    """

    word: str
    shown: str


def telling_terms(labels: NDArray[np.intp], count: int, documents: Sequence[Document]) -> list[list[Term]]:
    """Return for each cluster the terms that its conversations surely have far more often than all others, the best first.

    Conversations are counted, not words, and of each what it is named by. Proper names, addresses, two letters and Japanese grammar
    only where there is nothing else; of tools only one.
    """
    return [
        _chosen(candidates, [documents[at] for at in np.flatnonzero(labels == cluster).tolist()])
        for cluster, candidates in enumerate(_ranked(labels, count, Block.of(map(_said, documents))))
    ]


def _said(document: Document) -> dict[str, float]:
    """Return the words and tools that may name a conversation; a word of the third text counts half, of the fourth a third, and so on."""
    found: dict[str, float] = dict(document.tools)
    for place, (side, text) in enumerate(document.said):
        for word in words_of(_CODE.sub("\n", text)):
            found.setdefault(side + word, 1.0 / max(1, place))
    return found


def _ranked(labels: NDArray[np.intp], count: int, has: Block) -> list[dict[str, float]]:
    """Return the candidates of each cluster, best first, with the share of its conversations that contain each."""
    import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)

    places = np.flatnonzero(labels >= 0)
    ones = np.ones(len(places), np.float32)
    chosen = sp.csr_matrix((ones, (labels[places], places)), (count, len(labels)))
    sizes = np.bincount(labels[places], minlength=count)[:, None]
    everywhere = np.asarray(has.counts.sum(axis=0), np.float64).ravel()
    shared = np.flatnonzero(everywhere >= _FEWEST)
    inside, everywhere = (chosen @ has.counts[:, shared]).toarray().astype(np.float64), everywhere[shared]
    usual = _PRIOR * (everywhere + 0.5) / (len(labels) + 1.0)
    odds, error = _log_odds(inside + usual, sizes + _PRIOR)
    other_odds, other_error = _log_odds(everywhere - inside + usual, len(labels) - sizes + _PRIOR)
    z = (odds - other_odds) / np.sqrt(error + other_error)
    terms, share = np.array(list(has.terms), object)[shared], inside / np.maximum(sizes, 1)
    # Surely and far more often here, and in most of what it names. The commonest words are the shortest, in any language (Zipf);
    # bytes, as one character of some scripts says more than one of others.
    surely = odds - other_odds - 2.0 * np.sqrt(error + other_error)
    length = np.array([len(term.removeprefix(ASSISTANT).encode()) for term in terms])
    score = surely * np.sqrt(share) * np.minimum(1.0, length / _USUAL_LENGTH)
    named = (z >= _LEAST_Z) & (share >= _LEAST_SHARE) & np.array([MASK not in term for term in terms], bool)
    ranked = []
    for cluster in range(count):
        best = sorted(np.flatnonzero(named[cluster]), key=lambda at: (-score[cluster, at], terms[at]))
        ranked.append({terms[at]: float(share[cluster, at]) for at in best[:_CANDIDATES]})
    return ranked


def _log_odds(seen: NDArray[np.float64], n: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    missing = np.maximum(n - seen, 1e-9)
    return np.log(seen / missing), 1.0 / seen + 1.0 / missing


def _chosen(candidates: Mapping[str, float], members: Sequence[Document]) -> list[Term]:
    """Return the first distinct candidates: the commonest form of each word, in the phrase in which it usually occurs."""
    used = _Use.of(members, candidates)
    telling = [word for word in candidates if used.tells(word)] or list(candidates)
    found: list[Term] = []
    for word in telling:
        forms = [word] if _is_tool(word) else [one for one in telling if _are_forms(one, word)]
        # Scripts without spaces are cut into pairs of characters, and the longest form is a word.
        best = max(forms, key=len if UNSPACED.search(word) else lambda one: candidates[one])
        term = Term(best, used.phrase(best))
        if not any(_repeats(term, before) for before in found):
            found.append(term)
    return found[:_TERMS]


def _is_tool(word: str) -> bool:
    return word.endswith("()")


def _repeats(one: Term, other: Term) -> bool:
    if _is_tool(one.word) and _is_tool(other.word):
        return True
    shared = {*one.shown.casefold().split()} & {*other.shown.casefold().split()}
    return bool(shared) or _are_forms(one.word, other.word)


def _are_forms(one: str, other: str) -> bool:
    one, other = (word.removeprefix(ASSISTANT).removesuffix("()").replace("_", " ") for word in (one, other))
    fewest, share = _STEM
    stem = one[: math.ceil(max(fewest, share * max(len(one), len(other))))]
    return one in other or other in one or (len(stem) >= fewest and other.startswith(stem))


class _Use(NamedTuple):
    """How conversations use some words.

    Attributes
    ----------
    forms
        Spellings of a word where it follows another word, so that a capital is not due to the start of a sentence.
    first
        Its spellings elsewhere.
    phrases
        Spellings of a word together with its neighbour.
    conversations
        Number of conversations that contain a word or a phrase.
    proper
        Words that are nearly always capitalised where few words are.
    """

    forms: dict[str, Counter[str]]
    first: dict[str, Counter[str]]
    phrases: dict[tuple[str, str], Counter[str]]
    conversations: Counter[Any]
    proper: set[str]

    @classmethod
    def of(cls, members: Iterable[Document], words: Iterable[str]) -> _Use:
        forms: dict[str, Counter[str]] = {word: Counter() for word in words}
        first: dict[str, Counter[str]] = {word: Counter() for word in forms}
        partners = {*list(forms)[:_PARTNERS]}
        phrases: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        conversations: Counter[Any] = Counter()
        following = capitals = 0
        for document in members:
            here: set[Any] = set()
            for side, text in document.said:
                written = _WRITTEN.findall(_CODE.sub("\n", text))
                keys = [side + one.strip().casefold() for one in written]
                for at, (word, form) in enumerate(zip(keys, written, strict=True)):
                    follows = form[0] == " " and len(form) > 2
                    following += follows
                    capitals += follows and form[1].isupper()
                    if word not in forms:
                        continue
                    here.add(word)
                    (forms if follows else first)[word][form.strip()] += 1
                    for left in (at - 1, at):
                        if 0 <= left < len(keys) - 1 and written[left + 1][0] == " ":
                            pair = word, keys[left + (left == at)]
                            if pair[1] in partners:
                                here.add(pair)
                                phrases[pair][written[left].strip() + written[left + 1]] += 1
            conversations.update(here)
        few = capitals <= _MOST_CAPITALS * following
        capital = {
            word: sum(n for one, n in some.items() if one[0].isupper()) for word, some in forms.items()
        }
        proper = {word for word, n in capital.items() if few and n > _NEARLY_ALWAYS * forms[word].total()}
        return cls(forms, first, phrases, conversations, proper)

    def tells(self, word: str) -> bool:
        """Return whether a word is a tool, or a word that is neither too short, grammar, a name nor found in addresses only."""
        plain = word.removeprefix(ASSISTANT)
        if _is_tool(word) or UNSPACED.search(plain):
            return not HIRAGANA.fullmatch(plain)
        short = plain.isascii() and len(plain) < _FEWEST_LETTERS
        return word in self.conversations and not short and word not in self.proper

    def phrase(self, word: str) -> str:
        """Return a word as it is usually written, in the phrase in which it usually occurs."""
        if word not in self.conversations:
            return word.removeprefix(ASSISTANT)
        beside = [
            (n, pair)
            for pair in self.phrases
            if pair[0] == word and self.tells(pair[1])
            if (n := self.conversations[pair]) >= _FEWEST
            if n >= _TOGETHER * max(self.conversations[word], self.conversations[pair[1]])
        ]
        written = self.phrases[max(beside)[1]] if beside else self.forms[word] or self.first[word]
        return written.most_common(1)[0][0]


def names(terms: Sequence[Sequence[Term]]) -> list[str]:
    """Return a name for each cluster from its terms, each name once."""
    plain = [dict.fromkeys(term.shown for term in one) for one in terms]
    return distinct_lines([" · ".join(one) or "no words in common" for one in plain], _LONGEST_NAME)
