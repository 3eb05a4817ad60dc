"""Conversations as points: words of the user and names of called tools, weighed by TF-IDF, projected to a few dimensions.

No list of stop words decides: a word that most texts have says nothing, in any language. Scripts without spaces are cut where
the script changes, and into pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from promptlift.errors import TranscriptError
from promptlift.schema.transcript import RESULT, is_error, messages_of, split_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import scipy.sparse as sp
    from numpy.typing import NDArray

    Points = NDArray[np.float32]

# unspecified: chosen on the labelled sets of the study (tests/benchmarks/test_atlas.py), where neighbouring values are alike.
_FIRST_TURNS: Final = 3
_WEIGHT_OF_FIRST: Final = 3
_WEIGHT_OF_TOOLS: Final = 0.6
_DIMENSIONS: Final = 50
# A topic of few conversations has no axis among the first: those that fit worst get axes of their own, one for each five of them.
_FIT_WORST: Final = 0.05
_MORE_DIMENSIONS: Final = 10
_LARGEST_SHARE: Final = 0.5
LAST_TURNS: Final = 6
"""Turns before the end in which failures are compared; of the first ones of a user so many name a topic."""
# What is read of a hostile conversation.
TURN_CHARS: Final = 4_000
_TURNS: Final = 200
_POWER_ITERATIONS: Final = 4

_HAN: Final = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_KANA: Final = ("\u3041-\u309f", "\u30a1-\u30fa\u30fc")
# Thai, Lao, Burmese, Khmer.
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# Vowel signs that are no letters to Python.
_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0d7f"
_RUNS: Final = (_HAN, *_KANA, _UNSPACED)
_TOKEN: Final = re.compile(
    "|".join([*(f"[{run}]+" for run in _RUNS), f"(?:[^\\W_{''.join(_RUNS)}]|[{_MARKS}])+"])
)
# Without these scripts one class of characters, which is much faster than the alternatives.
UNSPACED: Final = re.compile(f"[{''.join(_RUNS)}]")
"""A character of a script without spaces."""
_SPACED: Final = re.compile(f"[\\w{_MARKS}]+")
_PAIRED: Final = re.compile(f"[{_HAN}{_UNSPACED}]")
_ASCII_WORD: Final = re.compile(r"(?<![^\W_])[^\W_]{2,40}(?![^\W_])", re.ASCII)
HIRAGANA: Final = re.compile(f"[{_KANA[0]}]+")
MASK: Final = "0"
_DIGITS: Final = re.compile(r"\d+")
_LONGEST_WORD: Final = 40
_LONGEST_RUN: Final = 4
# Of words that the assistant wrote, and of failed tools.
ASSISTANT: Final = "assistant: "
TOOL_FAILED: Final = "a tool failed"


class Document(NamedTuple):
    """What a conversation is compared by.

    Attributes
    ----------
    terms
        How often it has each word, and the tools that it calls.
    tools
        The tools alone.
    said
        The texts that it is named by, the most important first, with what the words of their side begin with.
    """

    terms: Mapping[str, int]
    tools: Mapping[str, int]
    said: Sequence[tuple[str, str]]


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters, with digits masked.

    >>> words_of("Order 4711 is LATE"), words_of("配送状況を確認")
    (['order', 'is', 'late'], ['配送状況', '配送', '送状', '状況', '確認'])
    """
    if text.isascii():
        return _ASCII_WORD.findall(_DIGITS.sub(MASK, text.lower()))
    text = _DIGITS.sub(MASK, unicodedata.normalize("NFKC", text).casefold())
    if not UNSPACED.search(text):
        return [word for word in _SPACED.findall(text.replace("_", " ")) if 1 < len(word) <= _LONGEST_WORD]
    words = []
    for run in _TOKEN.findall(text):
        if _PAIRED.match(run):
            if 2 < len(run) <= _LONGEST_RUN:
                words.append(run)
            words += [run[at : at + 2] for at in range(len(run) - 1)]
        elif 1 < len(run) <= _LONGEST_WORD:
            words.append(run)
    return words


def turns_of(content: Any) -> Sequence[Mapping[str, Any]]:
    """Return the messages of a conversation; none where its content is missing or cannot be read."""
    try:
        return messages_of(content) if isinstance(content, str) else []
    except TranscriptError:
        return []


def opening(turns: Sequence[Mapping[str, Any]]) -> Document:
    """Return what the user asked for, the first turns above all, and the tools that were called."""
    texts = [turn["content"][:TURN_CHARS] for turn in turns if turn["role"] == "user"][:_TURNS]
    first = Counter(word for text in texts[:_FIRST_TURNS] for word in words_of(text))
    words = Counter({word: _WEIGHT_OF_FIRST * count for word, count in first.items()})
    words.update(word for text in texts[_FIRST_TURNS:] for word in words_of(text))
    tools = _tools(turns)
    return Document({**words, **tools}, tools, [("", text) for text in texts[:LAST_TURNS]])


def ending(turns: Sequence[Mapping[str, Any]]) -> Document:
    """Return what both sides said in the turns before the end, and the tools that were called or failed there."""
    last = turns[start_of_end(turns) :]
    said = [
        ("" if turn["role"] == "user" else ASSISTANT, turn["content"][:TURN_CHARS])
        for turn in last
        if not _is_of_tool(turn)
    ]
    words = Counter(side + word for side, text in said for word in words_of(text))
    tools = _tools(last)
    if any(is_error(turn["content"]) for turn in last):
        tools[TOOL_FAILED] = 1
    return Document({**words, **tools}, tools, said[::-1])


def start_of_end(turns: Sequence[Mapping[str, Any]]) -> int:
    """Return the place of the first of the last turns that are not calls and results of tools."""
    spoken = [place for place, turn in enumerate(turns) if not _is_of_tool(turn)]
    return spoken[-LAST_TURNS] if len(spoken) >= LAST_TURNS else 0


def _tools(turns: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    calls = (split_call(turn["content"]) for turn in turns if turn["role"] == "assistant")
    return {f"{call.name}()": 1 for call in calls if call is not None}


def _is_of_tool(turn: Mapping[str, Any]) -> bool:
    text = turn["content"]
    return text.startswith(RESULT) or (turn["role"] == "assistant" and split_call(text) is not None)


def is_tool(term: str) -> bool:
    """Return whether a term is a called tool, or that one failed."""
    return term.endswith("()") or term == TOOL_FAILED


@dataclass(frozen=True)
class Block:
    """The terms of conversations, as counts in a sparse matrix with one column per term."""

    counts: sp.csr_matrix
    terms: dict[str, int]

    @classmethod
    def of(cls, found: Iterable[Mapping[str, float]], terms: dict[str, int] | None = None) -> Block:
        """Count terms; only the given ones if there are any."""
        import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)

        known = {} if terms is None else terms
        places, counts, ends = array("i"), array("f"), array("i", [0])
        for one in found:
            for term, count in one.items():
                place = known.setdefault(term, len(known)) if terms is None else known.get(term)
                if place is not None:
                    places.append(place)
                    counts.append(count)
            ends.append(len(places))
        data = np.array(counts), np.array(places), np.array(ends)
        return cls(sp.csr_matrix(data, shape=(len(ends) - 1, len(known))), known)

    @property
    def of_tools(self) -> NDArray[np.bool_]:
        """Which terms are tools."""
        return np.array([is_tool(term) for term in self.terms], bool)

    def with_terms(self, chosen: NDArray[np.bool_]) -> Block:
        """Return the block of some terms."""
        terms = {term: place for place, term in enumerate(compress(self.terms, chosen))}
        return Block(self.counts[:, chosen], terms)

    def telling(self) -> Block:
        """Return the block of the terms that at least two conversations have, of words only those that at most half of the different ones have.

        One text a thousand times is one text.
        """
        counts = self.counts
        by_text = counts @ np.random.default_rng(0).random(counts.shape[1])
        _, different = np.unique(np.round(by_text, 6), return_index=True)
        n_all, n_different = (
            np.bincount(some.indices, minlength=counts.shape[1]) for some in (counts, counts[different])
        )
        rare = n_different <= max(2.0, _LARGEST_SHARE * len(different))
        return self.with_terms((n_all >= 2) & (rare | self.of_tools))

    def rows(self, places: NDArray[np.intp]) -> Block:
        """Return the block of some conversations."""
        return Block(self.counts[places], self.terms)

    def shuffled(self, rng: np.random.Generator) -> Block:
        """Return a block whose terms are shuffled between conversations: as many of each, and no topics."""
        import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)

        counts = self.counts
        places = rng.permutation(counts.indices)
        return Block(sp.csr_matrix((counts.data, places, counts.indptr), counts.shape), self.terms)

    def weighed(self, rarity: Points) -> sp.csr_matrix:
        """Return the counts as TF-IDF: the words of a conversation have length 1, its tools .6, and both together 1 again."""
        import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)

        counts = self.counts
        row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        tools = self.of_tools[counts.indices]
        data = (1.0 + np.log(counts.data)) * rarity[counts.indices]
        for part, weight in ((2 * row + tools, np.where(tools, _WEIGHT_OF_TOOLS, 1.0)), (row, 1.0)):
            data = weight * data / np.sqrt(np.bincount(part, data**2))[part]
        return sp.csr_matrix((data.astype(np.float32), counts.indices, counts.indptr), counts.shape)


@dataclass(frozen=True)
class Space:
    """Where conversations are points of length 1, near each other if they have rare terms in common."""

    terms: dict[str, int]
    rarity: Points
    axes: Points

    @classmethod
    def fit(cls, block: Block, rng: np.random.Generator) -> tuple[Space, Points]:
        """Find the axes along which conversations differ most, and those that fit these worst; return them with the points."""
        seen = np.bincount(block.counts.indices, minlength=len(block.terms))
        rarity = (1.0 + np.log((1.0 + block.counts.shape[0]) / (1.0 + seen))).astype(np.float32)
        whole = block.weighed(rarity)
        axes = _axes(whole, _DIMENSIONS, rng)
        fit = np.linalg.norm(whole @ axes, axis=1)
        worst = whole[np.argsort(fit, kind="stable")[: int(_FIT_WORST * len(fit))]]
        if more := min(_MORE_DIMENSIONS, worst.shape[0] // 5):
            axes = np.linalg.qr(np.hstack([axes, _axes(worst, more, rng)]))[0]
        return cls(block.terms, rarity, axes), unit(whole @ axes)

    def points(self, documents: Iterable[Document]) -> Points:
        """Return further conversations as points; those without a known term are 0."""
        block = Block.of((document.terms for document in documents), self.terms)
        return unit(block.weighed(self.rarity) @ self.axes)


def unit(points: Points) -> Points:
    """Return points at length 1; those nearly at 0 are 0."""
    length = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(length > 1e-6, length, np.inf), np.float32)


def _axes(matrix: sp.csr_matrix, most: int, rng: np.random.Generator) -> Points:
    """Return the leading right singular vectors, by random projection and power iterations.

    N. Halko, P.-G. Martinsson, J. A. Tropp (2011), Finding structure with randomness. SIAM Review 53, 217-288.
    """
    rank = min(most, *matrix.shape)
    basis = matrix @ rng.standard_normal((matrix.shape[1], min(rank + 10, *matrix.shape)), np.float32)
    for _ in range(_POWER_ITERATIONS):
        basis = matrix @ (matrix.T @ np.linalg.qr(basis)[0])
    projected = (matrix.T @ np.linalg.qr(basis)[0]).T
    return np.asarray(np.linalg.svd(projected, full_matrices=False)[2][:rank].T, np.float32)
