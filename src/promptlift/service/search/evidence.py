"""Evidence from the conversations of a search about its edits and candidates. It does not decide who wins."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from promptlift.service.search.edits import CandidateEdit

Outcomes: TypeAlias = "Mapping[int, Mapping[int, bool | float | None]]"
"""By cell and candidate whether the task was completed, or how far the goal was met; ``None`` if unknown."""

# Spread of one conversation within its cell.
NOISE_SD: Final = 0.40
# How much of its issue an edit may prevent, and how likely each is before it is tested; and what all of them leave.
PREVENTS: Final = ((0.0, 0.25), (0.5, 0.35), (1.0, 0.4))
LEFT: Final = 0.05
# How often a conversation completes if its main issue is gone.
COMPLETES: Final = 0.7
# Prior spread of what an edit does besides.
EDIT_SD: Final = 0.03
# An issue may be more frequent than its title: judges word it differently, and its worth is more than what it counts.
SHARE_LEAST: Final = 0.02
# What is known of an issue's frequency before it is counted, as occurrences and conversations: about ``SHARE_LEAST``.
UNCOUNTED: Final = (0.5, 25)
# Of more edits against one issue, those with the most conversations are considered: every possibility is.
AGAINST_MOST: Final = 8
# Each word must gain this much: readers, bills and other instructions pay for it.
PRICE: Final = 0.0006
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
class Against:
    """The edits against one issue, which may deal with different causes of it. It can be prevented only once.

    Attributes
    ----------
    edits
        Their ids.
    shares
        How much of the issue each may prevent, one possibility per row.
    chances
        The probability of each possibility.
    costs
        What the issue costs in each possibility, as a fraction of conversations.
    """

    edits: tuple[str, ...]
    shares: NDArray[np.float64]
    chances: NDArray[np.float64]
    costs: NDArray[np.float64]

    def left(self, edits: Collection[str]) -> float:
        """Return what the issue is expected to cost beside some edits."""
        left = _left(self.shares, [one in edits for one in self.edits])
        return float(self.chances @ (self.costs * left))

    def prevented(self, edits: Collection[str]) -> float:
        """Return what some edits together are expected to gain against the issue."""
        left = _left(self.shares, [one in edits for one in self.edits])
        return float(self.chances @ (self.costs * (1.0 - left)))


@dataclass(frozen=True)
class Worth:
    """The worth of each edit according to all conversations of a search, as a fraction of conversations.

    Attributes
    ----------
    places
        Index of an edit in the means and covariances.
    mean, covariance
        What each edit gains besides what it is expected to prevent.
    against
        The edits against each issue, by edit.
    """

    places: dict[str, int]
    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    against: dict[str, Against]

    def of(self, edits: Collection[str]) -> tuple[float, float]:
        """Return the joint worth of edits, and its standard deviation."""
        at = [self.places[one] for one in edits]
        variance = float(self.covariance[np.ix_(at, at)].sum())
        mean = float(self.mean[at].sum()) + _prevented(self.against, edits)
        return mean, math.sqrt(max(variance, 0.0))

    def adds(self, edit: CandidateEdit, beside: Collection[str]) -> float:
        """Return what an edit is expected to gain beside others, after the price of its words."""
        issue = self.against[edit.id]
        more = issue.left(beside) - issue.left({edit.id, *beside})
        return float(self.mean[self.places[edit.id]]) + more - cost_of(edit)


def cost_of(edit: CandidateEdit) -> float:
    """Return what the words of an edit must gain."""
    return PRICE * len(edit.text.split())


class Issues:
    """How often each issue occurred, with the original in the logs and with each candidate in the search.

    Parameters
    ----------
    logged
        Number of logged conversations, and of those in which each issue went wrong.
    wrong
        By cell and candidate what went wrong.
    """

    def __init__(
        self, logged: tuple[int, Mapping[str, int]], wrong: Mapping[int, Mapping[int, Sequence[str]]]
    ) -> None:
        self._logged = logged
        self._held: Counter[int] = Counter(one for found in wrong.values() for one in found)
        self._seen: dict[int, Counter[str]] = {one: Counter() for one in self._held}
        for found in wrong.values():
            for one, titles in found.items():
                self._seen[one].update(set(titles))

    def against(self, issue: str, edits: Sequence[str], edits_of: Mapping[int, Collection[str]]) -> Against:
        """Return which edits against an issue prevent it, by how often it occurred with and without them.

        The issue occurs as often as in the logs (Poisson, with a Gamma prior), and less often where edits prevent
        a part of it.
        """
        talked = {name: sum(n for one, n in self._held.items() if name in edits_of[one]) for name in edits}
        edits = sorted(edits, key=talked.__getitem__)[-AGAINST_MOST:]
        possible = np.array(list(product(PREVENTS, repeat=len(edits))))
        shares = possible[:, :, 0]
        log_chances = np.log(possible[:, :, 1]).sum(axis=1)
        count, known = self._logged
        occurred = UNCOUNTED[0] + known.get(issue, 0)
        exposed = np.full(len(possible), UNCOUNTED[1] + count, dtype=np.float64)
        for one, held in self._held.items():
            has = [edit in edits_of[one] for edit in edits]
            left = _left(shares, has)
            log_chances += self._seen[one][issue] * np.log(left)
            occurred += self._seen[one][issue]
            exposed += held * left
        log_chances -= occurred * np.log(exposed)
        chances = np.exp(log_chances - log_chances.max())
        costs = COMPLETES * np.maximum(occurred / exposed, SHARE_LEAST)
        return Against(tuple(edits), shares, chances / chances.sum(), costs)


def worth(
    outcomes: Outcomes,
    edits_of: Mapping[int, Collection[str]],
    edits: Mapping[str, CandidateEdit],
    issues: Issues,
) -> Worth:
    """Estimate the worth of each edit: what it prevents of its issue, and what else it gains.

    The first follows from how often the issue occurred with and without it. The second is a linear model with an effect
    per cell, since candidates differ within a cell by their edits and by chance.
    """
    places = {name: at for at, name in enumerate(edits)}
    by_issue: dict[str, list[str]] = {}
    for name, edit in edits.items():
        by_issue.setdefault(edit.issue or name, []).append(name)
    against: dict[str, Against] = {}
    for issue, names in by_issue.items():
        against.update(dict.fromkeys(names, issues.against(issue, names, edits_of)))
    precision = np.eye(len(edits)) / EDIT_SD**2
    pull = np.zeros(len(edits))
    expected = {one: _prevented(against, names) for one, names in edits_of.items()}
    for cell in outcomes.values():
        there = [(one, completed) for one, completed in cell.items() if completed is not None]
        if len(there) < 2:
            continue
        held = np.zeros((len(there), len(edits)))
        for row, (one, _) in enumerate(there):
            held[row, [places[name] for name in edits_of[one]]] = 1.0
        ended = np.array([float(completed) - expected[one] for one, completed in there])
        held -= held.mean(axis=0)
        precision += held.T @ held / NOISE_SD**2
        pull += held.T @ (ended - ended.mean()) / NOISE_SD**2
    covariance = np.linalg.inv(precision).astype(np.float64)
    return Worth(places, covariance @ pull, covariance, against)


def _left(shares: NDArray[np.float64], there: list[bool]) -> NDArray[np.float64]:
    """Return what edits leave of an issue in each possibility."""
    return np.maximum(1.0 - shares[:, there].sum(axis=1), LEFT) if any(there) else np.ones(len(shares))


def _prevented(against: Mapping[str, Against], edits: Collection[str]) -> float:
    groups = {id(against[one]): against[one] for one in edits}
    return sum(one.prevented(edits) for one in groups.values())
