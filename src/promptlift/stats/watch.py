"""Whether a prompt has fallen below its line, looked at night after night."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# Drops that are looked for, as fractions, and the weight of each.
_DROPS: Final = (0.10, 0.04)
_WEIGHTS: Final = (0.8, 0.2)
# The probability of a false alarm in this many nights, and how much of it belongs to a drop from the first night on.
_ALPHA: Final = 0.05
_NIGHTS: Final = 90
_FIRST: Final = 0.8
# This many prompts need no more evidence: 90 nights have as many weeks, each of which may have 5%.
_PROMPTS: Final = 12
# The evidence is not counted beyond its threshold times this. To take an alarm back, as much must speak against it.
_BEYOND: Final = 20.0


class Watch(NamedTuple):
    """A prompt beside its line after the last night.

    Attributes
    ----------
    is_below
        Whether it is below: the evidence has reached the threshold.
    e_value
        Evidence that it is below.
    threshold
        20 for up to twelve prompts of an account, more for more of them.
    since
        Index of the night with which it most likely fell; the number of nights if nothing indicates a fall.
    n, completed
        Conversations since then.
    """

    is_below: bool
    e_value: float
    threshold: float
    since: int
    n: int
    completed: int


def watch(nights: Iterable[tuple[int, int]], line: float, *, prompts: int = 1) -> Watch:
    """Test after every night whether a prompt completes fewer tasks than it should.

    The evidence of a drop by ``d`` from night ``j`` on is Wald's likelihood ratio of ``line - d`` against ``line``,
    ``(1 - d/line)^completed (1 + d/(1 - line))^failed`` over the nights since. It is summed over ``d`` of 10 and 4
    points, with weights .8 and .2, and over all nights of beginning, with weight .8 for the first and .2/89 for each
    later one. For a prompt at its line or above, the chance of ever reaching 20 within 90 nights is at most 5%
    (Doob's inequality), and for each 90 later ones a fifth of that. Conversations count as independent of each other.

    Parameters
    ----------
    nights
        Conversations with a verdict, and completed ones, night by night.
    line
        The completion rate that it should have.
    prompts
        Number of prompts that the account watches. Beyond twelve the threshold rises with it, so that at most 5% of
        weeks have a false alarm.

    Raises
    ------
    ValueError
        If the line is not between 0 and 1, or a count is impossible.

    References
    ----------
    A. Wald (1945), Sequential tests of statistical hypotheses. Annals of Mathematical Statistics 16, 117-186.

    J. Shin, A. Ramdas, A. Rinaldo (2024), E-detectors: a nonparametric framework for sequential change detection. New
    England Journal of Statistics in Data Science 2, 229-260.

    Examples
    --------
    >>> watch([(20, 16)] * 3, 0.8).is_below
    False
    >>> found = watch([(20, 16)] * 3 + [(20, 10)] * 5, 0.8)
    >>> found.is_below, found.since
    (True, 3)
    """
    if not 0.0 < line < 1.0:
        raise ValueError(f"the line must be a rate between 0 and 1, such as 0.8, not {line!r}.")
    lower = [max(line - drop, line / 2.0) for drop in _DROPS]
    growths = [(math.log(rate / line), math.log((1.0 - rate) / (1.0 - line))) for rate in lower]
    threshold = max(1.0, prompts / _PROMPTS) / _ALPHA
    most = threshold * _BEYOND
    evidence = [0.0] * len(_DROPS)
    # Page's cumulative sum: the evidence of the larger drop since the night from which it is greatest.
    since, fallen, since_n, since_completed = 0, 0.0, 0, 0
    for night, (n, completed) in enumerate(nights):
        if not 0 <= completed <= n:
            raise ValueError("completed conversations must lie between 0 and all of them.")
        beginning = _FIRST if night == 0 else (1.0 - _FIRST) / (_NIGHTS - 1)
        growth = [completed * completes + (n - completed) * fails for completes, fails in growths]
        evidence = [
            (so_far + weight * beginning) * math.exp(min(one, 300.0))
            for so_far, weight, one in zip(evidence, _WEIGHTS, growth, strict=True)
        ]
        evidence = [one * most / max(sum(evidence), most) for one in evidence]
        fallen = min(fallen + growth[0], math.log(most))
        since_n, since_completed = since_n + n, since_completed + completed
        if fallen <= 0.0:
            since, fallen, since_n, since_completed = night + 1, 0.0, 0, 0
    return Watch(sum(evidence) >= threshold, sum(evidence), threshold, since, since_n, since_completed)
