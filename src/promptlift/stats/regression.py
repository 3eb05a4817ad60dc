"""Regression test of a new prompt text: whether any scenario, or all together, get worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from promptlift.stats.differences import sign_test_p
from promptlift.stats.effect import CompletedInCluster
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
    delta
        Change of completion in percentage points; 0 without pairs.
    n
        Pairs.
    p, p_holm
        Exact one-sided McNemar p-value for "worse", and adjusted over the scenarios.
    """

    name: str
    delta: float
    n: int
    p: float
    p_holm: float

    @property
    def passed(self) -> bool:
        """Whether it did not get worse."""
        return self.p_holm >= _WORSE_P


@dataclass(frozen=True, slots=True)
class RegressionAnalysis:
    """Result of a regression test.

    Attributes
    ----------
    verdict
        ``passed``, ``regressed``: a scenario got worse, or all together; or ``inconclusive``: a drop of 10 points is not
        excluded.
    scenarios
        One result per scenario.
    pooled
        All scenarios together.
    confidence_worse
        Confidence that the new text is worse over all scenarios.
    smallest_drop_found
        Smallest true drop in percentage points over all scenarios that this many pairs detect with 80%
        probability; ``None`` if there is none.
    """

    verdict: Literal["passed", "regressed", "inconclusive"]
    scenarios: tuple[ScenarioAnalysis, ...]
    pooled: PairAnalysis
    confidence_worse: float
    smallest_drop_found: float | None

    @property
    def regressed(self) -> int:
        """Number of scenarios that got worse."""
        return sum(not one.passed for one in self.scenarios)


def regression_test(scenarios: Sequence[ScenarioPairs]) -> RegressionAnalysis:
    """Test whether a new text completes fewer tasks than the current one.

    Per scenario an exact one-sided McNemar test, adjusted by Holm; over all of them the e-value of "worse", and a 90%
    interval, clustered by scenario where that is wider: a text that helps in some scenarios and harms in others has fewer
    independent pairs than it seems. It must exclude a drop of 10 points, for which about 170 pairs are needed. Negative
    differences alone prove nothing: even without any change, some scenario has one in most runs.

    Parameters
    ----------
    scenarios
        Pair table of each scenario, the new text as the variant and the live text as the original.

    Raises
    ------
    ValueError
        If a count is negative or not whole.
    """
    n11, n10, n01, n00 = (sum(pairs[at] for pairs in scenarios) for at in range(1, 5))  # type: ignore[misc]
    clusters = [CompletedInCluster(sum(one[1:]), one.n11 + one.n10, one.n11 + one.n01) for one in scenarios]
    pooled = analyse_pairs(n11, n10, n01, n00, clusters=clusters or None)
    p_values = [sign_test_p(pairs.n10, pairs.n01, alternative="worse") for pairs in scenarios]
    results = tuple(
        ScenarioAnalysis(
            pairs.name, analyse_pairs(*pairs[1:]).lift_points or 0.0, sum(pairs[1:]), p, float(adjusted)
        )
        for pairs, p, adjusted in zip(scenarios, p_values, holm(p_values), strict=True)
    )
    worse = confidence(n01, n10)
    verdict: Literal["passed", "regressed", "inconclusive"] = "inconclusive"
    if worse >= _WORSE_CONFIDENCE or not all(one.passed for one in results):
        verdict = "regressed"
    elif pooled.lift_points_low is not None and pooled.lift_points_low > NON_INFERIORITY_POINTS:
        verdict = "passed"
    smallest = smallest_findable_points(
        pooled.n, discordance=(n10 + n01 + 1) / (pooled.n + 3), e_threshold=_WORSE_E
    )
    return RegressionAnalysis(verdict, results, pooled, worse, smallest)
