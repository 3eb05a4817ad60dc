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
    words
        How often it has each word.
    tools
        That it calls.
    said
        The texts that it is named by, the most important first, with what the words of their side begin with.
    """

    words: Mapping[str, int]
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
    return Document(words, _tools(turns), [("", text) for text in texts[:LAST_TURNS]])


def ending(turns: Sequence[Mapping[str, Any]]) -> Document:
    """Return what both sides said in the turns before the end, and the tools that were called or failed there."""
    last = turns[start_of_end(turns) :]
    said = [
        ("" if turn["role"] == "user" else ASSISTANT, turn["content"][:TURN_CHARS])
        for turn in last
        if not _is_of_tool(turn)
    ]
    words = Counter(side + word for side, text in said for word in words_of(text))
    failed = any(is_error(turn["content"]) for turn in last)
    return Document(words, {**_tools(last), **({TOOL_FAILED: 1} if failed else {})}, said[::-1])


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


@dataclass(frozen=True)
class Block:
    """The words or the tools of conversations, as counts in a sparse matrix with one column per term."""

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

    def frequent(self, largest_share: float) -> NDArray[np.bool_]:
        """Return which terms at least two conversations have, and not more than a share of the different ones.

        One text a thousand times is one text.
        """
        counts = self.counts
        by_text = counts @ np.random.default_rng(0).random(counts.shape[1])
        _, different = np.unique(np.round(by_text, 6), return_index=True)
        of_texts = counts[np.sort(different)]
        n_all, n_different = (
            np.bincount(some.indices, minlength=counts.shape[1]) for some in (counts, of_texts)
        )
        return (n_all >= 2) & (n_different <= max(2.0, largest_share * len(different)))

    def rows(self, places: NDArray[np.intp]) -> Block:
        """Return the block of some conversations."""
        return Block(self.counts[places], self.terms)

    def shuffled(self, rng: np.random.Generator) -> Block:
        """Return a block whose words are shuffled between conversations: as many of each, and no topics."""
        import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)

        rows, places = (
            np.repeat(np.arange(self.counts.shape[0]), np.diff(self.counts.indptr)),
            self.counts.indices,
        )
        found = sp.csr_matrix((self.counts.data, (rows, rng.permutation(places))), self.counts.shape)
        return Block(found, self.terms)


@dataclass(frozen=True)
class Space:
    """Where conversations are points of length 1, near each other if they have rare terms in common."""

    blocks: tuple[tuple[dict[str, int], Points, float], ...]
    axes: Points

    @classmethod
    def fit(cls, words: Block, tools: Block | None, rng: np.random.Generator) -> tuple[Space, Points]:
        """Find the axes along which conversations differ most, and those that fit these worst; return them with the points."""
        import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)

        given = [(words, _LARGEST_SHARE, 1.0), *([(tools, 1.0, _WEIGHT_OF_TOOLS)] if tools else [])]
        blocks, weighed = [], []
        for block, largest_share, weight in given:
            n, at = block.counts.shape[0], block.counts.indices
            rarity = 1.0 + np.log((1.0 + n) / (1.0 + np.bincount(at, minlength=block.counts.shape[1])))
            rarity = np.where(block.frequent(largest_share), rarity, 0.0).astype(np.float32)
            blocks.append((block.terms, rarity, weight))
            weighed.append(_weighed(block.counts, rarity, weight))
        whole = _unit_rows(sp.hstack(weighed, format="csr"))
        axes = _axes(whole, _DIMENSIONS, rng)
        fit = np.linalg.norm(whole @ axes, axis=1)
        worst = whole[np.argsort(fit, kind="stable")[: int(_FIT_WORST * len(fit))]]
        if more := min(_MORE_DIMENSIONS, worst.shape[0] // 5):
            axes = np.linalg.qr(np.hstack([axes, _axes(worst, more, rng)]))[0]
        return cls(tuple(blocks), axes), unit(whole @ axes)

    def points(self, documents: Sequence[Document]) -> Points:
        """Return further conversations as points; those without a known term are 0."""
        import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)

        found_in = (document.words for document in documents), (document.tools for document in documents)
        weighed = [
            _weighed(Block.of(found, terms).counts, rarity, weight)
            for found, (terms, rarity, weight) in zip(found_in, self.blocks, strict=False)
        ]
        return unit(_unit_rows(sp.hstack(weighed, format="csr")) @ self.axes)


def _weighed(counts: sp.csr_matrix, rarity: Points, weight: float) -> sp.csr_matrix:
    import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)

    data = (1.0 + np.log(counts.data)) * rarity[counts.indices]
    return _unit_rows(sp.csr_matrix((data, counts.indices, counts.indptr), counts.shape)) * np.float32(weight)


def _unit_rows(matrix: sp.csr_matrix) -> sp.csr_matrix:
    import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)

    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sp.csr_matrix(
        sp.diags_array((1.0 / np.where(length > 0.0, length, 1.0)).astype(np.float32)) @ matrix
    )


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
