"""Whether a deployed fix works in production, comparing failures before and after."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from promptlift.stats.evidence import check_counts
from promptlift.stats.intervals import look_multipliers
from promptlift.stats.multiplicity import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

DeploymentStatus = Literal["pending", "verified", "not_fixed", "regressed"]

# Numbers of conversations after the fix at which it is judged.
CHECKPOINTS: Final = (30, 60, 120)
_WANTED: Final = 0.50
_WORSE_P: Final = 0.05


class IssueCounts(NamedTuple):
    """Conversations with an issue, and all of them, before and after a fix."""

    issue: str
    before_fail: int
    before_n: int
    after_fail: int
    after_n: int


@dataclass(frozen=True, slots=True)
class Reduction:
    """Reduction of a failure rate, fractions; 1 means gone, below 0 means more failures.

    Attributes
    ----------
    estimate
        1 - rate after / rate before; ``None`` without failures before or without conversations.
    low, high
        Ends of the exact conditional interval; ``low`` is ``None`` if unbounded.
    p_worse
        Exact one-sided p-value for "the rate has risen".
    """

    estimate: float | None
    low: float | None
    high: float | None
    p_worse: float


def checkpoint(after_n: int) -> int | None:
    """Return the number of the last check due after ``after_n`` conversations; ``None`` before the first."""
    due = sum(after_n >= needed for needed in CHECKPOINTS)
    return due or None


def check_number(after_n: int) -> int:
    """Return how many checks of a fix were due by ``after_n`` conversations: 30, 60, 120, and every doubling after it.

    Examples
    --------
    >>> [check_number(n) for n in (29, 30, 60, 120, 239, 240, 1000)]
    [0, 1, 2, 3, 3, 4, 6]
    """
    last = CHECKPOINTS[-1]
    return (checkpoint(after_n) or 0) + (math.floor(math.log2(after_n / last)) if after_n >= last else 0)


def failure_reduction(
    before_fail: int, before_n: int, after_fail: int, after_n: int, *, check: int = 1
) -> Reduction:
    """Compute the reduction of a failure rate, with an exact interval that stays valid at three checks.

    Given the total of failures, those after the fix are binomial with a share that depends only on the ratio
    of the two rates (Przyborowski and Wilenski 1940). Clopper and Pearson's limits of that share give limits
    of the ratio. Each side has the error of one of three Pocock-type looks at 90 %: z 2.00, 1.99, 1.98. The
    numbers of conversations before and after are taken into account, so a quiet week does not count as a fix.

    Parameters
    ----------
    before_fail, before_n, after_fail, after_n
        Conversations with the failure, and all of them, before and after.
    check
        1 to 3.

    Raises
    ------
    ValueError
        If a count is negative, not whole or above its n, or ``check`` is not 1 to 3.

    References
    ----------
    J. Przyborowski and H. Wilenski (1940), Homogeneity of results in testing samples from Poisson series.
    Biometrika 31, 313-323.
    """
    from scipy.special import bdtrc, betaincinv, ndtr  # noqa: PLC0415  (rates never need it)

    before_fail, before_n, after_fail, after_n = check_counts(
        before_fail=before_fail, before_n=before_n, after_fail=after_fail, after_n=after_n
    )
    if before_fail > before_n or after_fail > after_n:
        raise ValueError("failures must not be more than conversations.")
    if not 1 <= check <= len(CHECKPOINTS):
        raise ValueError(f"check must be 1 to {len(CHECKPOINTS)}, not {check!r}.")
    if before_n == 0 or after_n == 0:
        return Reduction(None, None, None, 1.0)
    side = float(ndtr(-look_multipliers(len(CHECKPOINTS))[check - 1]))
    exposure = before_n / after_n
    estimate = 1.0 - after_fail / before_fail * exposure if before_fail else None
    low, high = None, 1.0
    if before_fail:
        share = float(betaincinv(after_fail + 1, before_fail, 1.0 - side))
        low = 1.0 - share / (1.0 - share) * exposure if share < 1.0 else None
    if after_fail:
        share = float(betaincinv(after_fail, before_fail + 1, side))
        high = 1.0 - share / (1.0 - share) * exposure
    p_worse = (
        float(bdtrc(after_fail - 1, before_fail + after_fail, after_n / (before_n + after_n)))
        if after_fail
        else 1.0
    )
    return Reduction(estimate, low, high, p_worse)


def deployment_verdict(
    issues: Sequence[IssueCounts],
    *,
    previously_verified: bool = False,
    worse_level: float = _WORSE_P,
    deadline_passed: bool = False,
) -> DeploymentStatus:
    """Judge a deployed fix at one of its checks, at 30, 60 and 120 conversations after it.

    Verified: the failures of all issues together fell by more than 50 %, and the lower end of the interval is
    above 0. Not fixed: the upper end is below 50 %, or the deadline passed and they did not fall by more than
    50 %. Regressed, for a verified fix: an issue has become more frequent, with p below ``worse_level`` after
    Holm. Otherwise no event yet.

    Parameters
    ----------
    issues
        Counts of every issue. For a verified fix pass earlier conversations with it as "before" and later
        ones as "after".
    previously_verified
        Test whether a verified fix is regressing.
    worse_level
        Upper bound of p for "regressed". For repeated tests, divide 0.05 among them.
    deadline_passed
        Do not wait for more conversations.

    Raises
    ------
    ValueError
        If there is no issue, or a count is impossible.
    """
    if not issues:
        raise ValueError("a deployment verdict needs at least one issue.")
    # unspecified: issues with different numbers of conversations. The check is due when all have reached it.
    check = checkpoint(min(counts.after_n for counts in issues))
    if previously_verified:
        p_worse = [failure_reduction(*counts[1:], check=check or 1).p_worse for counts in issues]
        return "regressed" if check is not None and holm(p_worse).min() < worse_level else "verified"
    all_together = map(sum, zip(*(counts[1:] for counts in issues), strict=True))
    pooled = failure_reduction(*all_together, check=check or 1)
    fell = pooled.estimate is not None and pooled.estimate > _WANTED
    if check is not None and fell and pooled.low is not None and pooled.low > 0.0:
        return "verified"
    # An issue whose failures fell by half, though not significantly, does not count as persisting.
    persists = check is not None and pooled.high is not None and pooled.high < _WANTED
    return "not_fixed" if persists or (deadline_passed and not fell) else "pending"
