"""Regression test of a new prompt text: whether any scenario, or all together, get worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from promptlift.stats.differences import sign_test_p
from promptlift.stats.evidence import confidence
from promptlift.stats.multiplicity import holm
from promptlift.stats.pairs import PairAnalysis, analyse_pairs
from promptlift.stats.planning import smallest_findable_points

if TYPE_CHECKING:
    from collections.abc import Sequence

# Largest drop in percentage points that must be excluded for an automatic deployment.
NON_INFERIORITY_POINTS: Final = -10.0
_WORSE_P: Final = 0.05
_WORSE_CONFIDENCE: Final = 0.90
_WORSE_E: Final = 9.0


class ScenarioPairs(NamedTuple):
    """Pair table of one scenario: both, only the new text, only the live text, neither completed."""

    name: str
    n11: int
    n10: int
    n01: int
    n00: int


@dataclass(frozen=True, slots=True)
class ScenarioAnalysis:
    """One scenario of a regression test.

    Attributes
    ----------
    name
        Name of the scenario.
    passed
        Whether it did not get worse: ``p_holm`` at least 0.05.
    delta
        Change of completion in percentage points; 0 without pairs.
    n
        Pairs.
    p, p_holm
        Exact one-sided McNemar p-value for "worse", and adjusted over the scenarios.
    """

    name: str
    passed: bool
    delta: float
    n: int
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class RegressionAnalysis:
    """Result of a regression test.

    Attributes
    ----------
    passed
        No scenario got worse, nor all together; for an automatic deployment also ``non_inferior``.
    verdict
        ``passed``, ``regressed``, or ``inconclusive``: nothing got worse, but there are too few pairs to
        prove it for an automatic deployment.
    scenarios
        One result per scenario.
    regressed
        Number of scenarios that got worse.
    pooled
        All scenarios together.
    confidence_worse
        Confidence that the new text is worse over all scenarios.
    non_inferior
        Whether the pooled 90 % interval lies above -10 points; ``None`` without pairs.
    smallest_drop_found
        Smallest true drop in percentage points over all scenarios that this many pairs detect with 80 %
        probability; ``None`` if there is none.
    """

    passed: bool
    verdict: Literal["passed", "regressed", "inconclusive"]
    scenarios: tuple[ScenarioAnalysis, ...]
    regressed: int
    pooled: PairAnalysis
    confidence_worse: float
    non_inferior: bool | None
    smallest_drop_found: float | None


def regression_test(
    scenarios: Sequence[ScenarioPairs], *, require_non_inferiority: bool = False
) -> RegressionAnalysis:
    """Test whether a new text completes fewer tasks than the current one.

    Per scenario an exact one-sided McNemar test, adjusted by Holm; over all of them the e-value of "worse".
    Negative differences alone prove nothing: even without any change, some scenario has one in most runs.

    Parameters
    ----------
    scenarios
        Pair table of each scenario, the new text as the variant and the live text as the original.
    require_non_inferiority
        For automatic deployment: pass only if a drop of 10 points is excluded. About 170 pairs are needed.

    Raises
    ------
    ValueError
        If there is no scenario, or a count is negative or not whole.
    """
    if not scenarios:
        raise ValueError("a regression test needs at least one scenario.")
    pooled = analyse_pairs(*(sum(pairs[at] for pairs in scenarios) for at in range(1, 5)))  # type: ignore[misc]
    p_values = [sign_test_p(pairs.n10, pairs.n01, alternative="worse") for pairs in scenarios]
    results = tuple(
        ScenarioAnalysis(
            name=pairs.name,
            passed=bool(adjusted >= _WORSE_P),
            delta=analyse_pairs(*pairs[1:]).lift_points or 0.0,
            n=sum(pairs[1:]),
            p=p,
            p_holm=float(adjusted),
        )
        for pairs, p, adjusted in zip(scenarios, p_values, holm(p_values), strict=True)
    )
    regressed = sum(not result.passed for result in results)
    worse = confidence(pooled.n01, pooled.n10)
    non_inferior = None if pooled.lift_points_low is None else pooled.lift_points_low > NON_INFERIORITY_POINTS
    verdict: Literal["passed", "regressed", "inconclusive"] = "passed"
    if regressed or worse >= _WORSE_CONFIDENCE:
        verdict = "regressed"
    elif require_non_inferiority and not non_inferior:
        verdict = "inconclusive"
    return RegressionAnalysis(
        passed=verdict == "passed",
        verdict=verdict,
        scenarios=results,
        regressed=regressed,
        pooled=pooled,
        confidence_worse=worse,
        non_inferior=non_inferior,
        smallest_drop_found=smallest_findable_points(
            pooled.n, discordance=(pooled.n10 + pooled.n01 + 1) / (pooled.n + 3), e_threshold=_WORSE_E
        ),
    )
