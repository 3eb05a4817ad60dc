"""Several arms on the same cells: comparable scores, paired comparisons with a reference, non-inferiority, and costs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from promptlift.stats.differences import FEWEST
from promptlift.stats.effect import CLUSTER_RATIO
from promptlift.stats.intervals import check_level, find_root, rate_and_interval
from promptlift.stats.multiplicity import holm
from promptlift.stats.scores import paired_score_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from promptlift.stats.scores import PairedScoreTest


def paired_interval(
    n10: float, n01: float, n: float, *, level: float = 0.95
) -> tuple[float, float] | tuple[None, None]:
    """Compute the interval of a difference of paired rates by inverting Tango's score test.

    Unlike the interval of the plain standard error it stays accurate if few pairs differ, as is the case for
    texts that are all good.

    Parameters
    ----------
    n10, n01
        Pairs that only the first and only the second completed; not necessarily integers, see
        `design_effect`.
    n
        All pairs.
    level
        Coverage.

    Returns
    -------
    low, high
        Fractions from -1 to 1; ``None`` without pairs.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.

    References
    ----------
    T. Tango (1998), Equivalence test and confidence interval for the difference in proportions for the paired-sample
    design. Statistics in Medicine 17, 891-908.

    Examples
    --------
    >>> low, high = paired_interval(0, 0, 50)
    >>> round(low, 4), round(high, 4)
    (-0.0713, 0.0713)
    """
    level = check_level(level)
    if n <= 0:
        return None, None
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    difference = (n10 - n01) / n

    def end(sign: float) -> float:
        def beyond(delta: float) -> float:
            return sign * _tango_score(n10, n01, n, delta) - z

        limit = -sign * (1.0 - 1e-12)
        if beyond(limit) <= 0.0:
            return -sign
        return find_root(beyond, min(limit, difference), max(limit, difference))

    return end(1.0), end(-1.0)


def paired_p(n10: float, n01: float, n: float) -> float:
    """Compute the two-sided p-value of no difference: below ``1 - level`` exactly if `paired_interval` excludes 0.

    The score test of Tango (1998), which is McNemar's without continuity correction.

    Returns
    -------
    float
        1 without pairs.
    """
    return math.erfc(abs(_tango_score(n10, n01, n, 0.0)) / math.sqrt(2.0)) if n > 0 else 1.0


def not_worse_p(n10: float, n01: float, n: float, *, margin_points: float) -> float:
    """Compute the p-value of "worse by ``margin_points`` or more": small if the first rate is not that much worse.

    The one-sided score test of Tango (1998), the same that `paired_interval` inverts.

    Parameters
    ----------
    n10, n01
        Pairs that only the first and only the second completed; not necessarily integers.
    n
        All pairs.
    margin_points
        The largest acceptable loss in percentage points; 0 or more and below 100.

    Returns
    -------
    float
        1 without pairs.

    Raises
    ------
    ValueError
        If the margin is out of range.
    """
    from scipy.special import ndtr  # noqa: PLC0415  (rates never need it)

    if not 0.0 <= margin_points < 100.0:
        raise ValueError(f"the margin must be 0 or more and below 100 points, not {margin_points!r}.")
    if n <= 0:
        return 1.0
    return float(ndtr(-_tango_score(n10, n01, n, -margin_points / 100.0)))


def design_effect(differences: Sequence[float], clusters: Sequence[str]) -> float:
    """Return by how much pairs of the same cluster count less than independent ones.

    Parameters
    ----------
    differences
        1, 0 or -1 for every pair.
    clusters
        Name of the cluster of every pair, such as its persona.

    Returns
    -------
    float
        Ratio of the clustered to the plain variance of the mean if clearly above 1, otherwise 1. Divide
        counts by it (Rao and Scott 1992).
    """
    n = len(differences)
    sums: dict[str, list[float]] = {}
    for difference, cluster in zip(differences, clusters, strict=True):
        sums.setdefault(cluster, []).append(difference)
    groups = len(sums)
    if groups < 2 or groups == n:
        return 1.0
    mean = math.fsum(differences) / n
    plain = math.fsum((one - mean) ** 2 for one in differences)
    if plain <= 0.0:
        return 1.0
    clustered = math.fsum((math.fsum(some) - len(some) * mean) ** 2 for some in sums.values())
    ratio = groups / (groups - 1) * clustered / plain
    return ratio if ratio > CLUSTER_RATIO**2 else 1.0


def _tango_score(n10: float, n01: float, n: float, delta: float) -> float:
    """Return the score statistic of a true difference ``delta``; its variance is that of the most likely table."""
    slope = -n10 - n01 + (2.0 * n - n10 + n01) * delta
    constant = -n01 * delta * (1.0 - delta)
    only_second = (math.sqrt(max(0.0, slope * slope - 8.0 * n * constant)) - slope) / (4.0 * n)
    variance = n * (2.0 * only_second + delta * (1.0 - delta))
    distance = n10 - n01 - n * delta
    if variance <= 0.0:
        return math.copysign(math.inf, distance) if distance else 0.0
    return distance / math.sqrt(variance)


_PRICED_TOKENS = 1_000_000


class TokenUse(NamedTuple):
    """Mean tokens that a model read and wrote per conversation, and whether they are an estimate."""

    read: float
    written: float
    estimated: bool = False


class Cheapest(NamedTuple):
    """The cheapest arm, by its price, or by its tokens if some arm has no price."""

    arm: int
    basis: Literal["price", "tokens"]


def cost_per_conversation(tokens: TokenUse | None, price: Mapping[str, float] | None) -> float | None:
    """Return the cost of a conversation.

    Parameters
    ----------
    tokens
        Tokens of a conversation; ``None`` if unknown.
    price
        ``input`` and ``output``: the price of a million tokens that the model reads and writes.

    Returns
    -------
    float or None
        In the currency of the price; ``None`` if tokens or price are unknown.

    Examples
    --------
    >>> cost_per_conversation(TokenUse(4_000, 500), {"input": 2.5, "output": 10.0})
    0.015
    """
    if tokens is None or price is None:
        return None
    return (tokens.read * price["input"] + tokens.written * price["output"]) / _PRICED_TOKENS


def cost_per_completed(cost: float | None, rate: float | None) -> float | None:
    """Return the cost per completed task; ``None`` if it is unknown or nothing was completed."""
    return cost / rate if cost is not None and rate else None


def cheapest_arm(
    arms: Iterable[int], tokens: Mapping[int, TokenUse | None], costs: Mapping[int, float | None]
) -> Cheapest | None:
    """Return the cheapest of some arms, the first one on a tie.

    Prices decide if every one of these arms has one. Otherwise the number of tokens decides, which is hardly
    comparable between models: the result names the basis.
    """
    used = {arm: use for arm in arms if (use := tokens[arm]) is not None}
    if not used:
        return None
    priced = {arm: cost for arm in used if (cost := costs[arm]) is not None}
    if len(priced) == len(used):
        return Cheapest(min(priced, key=priced.__getitem__), "price")
    return Cheapest(min(used, key=lambda arm: used[arm].read + used[arm].written), "tokens")


BEST: Final = "best"


class ArmOutcome(NamedTuple):
    """The outcome of one arm in one cell.

    Attributes
    ----------
    cluster
        Common property that correlates the outcomes of cells, such as the persona.
    """

    cell: int
    arm: int
    completed: bool
    sentiment: float | None
    quality: float | None
    cluster: str


@dataclass(frozen=True, slots=True)
class ArmScore:
    """The scores of one arm on the cells in which every arm has an outcome.

    Attributes
    ----------
    rate, rate_low, rate_high
        Completion rate and Wilson interval, fractions; ``None`` without cells.
    sentiment, quality
        Means; ``None`` if unknown.
    n
        Number of cells.
    """

    arm: int
    n: int
    rate: float | None
    rate_low: float | None
    rate_high: float | None
    sentiment: float | None
    quality: float | None


@dataclass(frozen=True, slots=True)
class ArmComparison:
    """One arm against another on the cells in which both have an outcome.

    Attributes
    ----------
    n, n11, n10, n01, n00
        Numbers of all pairs, and of those that both, only the arm, only the reference, or neither completed.
    points, points_low, points_high
        Difference of the completion rates in percentage points; ``None`` without pairs.
    p, p_holm
        Two-sided p-value of the score test that the interval inverts, and adjusted over the arms.
    verdict
        ``better`` or ``worse`` if ``p_holm`` decides, otherwise ``unclear``, as with fewer than 10 pairs.
    not_worse, not_worse_p
        Whether a loss of the margin or more is excluded, and its p-value, adjusted over the arms.
    sentiment, quality
        The paired differences of the means.
    """

    arm: int
    reference: int
    n: int
    n11: int
    n10: int
    n01: int
    n00: int
    points: float | None
    points_low: float | None
    points_high: float | None
    p: float
    p_holm: float
    verdict: Literal["better", "worse", "unclear"]
    not_worse: bool
    not_worse_p: float
    sentiment: PairedScoreTest
    quality: PairedScoreTest


@dataclass(frozen=True, slots=True)
class ArmsAnalysis:
    """Several arms on the same cells.

    Attributes
    ----------
    scores
        One per arm, on the same cells for all.
    reference
        The arm with which the others are compared.
    comparisons
        One for every other arm.
    acceptable
        Arms that are not worse than the reference by the margin or more: the reference itself, and those for
        which this is proven.
    """

    scores: tuple[ArmScore, ...]
    reference: int
    comparisons: tuple[ArmComparison, ...]
    acceptable: tuple[int, ...]


_Table = dict[int, ArmOutcome]


def compare_arms(
    outcomes: Iterable[ArmOutcome],
    arms: Sequence[int],
    *,
    reference: int | Literal["best"] = 0,
    margin_points: float = 5.0,
    level: float = 0.95,
) -> ArmsAnalysis:
    """Compare arms on the same cells.

    Differences are those of pairs, with Tango's interval; p-values are adjusted by Holm over the arms. The
    probability that any claim of "not worse" is wrong is at most ``1 - level`` in total, so the cheapest of
    the arms that pass can be chosen. Against ``best`` an arm passes only if it is not worse than any other
    arm (an intersection-union test), so it does not matter that the best arm was found in the same data.

    Parameters
    ----------
    outcomes
        Outcomes that count; those lost to errors are left out.
    arms
        All arms.
    reference
        An arm, or ``best`` for the one with the highest completion rate.
    margin_points
        The largest acceptable loss of completion, in percentage points.
    level
        Level of the intervals and of the decisions.

    Raises
    ------
    ValueError
        If there is no such reference, or ``level`` or the margin is out of range.
    """
    level = check_level(level)
    by_arm: dict[int, _Table] = {arm: {} for arm in arms}
    for one in outcomes:
        by_arm[one.arm][one.cell] = one
    scores = _scores(by_arm, level)
    chosen = reference
    if reference == BEST:
        chosen = max(scores, key=lambda one: -1.0 if one.rate is None else one.rate).arm
    if chosen not in by_arm:
        raise ValueError(f"the reference must be one of the arms {list(arms)}, not {reference!r}.")
    others = [arm for arm in arms if arm != chosen]
    pairs = {arm: _Pairs(by_arm[arm], by_arm[chosen]) for arm in others}
    p_holm = _adjusted({arm: found.p for arm, found in pairs.items()})
    if reference == BEST:
        candidates = {
            arm: max(
                (
                    _Pairs(by_arm[arm], by_arm[rival]).not_worse_p(margin_points)
                    for rival in arms
                    if rival != arm
                ),
                default=0.0,
            )
            for arm in arms
        }
    else:
        candidates = {arm: found.not_worse_p(margin_points) for arm, found in pairs.items()}
    not_worse = _adjusted(candidates)
    comparisons = tuple(
        pairs[arm].comparison(arm, chosen, p_holm=p_holm[arm], not_worse_p=not_worse[arm], level=level)
        for arm in others
    )
    passed = {arm for arm, p in not_worse.items() if p < 1.0 - level}
    if reference != BEST:
        passed.add(chosen)
    return ArmsAnalysis(scores, chosen, comparisons, tuple(arm for arm in arms if arm in passed))


class _Pairs:
    """The cells in which two arms have an outcome."""

    def __init__(self, first: Mapping[int, ArmOutcome], second: Mapping[int, ArmOutcome]) -> None:
        cells = sorted(first.keys() & second.keys())
        self._first = [first[cell] for cell in cells]
        self._second = [second[cell] for cell in cells]
        both = [
            (one.completed, other.completed) for one, other in zip(self._first, self._second, strict=True)
        ]
        table = Counter(both)
        self.n = len(cells)
        self.n11, self.n10 = table[True, True], table[True, False]
        self.n01, self.n00 = table[False, True], table[False, False]
        self._effect = design_effect(
            [float(one) - float(other) for one, other in both], [one.cluster for one in self._first]
        )

    def _independent(self) -> tuple[float, float, float]:
        return self.n10 / self._effect, self.n01 / self._effect, self.n / self._effect

    @property
    def p(self) -> float:
        return paired_p(*self._independent())

    def not_worse_p(self, margin_points: float) -> float:
        return not_worse_p(*self._independent(), margin_points=margin_points)

    def comparison(
        self, arm: int, reference: int, *, p_holm: float, not_worse_p: float, level: float
    ) -> ArmComparison:
        low, high = paired_interval(*self._independent(), level=level)
        decided = p_holm < 1.0 - level and self.n >= FEWEST
        return ArmComparison(
            arm=arm,
            reference=reference,
            n=self.n,
            n11=self.n11,
            n10=self.n10,
            n01=self.n01,
            n00=self.n00,
            points=100.0 * (self.n10 - self.n01) / self.n if self.n else None,
            points_low=None if low is None else 100.0 * low,
            points_high=None if high is None else 100.0 * high,
            p=self.p,
            p_holm=p_holm,
            verdict=("better" if self.n10 > self.n01 else "worse") if decided else "unclear",
            not_worse=not_worse_p < 1.0 - level,
            not_worse_p=not_worse_p,
            sentiment=self._compared("sentiment", level),
            quality=self._compared("quality", level),
        )

    def _compared(self, metric: str, level: float) -> PairedScoreTest:
        first, second = (
            [math.nan if (value := getattr(one, metric)) is None else value for one in side]
            for side in (self._first, self._second)
        )
        return paired_score_test(first, second, level=level)


def _scores(by_arm: Mapping[int, _Table], level: float) -> tuple[ArmScore, ...]:
    # An arm whose model was mostly unavailable must not cost the others their cells.
    most = max((len(table) for table in by_arm.values()), default=0)
    measured = [set(table) for table in by_arm.values() if table and 2 * len(table) >= most]
    shared = set.intersection(*measured) if measured else set()
    return tuple(
        _arm_score(arm, [table[cell] for cell in sorted(shared & table.keys())], level)
        for arm, table in by_arm.items()
    )


def _arm_score(arm: int, outcomes: Sequence[ArmOutcome], level: float) -> ArmScore:
    n = len(outcomes)
    if not n:
        return ArmScore(arm, 0, None, None, None, None, None)
    found = rate_and_interval(sum(one.completed for one in outcomes), n, level=level)
    rate, low, high = (float(value) for value in found)
    return ArmScore(
        arm,
        n,
        rate,
        low,
        high,
        _mean([one.sentiment for one in outcomes]),
        _mean([one.quality for one in outcomes]),
    )


def _adjusted(p_values: Mapping[int, float]) -> dict[int, float]:
    if not p_values:
        return {}
    return dict(zip(p_values, holm(list(p_values.values())).tolist(), strict=True))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
