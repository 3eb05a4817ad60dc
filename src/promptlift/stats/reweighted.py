"""The lift on a mix of cells other than the tested one: that of logged conversations, of which failed ones are oversampled.

Each stratum of the population was drawn with its own probability. A pair is weighted by the inverse of its
stratum's probability, and the weights are divided by their sum (Hájek's estimator). The probability is the
realized one, the number of pairs of a stratum divided by its share of the population, not the planned one:
the planned one is wrong once the draw without replacement has used up a good part of a stratum, and if both
are right, the realized one gives a more precise estimate. It is unbiased because within a stratum every order
was equally likely.

The interval is that of an unweighted pair table with the effective number of pairs: Kish's effective number,
``(sum w)² / sum w²``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptlift.stats.effect import CompletedInCluster, interval_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

# Strata without a pair are left out if together they have at most this share of the population.
UNSEEN_MOST: Final = 0.05


class DrawnPair(NamedTuple):
    """A pair of conversations, original and variant on the same cell.

    Attributes
    ----------
    stratum
        The part of the population from which the cell was drawn.
    variant, original
        Whether each completed the task.
    cluster
        Common property that correlates pairs, such as the persona.
    """

    stratum: Hashable
    variant: bool
    original: bool
    cluster: Hashable


@dataclass(frozen=True, slots=True)
class ReweightedLift:
    """The lift of a variant on the mix of the population.

    Attributes
    ----------
    n, n_effective
        Number of pairs, and the equivalent number of unweighted ones.
    p1, p0
        Completion rates of variant and original, fractions.
    lift, lift_low, lift_high
        Relative change in percent with its interval; ``None`` if unknown or unbounded.
    lift_points, lift_points_low, lift_points_high, standard_error_points
        The same in percentage points.
    """

    n: int
    n_effective: float
    p1: float
    p0: float
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    lift_points: float
    lift_points_low: float
    lift_points_high: float
    standard_error_points: float


def reweighted_lift(
    pairs: Sequence[DrawnPair],
    shares: Mapping[Any, float],
    *,
    level: float = 0.90,
    look: int = 1,
    max_looks: int = 1,
) -> ReweightedLift | None:
    """Compute the lift on the mix of a population from pairs drawn from its strata with unequal probabilities.

    Parameters
    ----------
    pairs
        Pairs whose stratum has no share do not count.
    shares
        Share of the population, or size, of each stratum.
    level, look, max_looks
        Parameters of the interval; see `lift_interval`.

    Returns
    -------
    ReweightedLift or None
        ``None`` without pairs, or if strata with more than 5% of the population have none and are unknown.

    References
    ----------
    J. Hájek (1971), Comment on an essay by D. Basu. In: Foundations of Statistical Inference, 236. L. Kish (1965), Survey
    Sampling, section 11.7; and E. L. Korn and B. I. Graubard (1998), Confidence intervals for proportions with small expected
    number of positive counts estimated from survey data. Survey Methodology 24, 193-201, for the effective number in the
    interval of a proportion.

    Examples
    --------
    Half of the pairs are from failed conversations, which are a quarter of all:

    >>> failed = [DrawnPair("failed", at < 6, at < 2, at) for at in range(20)]
    >>> others = [DrawnPair("others", at < 16, at < 16, at) for at in range(20)]
    >>> found = reweighted_lift([*failed, *others], {"failed": 1, "others": 3})
    >>> round(found.lift_points, 6), round(found.n_effective, 6)
    (5.0, 32.0)
    """
    counted = [pair for pair in pairs if shares.get(pair.stratum, 0.0) > 0.0]
    drawn = Counter(pair.stratum for pair in counted)
    seen = sum(shares[stratum] for stratum in drawn)
    if not counted or sum(shares.values()) - seen > UNSEEN_MOST * sum(shares.values()):
        return None
    weight = {stratum: shares[stratum] / seen / number for stratum, number in drawn.items()}
    table, clusters = _weighted_sums(counted, weight)
    # The weights sum up to 1, so this is Kish's number.
    effective = 1.0 / sum(number * weight[stratum] ** 2 for stratum, number in drawn.items())
    n11, n10, n01, n00 = (
        effective * table[one] for one in ((True, True), (True, False), (False, True), (False, False))
    )
    interval = interval_of(
        n11,
        n10,
        n01,
        n00,
        level=level,
        look=look,
        max_looks=max_looks,
        clusters=clusters,
    )
    ends = (interval.points_low, interval.points_high, interval.standard_error_points)
    if None in ends:  # only an empty table has none
        return None
    original = (n11 + n01) / effective
    points = (n10 - n01) / effective
    return ReweightedLift(
        n=len(counted),
        n_effective=effective,
        p1=original + points,
        p0=original,
        lift=100.0 * points / original if original else None,
        lift_low=interval.low if original else None,
        lift_high=interval.high if original else None,
        lift_points=100.0 * points,
        lift_points_low=float(ends[0] or 0.0),
        lift_points_high=float(ends[1] or 0.0),
        standard_error_points=float(ends[2] or 0.0),
    )


def _weighted_sums(
    pairs: Sequence[DrawnPair], weight: Mapping[Any, float]
) -> tuple[dict[tuple[bool, bool], float], list[CompletedInCluster]]:
    """Return the weights of the pairs by their outcomes (variant, original), and summed over each cluster."""
    table = {(variant, original): 0.0 for variant in (True, False) for original in (True, False)}
    clusters: dict[Hashable, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for pair in pairs:
        mine = weight[pair.stratum]
        table[pair.variant, pair.original] += mine
        sums = clusters[pair.cluster]
        sums[0] += mine
        sums[1] += mine * pair.variant
        sums[2] += mine * pair.original
    return table, [CompletedInCluster(*sums) for sums in clusters.values()]
