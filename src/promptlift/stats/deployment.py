"""Whether a deployed fix works in production, comparing failures before and after."""

from __future__ import annotations

import math
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


class FailureCounts(NamedTuple):
    """Failed conversations, and all of them, before and after a fix."""

    before_fail: int
    before_n: int
    after_fail: int
    after_n: int

    @property
    def reduction_percent(self) -> float:
        """Reduction of the failure rate in percent; 0 while there is nothing to compare."""
        before_fail, before_n, after_fail, after_n = self
        if not before_n or not after_n or not (before_fail or after_fail):
            return 0.0
        # unspecified: the reduction where nothing failed before. Zero counts as half a failure, so that the
        # reduction is defined.
        return 100.0 * (1.0 - (after_fail / after_n) / ((before_fail or 0.5) / before_n))

    def checked(self) -> FailureCounts:
        """Return the counts as whole numbers.

        Raises
        ------
        ValueError
            If a count is negative, not whole or above its n.
        """
        found = FailureCounts(*check_counts(**self._asdict()))
        if found.before_fail > found.before_n or found.after_fail > found.after_n:
            raise ValueError("failures must not be more than conversations.")
        return found


class Reduction(NamedTuple):
    """Reduction of a failure rate, fractions; 1 means gone, below 0 means more failures.

    Attributes
    ----------
    estimate
        1 - rate after / rate before; ``None`` without failures before or without conversations.
    low, high
        Ends of the exact conditional interval; ``low`` is ``None`` if unbounded.
    """

    estimate: float | None
    low: float | None
    high: float | None


def checkpoint(after_n: int) -> int:
    """Return the number of the last check due after ``after_n`` conversations; 0 before the first."""
    return sum(after_n >= needed for needed in CHECKPOINTS)


def check_number(after_n: int) -> int:
    """Return how many checks of a fix were due by ``after_n`` conversations: 30, 60, 120, and every doubling after it.

    Examples
    --------
    >>> [check_number(n) for n in (29, 30, 60, 120, 239, 240, 1000)]
    [0, 1, 2, 3, 3, 4, 6]
    """
    last = CHECKPOINTS[-1]
    return checkpoint(after_n) + (math.floor(math.log2(after_n / last)) if after_n >= last else 0)


def failure_reduction(counts: FailureCounts, *, check: int = 1) -> Reduction:
    """Compute the reduction of a failure rate, with an exact interval that stays valid at three checks.

    Given the total of failures, those after the fix are binomial with a share that depends only on the ratio
    of the two rates (Przyborowski and Wilenski 1940). Clopper and Pearson's limits of that share give limits
    of the ratio. Each side has the error of one of three Pocock-type looks at 90%: z 2.00, 1.99, 1.98. The
    numbers of conversations before and after are taken into account, so a quiet week does not count as a fix.

    Parameters
    ----------
    counts
        Conversations with the failure, and all of them.
    check
        1 to 3.

    Raises
    ------
    ValueError
        If a count is impossible, or ``check`` is not 1 to 3.

    References
    ----------
    J. Przyborowski and H. Wilenski (1940), Homogeneity of results in testing samples from Poisson series.
    Biometrika 31, 313-323.
    """
    from scipy.special import betaincinv, ndtr  # noqa: PLC0415  (rates never need it)

    before_fail, before_n, after_fail, after_n = counts.checked()
    if not 1 <= check <= len(CHECKPOINTS):
        raise ValueError(f"check must be 1 to {len(CHECKPOINTS)}, not {check!r}.")
    if before_n == 0 or after_n == 0:
        return Reduction(None, None, None)
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
    return Reduction(estimate, low, high)


def fix_status(counts: FailureCounts, *, deadline_passed: bool = False) -> DeploymentStatus:
    """Judge a deployed fix by all its failures at one of its checks.

    Verified: failures fell by more than 50%, and the lower end of the interval is above 0. Not fixed: the upper end is
    below 50%, or the deadline passed and they did not fall by more than 50%. Otherwise pending. A failure that became
    rarer by half, though not significantly, does not count as persisting.

    Parameters
    ----------
    counts
        Failures of all issues together.
    deadline_passed
        Do not wait for more conversations.
    """
    check = checkpoint(counts.after_n)
    found = failure_reduction(counts, check=check or 1)
    fell = found.estimate is not None and found.estimate > _WANTED
    if check and fell and found.low is not None and found.low > 0.0:
        return "verified"
    if (deadline_passed and not fell) or (check and found.high is not None and found.high < _WANTED):
        return "not_fixed"
    return "pending"


def worsening(issues: Sequence[FailureCounts]) -> float:
    """Return the smallest p-value for "an issue has become more frequent", exact and one-sided, after Holm over the issues.

    Parameters
    ----------
    issues
        Counts of every issue: of earlier conversations with a fix as "before", of later ones as "after".

    Raises
    ------
    ValueError
        If there is no issue, or a count is impossible.
    """
    from scipy.special import bdtrc  # noqa: PLC0415  (rates never need it)

    if not issues:
        raise ValueError("at least one issue is needed.")
    found = []
    for before_fail, before_n, after_fail, after_n in (one.checked() for one in issues):
        share = after_n / max(1, before_n + after_n)
        known = after_fail and before_n
        found.append(float(bdtrc(after_fail - 1, before_fail + after_fail, share)) if known else 1.0)
    return float(holm(found).min())
