"""Evidence from the conversations of a search about its edits and candidates. It does not decide who wins."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
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
# How often an edit against an issue is expected to prevent it, before it is tested, and how often a conversation
# completes if its main issue is gone.
PREVENTS: Final = 0.6
COMPLETES: Final = 0.7
# Prior spread of the worth of an edit: as a share of what its issue costs, and at least.
ISSUE_SD: Final = 0.5
EDIT_SD: Final = 0.03
# An issue may be more frequent than its title: judges word it differently, and its worth is more than what it counts.
SHARE_LEAST: Final = 0.02
TITLE_SD: Final = 0.02
# Each word must gain this much: readers, bills and other instructions pay for it.
PRICE: Final = 0.0004
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
    shares
        How often each issue occurs if no edit is against it.
    """

    places: dict[str, int]
    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    shares: dict[str, float]

    def of(self, edits: Collection[str]) -> tuple[float, float]:
        """Return the joint worth of edits, and its standard deviation."""
        at = [self.places[one] for one in edits]
        variance = float(self.covariance[np.ix_(at, at)].sum())
        return float(self.mean[at].sum()), math.sqrt(max(variance, 0.0))

    def expected(self, new: CandidateEdit, edits: Collection[CandidateEdit], issues: Issues) -> float:
        """Return what a new edit is expected to gain beside others, after the price of its words."""
        share = self.shares.get(new.issue)
        if share is None:
            share = issues.share(new.issue, list(issues.held), logged=True)[0]
        left = share = max(share, SHARE_LEAST)
        for one in edits:
            if one.issue == new.issue:
                known = one.id in self.places
                left -= self.of([one.id])[0] / COMPLETES if known else PREVENTS * share
        return PREVENTS * COMPLETES * left - cost_of(new)


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
        self.held: Counter[int] = Counter(one for found in wrong.values() for one in found)
        self.seen: dict[int, Counter[str]] = {one: Counter() for one in self.held}
        for found in wrong.values():
            for one, titles in found.items():
                self.seen[one].update(set(titles))

    def share(self, issue: str, candidates: Collection[int], *, logged: bool) -> tuple[float, float]:
        """Return the share of conversations with an issue among some candidates, and its variance."""
        count, known = self._logged if logged else (0, {})
        n = count + sum(self.held[one] for one in candidates)
        seen = known.get(issue, 0) + sum(self.seen[one][issue] for one in candidates)
        return seen / max(n, 1), (seen + 0.5) / max(n, 1) ** 2


def worth(
    outcomes: Outcomes,
    edits_of: Mapping[int, Collection[str]],
    edits: Mapping[str, CandidateEdit],
    issues: Issues,
) -> Worth:
    """Estimate the worth of each edit: within a cell, candidates differ by their edits and by chance.

    A linear model with an effect per cell and a normal prior on each edit, which is expected to prevent a part of its
    issue. How much rarer the issue became where the edit was in place counts as well.
    """
    named = sorted({edit for edits in edits_of.values() for edit in edits}, key=lambda name: int(name[1:]))
    places = {name: at for at, name in enumerate(named)}
    precision = np.zeros((len(named), len(named)))
    pull = np.zeros(len(named))
    shares: dict[str, float] = {}
    for issue in dict.fromkeys(edits[name].issue for name in named):
        against = [places[name] for name in named if edits[name].issue == issue]
        having = {
            one: [places[name] for name in edits_of[one] if edits[name].issue == issue] for one in issues.held
        }
        share, variance = issues.share(issue, [one for one, at in having.items() if not at], logged=True)
        shares[issue] = share
        likely = max(share, SHARE_LEAST)
        spread = (ISSUE_SD * COMPLETES * likely) ** 2 + EDIT_SD**2
        precision[against, against] += 1.0 / spread
        pull[against] += PREVENTS * COMPLETES * likely / spread
        for one, at in having.items():
            if at and issue:
                left, sampling = issues.share(issue, [one], logged=False)
                spread = COMPLETES**2 * (variance + sampling) + TITLE_SD**2
                precision[np.ix_(at, at)] += 1.0 / spread
                pull[at] += COMPLETES * (share - left) / spread
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
    return Worth(places, covariance @ pull, covariance, shares)
