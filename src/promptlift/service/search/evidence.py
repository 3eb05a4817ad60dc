"""Evidence from the conversations of a search about its edits and candidates. It does not decide who wins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

Outcomes: TypeAlias = "Mapping[int, Mapping[int, bool | float | None]]"
"""By cell and candidate whether the task was completed, or how far the goal was met; ``None`` if unknown."""

# Prior spread of the worth of an edit, and spread of one conversation within its cell.
EDIT_SD: Final = 0.08
NOISE_SD: Final = 0.40
# An edit with evidence is a little more likely to help than to harm.
EDIT_MEAN: Final = 0.01
# Scores are sums of weights, so a zero difference may come out slightly positive.
NOTHING: Final = 1e-9


class Record(NamedTuple):
    """Cells in which one side completed the task and the other did not, and in which both ended the same."""

    won: int
    lost: int
    tied: int

    @property
    def n(self) -> int:
        """All cells."""
        return self.won + self.lost + self.tied


def record_of(outcomes: Outcomes, one: int, other: int) -> Record:
    """Compare two candidates on the cells that both have."""
    pairs = [
        (found[one], found[other])
        for found in outcomes.values()
        if found.get(one) is not None and found.get(other) is not None
    ]
    return _record(pairs)


def mean_gain(scores: Mapping[int, Mapping[int, float]], one: int, other: int) -> float | None:
    """Return the mean difference of the scores of two candidates on the cells that both have; ``None`` if there are none."""
    gains = [found[one] - found[other] for found in scores.values() if one in found and other in found]
    if not gains:
        return None
    mean = math.fsum(gains) / len(gains)
    return mean if abs(mean) > NOTHING else 0.0


def with_and_without(outcomes: Outcomes, edits_of: Mapping[int, Collection[str]], edit: str) -> Record:
    """Compare candidates with an edit and those without it.

    In each cell, the two that differ in the fewest other edits.
    """
    pairs = []
    for found in outcomes.values():
        there = [one for one, completed in found.items() if completed is not None]
        have = [one for one in there if edit in edits_of[one]]
        lack = [one for one in there if edit not in edits_of[one]]
        if have and lack:
            one, other = min(
                ((one, other) for one in have for other in lack),
                key=lambda pair: (len(set(edits_of[pair[0]]) ^ set(edits_of[pair[1]])), pair),
            )
            pairs.append((found[one], found[other]))
    return _record(pairs)


def _record(pairs: Sequence[tuple[bool | float | None, bool | float | None]]) -> Record:
    won = sum(bool(one) and not other for one, other in pairs)
    lost = sum(bool(other) and not one for one, other in pairs)
    return Record(won, lost, len(pairs) - won - lost)


@dataclass(frozen=True)
class Worth:
    """The worth of each edit according to all conversations of a search, as a fraction of conversations.

    Attributes
    ----------
    places
        Index of an edit in the means and covariances.
    """

    places: dict[str, int]
    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]

    def of(self, edits: Collection[str]) -> tuple[float, float]:
        """Return the joint worth of edits, and its standard deviation."""
        at = [self.places[one] for one in edits if one in self.places]
        new = len(edits) - len(at)
        mean = float(self.mean[at].sum()) + new * EDIT_MEAN
        variance = float(self.covariance[np.ix_(at, at)].sum()) + new * EDIT_SD**2
        return mean, math.sqrt(max(variance, 0.0))


def worth(outcomes: Outcomes, edits_of: Mapping[int, Collection[str]]) -> Worth:
    """Estimate the worth of each edit: within a cell, candidates differ by their edits and by chance.

    A linear model with an effect per cell and a normal prior on each edit.
    """
    named = sorted({edit for edits in edits_of.values() for edit in edits}, key=lambda name: int(name[1:]))
    places = {name: at for at, name in enumerate(named)}
    precision = np.eye(len(named)) / EDIT_SD**2
    pull = np.full(len(named), EDIT_MEAN / EDIT_SD**2)
    for found in outcomes.values():
        there = [(one, completed) for one, completed in found.items() if completed is not None]
        if len(there) < 2:
            continue
        held = np.zeros((len(there), len(named)))
        for row, (one, _) in enumerate(there):
            held[row, [places[edit] for edit in edits_of[one]]] = 1.0
        ended = np.array([float(completed) for _, completed in there])
        held -= held.mean(axis=0)
        precision += held.T @ held / NOISE_SD**2
        pull += held.T @ (ended - ended.mean()) / NOISE_SD**2
    covariance = np.linalg.inv(precision).astype(np.float64)
    return Worth(places, covariance @ pull, covariance)
