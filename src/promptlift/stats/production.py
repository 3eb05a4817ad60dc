"""Whether a production metric became worse after a text went live, tested repeatedly while it is live."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from promptlift.stats.multiplicity import holm
from promptlift.stats.scores import GUARDRAIL_MARGINS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

MetricName = Literal["task_completion", "sentiment", "quality", "abandonment", "response_time", "length"]

FIRST_LOOK: Final = 30
_LOOK_EVERY: Final = 60
# Slightly less than the permitted 5%: production is never as homogeneous as a simulation.
_ALPHA: Final = 0.04


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with one value per conversation.

    Attributes
    ----------
    higher_is_worse
        True for abandonment, response time and length.
    is_share
        Whether its values are 0 and 1.
    margin
        The mean must become worse by more than this. Over many conversations a tiny change would be
        significant.
    relative
        Whether ``margin`` is a share of the mean before the change.
    """

    name: MetricName
    higher_is_worse: bool = False
    is_share: bool = False
    margin: float = 0.0
    relative: bool = False

    @property
    def sign(self) -> float:
        """1 where higher is worse, else -1."""
        return 1.0 if self.higher_is_worse else -1.0

    def is_worse(self, was: float, now: float) -> bool:
        """Return whether a mean became worse by more than the margin."""
        return self.sign * (now - was) > self.margin * (abs(was) if self.relative else 1.0)


# unspecified: in which direction response time and length regress, and by how much they may change. Longer is
# worse, and a fifth longer is the minimum that matters: one more question in an answer is harmless.
METRICS: Final = (
    Metric("task_completion", is_share=True),
    Metric("sentiment", margin=-GUARDRAIL_MARGINS["sentiment"]),
    Metric("quality", margin=-GUARDRAIL_MARGINS["quality"]),
    Metric("abandonment", higher_is_worse=True, is_share=True),
    Metric("response_time", higher_is_worse=True, margin=0.2, relative=True),
    Metric("length", higher_is_worse=True, margin=0.2, relative=True),
)


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One metric before a change and in the most striking window after it.

    Attributes
    ----------
    before, after
        Means; ``None`` without a value.
    n_before, n_after
        Conversations with a value.
    window
        Number of latest conversations in ``after``, with and without a value.
    p
        One-sided p-value for "it became worse", adjusted over the windows and the metrics.
    level
        ``p`` below this is harm.
    """

    metric: MetricName
    before: float | None
    after: float | None
    n_before: int
    n_after: int
    window: int
    p: float
    level: float

    @property
    def is_harm(self) -> bool:
        """Whether the metric became worse: significantly, and by enough to matter."""
        return self.p < self.level


def look_number(n: int) -> int:
    """Return the number of the look due after ``n`` conversations; 0 before the first.

    Looks are due at 30 and 60 conversations and at every 60 after that, indefinitely.

    Examples
    --------
    >>> [look_number(n) for n in (29, 30, 60, 119, 120, 6000)]
    [0, 1, 2, 2, 3, 101]
    """
    return int(n >= FIRST_LOOK) + n // _LOOK_EVERY


def look_level(look: int, *, alpha: float = _ALPHA) -> float:
    """Return the share of ``alpha`` that one look may spend.

    The levels of all looks, however many there are, add up to ``alpha``: ``alpha (g(look) - g(look + 1))``
    with ``g(j) = 1 / log2(2 + (j - 1) / 2)``. They decrease as slowly as a convergent sum allows, so that
    harm that begins after months is still detected soon.

    Parameters
    ----------
    look
        1 for the first.
    alpha
        Probability of any false alarm over all looks.

    Raises
    ------
    ValueError
        If ``look`` is below 1.

    Examples
    --------
    >>> [round(look_level(j), 4) for j in (1, 2, 3, 100)]
    [0.0097, 0.005, 0.0031, 0.0]
    """
    if look < 1:
        raise ValueError(f"look must be at least 1, not {look!r}.")
    left, after = (1.0 / math.log2(2.0 + (j - 1) / 2.0) for j in (look, look + 1))
    return alpha * (left - after)


def windows(n: int) -> tuple[tuple[int, float], ...]:
    """Return the windows of a look, each with its share of the level: all ``n``, and the latest 30, 60, 120 and so on.

    All conversations together have half of the level: they detect harm from the beginning. The shorter
    windows share the other half: they detect harm that began later.

    Examples
    --------
    >>> windows(30)
    ((30, 1.0),)
    >>> windows(150)
    ((150, 0.5), (120, 0.16666666666666666), (60, 0.16666666666666666), (30, 0.16666666666666666))
    """
    shorter = []
    size = FIRST_LOOK
    while size < n:
        shorter.append(size)
        size *= 2
    if not shorter:
        return ((n, 1.0),)
    return ((n, 0.5), *((size, 0.5 / len(shorter)) for size in reversed(shorter)))


def metric_changes(
    before: Mapping[MetricName, ArrayLike], after: Mapping[MetricName, ArrayLike], *, look: int
) -> tuple[MetricChange, ...]:
    """Test every production metric for "worse than before", in one of any number of looks.

    In each of `windows` the latest conversations are compared with all earlier ones, those before the change
    and those after it, and their mean must be worse than before the change. So late harm is measured against
    all known data, and a text that loses its earlier gain is not considered worse than the previous text.

    Shares are tested by Fisher's exact test, which keeps the small levels of single looks at any rate, the
    others by Mann and Whitney's, one-sided, with Bonferroni over the windows by their share of the level;
    then Holm over the metrics, against `look_level`. So over all looks, however many, the probability of a
    false alarm for a text that changes no metric is at most 4%.

    Parameters
    ----------
    before, after
        Values by metric, oldest first, one per conversation; NaN if a conversation has none.
    look
        Number of the look; each number once.
    """
    level = look_level(look)
    found = [
        _most_striking(metric, _array(before[metric.name]), _array(after[metric.name]), level)
        for metric in METRICS
    ]
    adjusted = holm([change.p for change in found])
    return tuple(replace(change, p=float(p)) for change, p in zip(found, adjusted, strict=True))


def _array(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, np.float64).ravel()


def _most_striking(
    metric: Metric, before: NDArray[np.float64], after: NDArray[np.float64], level: float
) -> MetricChange:
    old = before[~np.isnan(before)]
    changes = []
    for size, share in windows(len(after)):
        new = after[len(after) - size :]
        new = new[~np.isnan(new)]
        since = after[: len(after) - size]
        earlier = np.concatenate([old, since[~np.isnan(since)]])
        worse = len(old) and len(new) and metric.is_worse(float(old.mean()), float(new.mean()))
        changes.append(
            MetricChange(
                metric=metric.name,
                before=float(old.mean()) if len(old) else None,
                after=float(new.mean()) if len(new) else None,
                n_before=len(old),
                n_after=len(new),
                window=size,
                p=min(1.0, _worse_p(metric, earlier, new) / share) if worse else 1.0,
                level=level,
            )
        )
    return min(changes, key=lambda change: change.p)


def _worse_p(metric: Metric, old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Return the one-sided p-value of "worse"."""
    if metric.is_share:
        from scipy.stats import hypergeom  # noqa: PLC0415  (rates never need it)

        bad_old, bad_new = (
            int(values.sum()) if metric.higher_is_worse else int(len(values) - values.sum())
            for values in (old, new)
        )
        # Fisher's exact test: of all bad conversations, at least this many are among the new ones.
        return float(hypergeom.sf(bad_new - 1, len(old) + len(new), bad_old + bad_new, len(new)))
    from scipy.stats import mannwhitneyu  # noqa: PLC0415  (the same)

    return float(
        mannwhitneyu(metric.sign * new, metric.sign * old, alternative="greater", method="asymptotic").pvalue
    )
