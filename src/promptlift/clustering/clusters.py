"""Clusters on which many different partitions of the conversations agree; their number is found, not given.

References
----------
A. L. N. Fred, A. K. Jain (2005), Combining multiple clusterings using evidence accumulation. IEEE Transactions on Pattern Analysis and
Machine Intelligence 27, 835-850 (co-association, lifetimes).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from promptlift.clustering.vectors import Block, Space

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from promptlift.clustering.vectors import Points

_RUNS: Final = 100
_SHARE: Final = 0.8
# Of the square root of the number of different conversations: fewest and most parts of one run.
_PARTS: Final = (1 / 3, 1.5)
_ITERATIONS: Final = 10
SMALLEST: Final = 5
"""Fewest conversations of a cluster; what is smaller belongs to none."""
# How often, and with how many runs, all is found anew on other draws.
_AGAIN: Final = 5
_RUNS_AGAIN: Final = 16
# unspecified: where agreement is usually cut, and how far from it still counts; without it the number of clusters of weak
# topics would be drawn by lot.
_USUAL_CUT: Final = NormalDist(0.75, 0.1)
_CLEARLY_APART: Final = (0.3, 0.8)
# Rows of the agreement that are counted at once.
_AT_ONCE: Final = 256
# What decides whether there are topics.
_DECIDING: Final = 1_000
_RUNS_DECIDING: Final = 30
_SHUFFLES: Final = 3
# Of the variance; logs with topics have at least 5 times as much as shuffled ones, and these differ by a quarter.
_TIMES_CHANCE: Final = 2.0


@dataclass(frozen=True)
class Clusters:
    """A partition of points.

    Attributes
    ----------
    labels
        Number of the cluster of each point, the largest first; -1 for those that belong to none.
    centres
        Their means.
    stability
        For each cluster the mean share of it that is found again on other draws, whose axes and number of clusters are found anew
        (Jaccard).
    """

    labels: NDArray[np.intp]
    centres: Points
    stability: NDArray[np.float64]

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.centres)


def nearest_of(points: Points, centres: Points) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the nearest centre of each point, and by how much the second nearest is farther.

    Points without a known term are near none, -1.
    """
    near = points @ centres.T - (centres**2).sum(axis=1) / 2.0
    label = np.where(points.any(axis=1), near.argmax(axis=1), -1)
    two = np.sort(near, axis=1)[:, -2:]
    return label, (two[:, -1] - two[:, 0]).astype(np.float64)


def has_topics(block: Block, rng: np.random.Generator) -> bool:
    """Return whether runs agree clearly more than on the same words shuffled between conversations.

    Runs that agree join some conversations nearly always and most others never, so the heights at which two join spread widely, however
    many topics there are and even if only a part of the conversations has one. At most 1,000 conversations decide, by words alone:
    shuffled, the names of a few tools would still make clusters.
    """
    n = block.counts.shape[0]
    some = block.rows(np.sort(rng.choice(n, min(n, _DECIDING), replace=False)))
    words = some.with_terms(~some.of_tools).telling()
    if not words.terms:
        return False

    def spread(found: Block) -> float:
        points = Space.fit(found, rng)[1]
        known = points[points.any(axis=1)]
        if len(known) < 2 * SMALLEST:
            return 0.0
        tree = _tree(_partitions(known, _RUNS_DECIDING, rng))
        sizes = np.append(np.ones(len(known)), tree[:, 3])
        pairs = sizes[tree[:, 0].astype(int)] * sizes[tree[:, 1].astype(int)]
        return float(np.average((tree[:, 2] - np.average(tree[:, 2], weights=pairs)) ** 2, weights=pairs))

    chance = max(spread(words.shuffled(rng)) for _ in range(_SHUFFLES))
    return spread(words) > _TIMES_CHANCE * chance


def find_clusters(
    points: Points,
    rng: np.random.Generator,
    *,
    fewest: int = 2,
    refit: Callable[[NDArray[np.intp]], Points] | None = None,
) -> Clusters:
    """Partition points into as many clusters as live longest.

    Parameters
    ----------
    points
        Of length 1; those of length 0 belong to no cluster.
    rng
        Source of all draws.
    fewest
        Fewest clusters.
    refit
        Returns some of the conversations, given by their places, as points on axes of their own; without it they stay where they are.
    """
    known = np.flatnonzero(points.any(axis=1))
    labels = np.full(len(points), -1)
    if len(known) < 2 * SMALLEST:
        return Clusters(labels, points[:0], np.zeros(0))
    found = _cut(_tree(_partitions(points[known], _RUNS, rng)), fewest)
    sizes = np.bincount(found)
    kept = [place for place in np.argsort(-sizes, kind="stable") if sizes[place] >= SMALLEST]
    number = np.full(len(sizes), -1)
    number[kept] = np.arange(len(kept))
    labels[known] = number[found]
    centres = [points[labels == place].mean(axis=0) for place in range(len(kept))]
    stability = np.zeros((_AGAIN, len(kept)))
    for shares in stability:
        draw = np.sort(rng.choice(len(points), int(_SHARE * len(points)), replace=False))
        at = points[draw] if refit is None else refit(draw)
        drawn = np.flatnonzero(at.any(axis=1))
        if len(drawn) < SMALLEST:
            continue
        again = _cut(_tree(_partitions(at[drawn], _RUNS_AGAIN, rng)), fewest)
        before = labels[draw[drawn]]
        both = np.zeros((len(kept), again.max() + 1))
        np.add.at(both, (before[before >= 0], again[before >= 0]), 1.0)
        either = np.bincount(before[before >= 0], minlength=len(kept))[:, None] + np.bincount(again) - both
        shares[:] = (both / either).max(axis=1)
    return Clusters(
        labels, np.array(centres, np.float32).reshape(-1, points.shape[1]), stability.mean(axis=0)
    )


def _partitions(points: Points, runs: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """Partition random draws of the points; one row per run, -1 for points that it did not draw."""
    n, different = len(points), len(np.unique(points.round(4), axis=0))
    least, most = (max(2, round(part * different**0.5)) for part in _PARTS)
    parts = np.full((runs, n), -1, np.int16)
    for run in parts:
        draw = np.sort(rng.choice(n, int(_SHARE * n), replace=False))
        run[draw] = _k_means(points[draw], int(rng.integers(least, most + 1)), rng)
    return parts


def _k_means(points: Points, parts: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Partition points by Lloyd's algorithm from k-means++ centres."""
    import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)

    n = len(points)
    centres = points[rng.integers(n, size=parts)]
    distance = np.full(n, np.inf)
    for place in range(1, parts):
        distance = np.minimum(distance, np.maximum(1.0 - points @ centres[place - 1], 0.0))
        if (total := distance.sum(dtype=np.float64)) > 1e-6:
            centres[place] = points[rng.choice(n, p=distance.astype(np.float64) / total)]
    part = np.full(n, -1)
    for _ in range(_ITERATIONS):
        before, part = part, (points @ centres.T - (centres**2).sum(axis=1) / 2.0).argmax(axis=1)
        if (part == before).all():
            break
        member = sp.csr_matrix((np.ones(n, np.float32), (part, np.arange(n))), (parts, n))
        size = np.bincount(part, minlength=parts)[:, None]
        centres = np.where(size > 0, member @ points / np.maximum(size, 1), centres).astype(np.float32)
    return part


def _tree(parts: NDArray[np.int16]) -> NDArray[np.float64]:
    """Join points by average linkage; two are as near as the share of runs that drew both and put them into one part."""
    import scipy.sparse as sp  # noqa: PLC0415  (other analyses never need it)
    from scipy.cluster.hierarchy import linkage  # noqa: PLC0415  (as above)

    drawn = (parts >= 0).T
    points, runs = np.nonzero(drawn)
    part = runs * (int(parts.max()) + 1) + parts.T[drawn]
    member = sp.csr_matrix((np.ones(len(part), np.float32), (points, part)))
    n = len(drawn)
    apart, filled = np.empty(n * (n - 1) // 2), 0
    for start in range(0, n, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        together = (member[some] @ member.T).toarray()
        both = drawn[some].astype(np.float32) @ drawn.T.astype(np.float32)
        later = np.arange(n) > np.arange(n)[some, None]
        pairs = 1.0 - together[later] / np.maximum(both[later], 1.0)
        apart[filled : filled + len(pairs)] = pairs
        filled += len(pairs)
    return linkage(apart, "average")


def _cut(tree: NDArray[np.float64], fewest: int) -> NDArray[np.intp]:
    """Cut a tree into the number of clusters that stays the same over the longest range of agreement.

    A branch that nearly all runs keep together, and few with anything else, is a cluster wherever the others are cut.
    """
    from scipy.cluster.hierarchy import fcluster  # noqa: PLC0415  (other analyses never need it)

    n = len(tree) + 1
    heights = np.array([_USUAL_CUT.cdf(height) for height in (0.0, *tree[:, 2])])
    most = min(n - 1, round(_PARTS[1] * n**0.5) + 1)
    counts = np.arange(min(fewest, most), most + 1)
    ranges = heights[n - counts + 1] - heights[n - counts]
    cut = fcluster(tree, int(counts[ranges.argmax()]), "maxclust")
    near, far = (fcluster(tree, apart, "distance") for apart in _CLEARLY_APART)
    around, branch, joined = (np.bincount(labels)[labels] for labels in (cut, near, far))
    own = (branch == joined) & (branch >= SMALLEST) & (branch < around)
    return np.unique(np.where(own, cut.max() + 1 + near, cut), return_inverse=True)[1]
