"""Names of clusters in the words of their own conversations: those that are most over-represented there.

References
----------
B. L. Monroe, M. P. Colaresi, K. M. Quinn (2008), Fightin' Words: lexical feature selection and evaluation for identifying the content of
political conflict. Political Analysis 16, 372-403 (log-odds with an informative prior).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from promptlift.clustering.vectors import ASSISTANT, HIRAGANA, MASK
from promptlift.words.names import distinct_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from promptlift.clustering.vectors import Block

_TERMS: Final = 3
_FEWEST: Final = 3
_LONGEST_NAME: Final = 60
_FEWEST_LETTERS: Final = 3
# unspecified: standard errors of a log-odds, and share of the conversations, that a term of a name needs.
_LEAST_Z: Final = 2.5
_LEAST_SHARE: Final = 0.15
_USUAL_LENGTH: Final = 5
# Weight of the prior, the usual frequency of each term, in conversations.
_PRIOR: Final = 10.0


def telling_terms(
    labels: NDArray[np.intp], count: int, blocks: Sequence[Block], proper: Collection[str] = ()
) -> list[list[str]]:
    """Return for each cluster the terms that its conversations surely have far more often than all others, the best first.

    Proper names, two letters and Japanese grammar only where there is nothing else.
    """
    import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)

    places = np.flatnonzero(labels >= 0)
    ones = np.ones(len(places), np.float32)
    chosen = sp.csr_matrix((ones, (labels[places], places)), (count, len(labels)))
    sizes = np.bincount(labels[places], minlength=count)[:, None]
    found: list[list[tuple[float, str]]] = [[] for _ in range(count)]
    for block in blocks:
        counts = block.counts
        has = sp.csr_matrix((np.ones_like(counts.data), counts.indices, counts.indptr), counts.shape)
        everywhere = np.asarray(has.sum(axis=0), np.float64).ravel()
        shared = np.flatnonzero(everywhere >= _FEWEST)
        inside, everywhere = (chosen @ has[:, shared]).toarray().astype(np.float64), everywhere[shared]
        usual = _PRIOR * (everywhere + 0.5) / (len(labels) + 1.0)
        odds, error = _log_odds(inside + usual, sizes + _PRIOR)
        other_odds, other_error = _log_odds(everywhere - inside + usual, len(labels) - sizes + _PRIOR)
        z = (odds - other_odds) / np.sqrt(error + other_error)
        terms = np.array(list(block.terms), object)[shared]
        # Surely and far more often here, and in most of what it names. The commonest words are the shortest, in any language (Zipf);
        # bytes, as one character of some scripts says more than one of others.
        surely = odds - other_odds - 2.0 * np.sqrt(error + other_error)
        length = np.array([len(term.removeprefix(ASSISTANT).encode()) for term in terms])
        score = surely * np.sqrt(inside / np.maximum(sizes, 1)) * np.minimum(1.0, length / _USUAL_LENGTH)
        for cluster, term in zip(
            *np.nonzero((z >= _LEAST_Z) & (inside >= _LEAST_SHARE * sizes)), strict=True
        ):
            if MASK not in terms[term]:
                found[cluster].append((-score[cluster, term], terms[term]))
    ordered = [[term for _, term in sorted(one)] for one in found]
    return [_different([term for term in one if not _says_little(term, proper)] or one) for one in ordered]


def _says_little(term: str, proper: Collection[str]) -> bool:
    word = term.removeprefix(ASSISTANT)
    return (
        word in proper or (word.isascii() and len(word) < _FEWEST_LETTERS) or bool(HIRAGANA.fullmatch(word))
    )


def _log_odds(seen: NDArray[np.float64], n: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    missing = np.maximum(n - seen, 1e-9)
    return np.log(seen / missing), 1.0 / seen + 1.0 / missing


def _different(terms: list[str]) -> list[str]:
    """Return the first terms; of those that are part of another one, the longer."""
    chosen: list[str] = []
    for term in terms[: 4 * _TERMS]:
        short = term.removeprefix(ASSISTANT)
        if any(short in one for one in chosen):
            continue
        parts = [place for place, one in enumerate(chosen) if one.removeprefix(ASSISTANT) in short]
        if parts:
            chosen[parts[0]] = term
            chosen = [one for place, one in enumerate(chosen) if place not in parts[1:]]
        else:
            chosen.append(term)
    return chosen[:_TERMS]


def names(terms: Sequence[Sequence[str]]) -> list[str]:
    """Return a name for each cluster from its terms, each name once."""
    plain = [dict.fromkeys(term.removeprefix(ASSISTANT) for term in one) for one in terms]
    return distinct_lines([" · ".join(one) or "no words in common" for one in plain], _LONGEST_NAME)
