"""Versions side by side on real users: numbers that stay true however often one looks.

A *unit* is a user or whatever else keeps its version. It counts once, with the mean of its conversations: they
resemble each other, and who comes back more often must not count more. Everything here needs only the number of
units of each arm, the sum of their values and the sum of their squares.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from promptlift.stats.intervals import check_level
from promptlift.stats.production import METRICS
from promptlift.stats.regression import NON_INFERIORITY_POINTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from promptlift.stats.differences import Direction
    from promptlift.stats.production import MetricName

# Units of each arm at which the interval is narrowest for its guarantee.
TUNED_FOR: Final = 400
# With fewer units in an arm there is a number, but no interval.
FEWEST: Final = 20
# The share of 1 - level that is spent. Means of users who still come back are not quite a sum of independent steps:
# with all of it, 4 to 7% of simulated worlds in which they come 1 to 20 times were missed at 95%.
_SPENT: Final = 0.7
# The probability of an alarm about the shares of the arms while they are right.
_RATIO_ALPHA: Final = 0.01
# Weight of the expected shares in assignments: most sensitive to 52:48 and 53:47.
_RATIO_PRIOR: Final = 500.0
# Shares of all units that a ramp gives to the new text, one after the other.
RAMP: Final = (0.05, 0.5, 1.0)
# The drop of completion that must be excluded before the step from each share, as fractions.
_EXCLUDED: Final = {RAMP[0]: -0.2, RAMP[1]: NON_INFERIORITY_POINTS / 100.0}
# Units of the new text before a step; the interval is only asymptotically right.
_FEWEST_OF_A_STEP: Final = 50
# Together 5% to roll back a text that harms nothing at either share: half for completion, half for the five others.
_COMPLETION_LEVEL: Final = 0.975
_OTHERS_LEVEL: Final = 0.995


class Units(NamedTuple):
    """The values of the units of one arm: how many, their sum, and the sum of their squares."""

    n: int
    total: float
    squares: float

    @classmethod
    def of(cls, values: ArrayLike) -> Units:
        """Sum up one value per unit; NaN is a unit without a value.

        Examples
        --------
        >>> Units.of([1.0, 0.5, float("nan")])
        Units(n=2, total=1.5, squares=1.25)
        """
        known = np.asarray(values, np.float64).ravel()
        known = known[~np.isnan(known)]
        return cls(len(known), float(known.sum()), float(np.square(known).sum()))

    @property
    def mean(self) -> float:
        """The mean of the units; NaN without one."""
        return self.total / self.n if self.n else math.nan

    @property
    def spread(self) -> float:
        """The sum of squared differences from the mean."""
        return max(0.0, self.squares - self.total**2 / self.n) if self.n else 0.0


class Difference(NamedTuple):
    """Difference of two arms, the new one minus the original, in the unit of their values.

    Attributes
    ----------
    estimate
        The difference; ``None`` if an arm is empty.
    low, high
        Ends of the confidence sequence; ``None`` with fewer than 20 units in an arm, or if all values are equal.
    error
        Its standard error; ``None`` where the ends are.
    new, original
        The arms.
    """

    estimate: float | None
    low: float | None
    high: float | None
    error: float | None
    new: Units
    original: Units

    @property
    def direction(self) -> Direction:
        """``better`` or ``worse`` if the interval excludes 0, where more is better; otherwise ``unclear``."""
        if self.low is not None and self.low > 0.0:
            return "better"
        return "worse" if self.high is not None and self.high < 0.0 else "unclear"


def difference(new: Units, original: Units, *, level: float = 0.95) -> Difference:
    """Compute the difference of two arms with an interval that is valid at every look.

    An asymptotic confidence sequence. With the standard error ``s`` of the difference, the units an arm ``h`` (the
    harmonic mean of both), ``a = 0.7 (1 - level)`` and ``r = h / 400 (c + ln c + 1)``, ``c = -2 ln a``, its half-width is
    ``s sqrt((1 + 1/r) ln((1 + r) / a²))``: the normal mixture, narrowest for 400 units an arm. Each variance
    counts one more unit that varies like both arms together, so that an arm in which all or none of few units
    completed has one.

    Parameters
    ----------
    new, original
        The units of both arms.
    level
        Coverage over all looks together.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.

    References
    ----------
    I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy, A. Ramdas (2021), Time-uniform central limit theory and
    asymptotic confidence sequences. arXiv 2103.06476, later Annals of Statistics 52 (2024).

    Examples
    --------
    >>> found = difference(Units(400, 300, 300), Units(400, 240, 240))
    >>> print(round(found.estimate, 3), round(found.low, 3), round(found.high, 3), found.direction)
    0.15 0.046 0.254 better
    """
    alpha = _SPENT * (1.0 - check_level(level))
    if not new.n or not original.n:
        return Difference(None, None, None, None, new, original)
    estimate = new.mean - original.mean
    both = (new.spread + original.spread) / max(1, new.n + original.n - 2)
    error = math.sqrt(sum((arm.spread + both) / arm.n**2 for arm in (new, original)))
    if min(new.n, original.n) < FEWEST or not error:
        return Difference(estimate, None, None, None, new, original)
    c = -2.0 * math.log(alpha)
    r = 2.0 / (1.0 / new.n + 1.0 / original.n) / TUNED_FOR * (c + math.log(c) + 1.0)
    half = error * math.sqrt((1.0 + 1.0 / r) * math.log((1.0 + r) / alpha**2))
    return Difference(estimate, estimate - half, estimate + half, error, new, original)


def label_corrected(judged: ArrayLike, labels: ArrayLike, chance: ArrayLike) -> NDArray[np.float64]:
    """Correct a judge's verdicts by labels, one value per conversation, for the mean of its unit.

    With the verdict ``f``, the label ``y`` and the chance ``p`` with which the conversation was drawn for labelling:
    ``f`` without a label, ``f + (y - f)/p`` with one. Its mean over all conversations is the true rate, however wrong
    the judge; single values may be any number.

    Parameters
    ----------
    judged
        The judge's verdicts, 0 or 1 or between.
    labels
        The labels; NaN without one.
    chance
        The chance of being drawn, above 0 where there is a label.

    Raises
    ------
    ValueError
        If a chance of a label is not above 0 and at most 1.

    References
    ----------
    A. N. Angelopoulos, J. C. Duchi, T. Zrnic (2023), PPI++: Efficient prediction-powered inference. arXiv 2311.01453.

    Examples
    --------
    >>> label_corrected([1, 1, 0], [1, 0, float("nan")], 0.5).tolist()
    [1.0, -1.0, 0.0]
    """
    f, y, p = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in (judged, labels, chance)))
    labelled = ~np.isnan(y)
    if not np.all((p[labelled] > 0.0) & (p[labelled] <= 1.0)):
        raise ValueError("the chance of a label must be above 0 and at most 1.")
    corrected = f.copy()
    corrected[labelled] += (y - f)[labelled] / p[labelled]
    return corrected


class SampleRatio(NamedTuple):
    """Whether the arms have the shares that they should have.

    Attributes
    ----------
    e_value
        Evidence against the shares, valid at every look.
    is_off
        Whether it has reached 100: something loses or adds units of one arm, and no difference can be trusted.
    """

    e_value: float
    is_off: bool


def sample_ratio(units: Sequence[int], weights: Sequence[float]) -> SampleRatio:
    """Test at any look, and any number of them, whether units fall into the arms by their weights.

    ``e = B(k w + n) / (B(k w) prod(w^n))`` with the counts ``n``, the weights ``w`` as shares, ``k = 500`` and the
    multivariate beta function ``B``: the mixture of multinomial likelihood ratios over a Dirichlet distribution.
    While the shares are right it ever reaches 100 with a probability of at most 1%. In simulations it finds 54:46 by
    5,000 units and 52:48 by 17,000 in 95%; a single look at 5,000 with the same error finds 52:48 in 60%.

    Parameters
    ----------
    units
        Assigned units of each arm.
    weights
        The weights by which they were assigned, above 0; they need not add up to 1.

    Raises
    ------
    ValueError
        If there are not as many counts as weights, a count is negative, or a weight is not above 0.

    References
    ----------
    M. Lindon, A. Malek (2022), Anytime-valid inference for multinomial count data. NeurIPS 35. arXiv 2011.03567.

    Examples
    --------
    >>> sample_ratio([2600, 2400], [0.5, 0.5]).is_off, sample_ratio([2700, 2300], [0.5, 0.5]).is_off
    (False, True)
    """
    from scipy.special import gammaln, xlogy  # noqa: PLC0415  (rates never need it)

    n, w = np.asarray(units, np.float64), np.asarray(weights, np.float64)
    if n.shape != w.shape or n.min(initial=0.0) < 0.0 or not np.all(w > 0.0):
        raise ValueError("give one count, 0 or more, for each weight, and weights above 0.")
    w = w / w.sum()
    prior = _RATIO_PRIOR * w
    log_e = float(
        (gammaln(prior + n) - gammaln(prior) - xlogy(n, w)).sum()
        - (gammaln(_RATIO_PRIOR + n.sum()) - gammaln(_RATIO_PRIOR))
    )
    return SampleRatio(math.exp(min(log_e, 700.0)), log_e >= -math.log(_RATIO_ALPHA))


class RampVerdict(NamedTuple):
    """What a ramp does next.

    Attributes
    ----------
    action
        ``back``: the new text harms a metric. ``on``: give it the next share. ``wait``: keep the share.
    harmed
        The metrics that are harmed.
    differences
        Each metric, new text minus original.
    """

    action: Literal["back", "on", "wait"]
    harmed: Sequence[MetricName]
    differences: Mapping[MetricName, Difference]


def ramp_verdict(metrics: Mapping[MetricName, tuple[Units, Units]], *, share: float) -> RampVerdict:
    """Decide at any look whether a new text gets more users, keeps them, or is rolled back.

    **Back** when the `difference` of a metric lies wholly on the worse side of 0 and its estimate is beyond the
    metric's margin (`METRICS`): completion at 97.5%, each of the five others at 99.5%, so that a text that harms
    nothing is rolled back at either share with a probability of at most 5%. **On** when none is harmed and the 95%
    interval of completion excludes a drop of 20 points, before half of all users get the text, or of 10 points, before
    all do: a text with such a drop gets there with a probability of at most 2.5%. Not before 50 units have the new text.

    Parameters
    ----------
    metrics
        Units of the new text and of the original by metric, since the new text has this share. Without
        ``task_completion`` there is no step.
    share
        The present share of the new text, one of `RAMP`.
    """
    found: dict[MetricName, Difference] = {}
    harmed: list[MetricName] = []
    for metric in METRICS:
        if metric.name not in metrics:
            continue
        completion = metric.name == "task_completion"
        one = difference(*metrics[metric.name], level=_COMPLETION_LEVEL if completion else _OTHERS_LEVEL)
        found[metric.name] = one
        sure = one.direction == ("better" if metric.higher_is_worse else "worse")
        if sure and metric.is_worse(one.original.mean, one.new.mean):
            harmed.append(metric.name)
    if harmed:
        return RampVerdict("back", harmed, found)
    if "task_completion" in metrics and share in _EXCLUDED:
        completed = difference(*metrics["task_completion"])
        if (
            completed.low is not None
            and completed.low > _EXCLUDED[share]
            and completed.new.n >= _FEWEST_OF_A_STEP
        ):
            return RampVerdict("on", harmed, found)
    return RampVerdict("wait", harmed, found)
