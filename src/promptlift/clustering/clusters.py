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
    from numpy.typing import NDArray

    from promptlift.clustering.vectors import Points

RUNS: Final = 60
_SHARE: Final = 0.8
# Of the square root of the number of conversations: fewest and most parts of one run.
_PARTS: Final = (1 / 3, 1.5)
_ITERATIONS: Final = 20
SMALLEST: Final = 5
"""Fewest conversations of a cluster; what is smaller belongs to none."""
_THIRDS: Final = 3
# unspecified: where agreement is usually cut, and how far from it still counts; without it the number of clusters of weak
# topics would be drawn by lot.
_USUAL_CUT: Final = NormalDist(0.75, 0.15)
_CLEARLY_APART: Final = (0.3, 0.8)
# What decides whether there are topics.
_DECIDING: Final = 1_000
_SHUFFLES: Final = 3
_SHORTEST: Final = 0.015
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
        For each cluster the mean share of it that is found again by other runs on other draws, whose number of clusters is found anew
        (Jaccard).
    """

    labels: NDArray[np.intp]
    centres: Points
    stability: NDArray[np.float64]

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.centres)

    def nearest(self, points: Points) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the nearest cluster of each point, and by how much the second nearest is farther.

        Points without a known term belong to none.
        """
        near = points @ self.centres.T - (self.centres**2).sum(axis=1) / 2.0
        label = np.where(points.any(axis=1), near.argmax(axis=1), -1)
        two = np.sort(near, axis=1)[:, -2:]
        return label, (two[:, -1] - two[:, 0]).astype(np.float64)


def has_topics(words: Block, rng: np.random.Generator) -> bool:
    """Return whether clusters live clearly longer than in the same words shuffled between conversations.

    At most 1,000 conversations decide, by words alone: shuffled, the names of a few tools would still make clusters.
    """
    n = words.counts.shape[0]
    drawn = np.sort(rng.choice(n, min(n, _DECIDING), replace=False))
    found = Block(words.counts[drawn], words.terms)

    def lifetime(block: Block) -> float:
        points = Space.fit(block, None, rng)[1]
        known = points[points.any(axis=1)]
        return (
            float(_ranges(_tree(_partitions(known, rng)), 2)[1].max()) if len(known) >= 2 * SMALLEST else 0.0
        )

    chance = max(lifetime(found.shuffled(rng)) for _ in range(_SHUFFLES))
    return lifetime(found) > max(_SHORTEST, _TIMES_CHANCE * chance)


def find_clusters(points: Points, rng: np.random.Generator, *, fewest: int = 2) -> Clusters:
    """Partition points into as many clusters as live longest.

    Parameters
    ----------
    points
        Of length 1; those of length 0 belong to no cluster.
    rng
        Source of all draws.
    fewest
        Fewest clusters.
    """
    known = np.flatnonzero(points.any(axis=1))
    labels = np.full(len(points), -1)
    if len(known) < 2 * SMALLEST:
        return Clusters(labels, points[:0], np.zeros(0))
    parts = _partitions(points[known], rng)
    found, *again = (
        _cut(_tree(some), fewest) for some in (parts, *(parts[third::_THIRDS] for third in range(_THIRDS)))
    )
    sizes = np.bincount(found)
    kept = [place for place in np.argsort(-sizes, kind="stable") if sizes[place] >= SMALLEST]
    number = np.full(len(sizes), -1)
    number[kept] = np.arange(len(kept))
    labels[known] = number[found]
    centres = [points[labels == place].mean(axis=0) for place in range(len(kept))]
    stability = np.array(
        [np.mean([_found_again(found == place, other) for other in again]) for place in kept]
    )
    return Clusters(labels, np.array(centres, np.float32).reshape(-1, points.shape[1]), stability)


def _found_again(members: NDArray[np.bool_], others: NDArray[np.intp]) -> float:
    both, all_of_them = np.bincount(others[members], minlength=others.max() + 1), np.bincount(others)
    return float((both / (members.sum() + all_of_them - both)).max())


def _partitions(points: Points, rng: np.random.Generator) -> NDArray[np.int16]:
    """Partition random draws of the points; one row per run, -1 for points that it did not draw."""
    n = len(points)
    least, most = (max(2, round(part * n**0.5)) for part in _PARTS)
    parts = np.full((RUNS, n), -1, np.int16)
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
    from scipy.cluster.hierarchy import linkage  # noqa: PLC0415  (only clusters need it)

    n = parts.shape[1]
    apart = np.empty(n * (n - 1) // 2)
    end = 0
    for place in range(n - 1):
        drawn = parts[parts[:, place] >= 0]
        others = drawn[:, place + 1 :]
        together = np.count_nonzero(others == drawn[:, place, None], axis=0)
        start, end = end, end + n - 1 - place
        apart[start:end] = 1.0 - together / np.maximum(np.count_nonzero(others >= 0, axis=0), 1)
    return linkage(apart, "average")


def _ranges(
    tree: NDArray[np.float64], fewest: int, *, usual: bool = False
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return numbers of clusters, and over which range of agreement each stays the same; a usual one weighs more."""
    n = len(tree) + 1
    heights = np.append(0.0, tree[:, 2])
    if usual:
        heights = np.array([_USUAL_CUT.cdf(height) for height in heights])
    most = min(n - 1, round(_PARTS[1] * n**0.5) + 1)
    counts = np.arange(min(fewest, most), most + 1)
    return counts, heights[n - counts + 1] - heights[n - counts]


def _cut(tree: NDArray[np.float64], fewest: int) -> NDArray[np.intp]:
    """Cut a tree into the number of clusters that stays the same over the longest range of agreement.

    A branch that nearly all runs keep together, and few with anything else, is a cluster wherever the others are cut.
    """
    from scipy.cluster.hierarchy import fcluster  # noqa: PLC0415  (only clusters need it)

    counts, ranges = _ranges(tree, fewest, usual=True)
    cut = fcluster(tree, counts[ranges.argmax()], "maxclust")
    near, far = (fcluster(tree, apart, "distance") for apart in _CLEARLY_APART)
    around, branch, joined = (np.bincount(labels)[labels] for labels in (cut, near, far))
    own = (branch == joined) & (branch >= SMALLEST) & (branch < around)
    return np.unique(np.where(own, cut.max() + near, cut), return_inverse=True)[1]
