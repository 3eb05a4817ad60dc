"""The lift on pairs that were measured after the decision, in its API form: of the verification, or of a regression test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from promptlift.service.deployments.regression_test import pairs_of
from promptlift.service.store import optimizations
from promptlift.stats import expected_lift
from promptlift.stats.shrinkage import expected_points

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.service.store.tables.runs import OptimizationRow, VariantRow
    from promptlift.stats.pairs import PairAnalysis

__all__ = ["expected_on_logged_mix", "keep_regression_lift", "verified_effect"]

# Fields of the API and the attributes of an analysis that they have.
_VERIFIED: Final = {
    "liftVerified": "lift",
    "liftVerifiedLow": "lift_low",
    "liftVerifiedHigh": "lift_high",
    "liftPointsVerified": "lift_points",
    "liftPointsVerifiedLow": "lift_points_low",
    "liftPointsVerifiedHigh": "lift_points_high",
}
_COUNTS: Final = ("n11", "n10", "n01", "n00")


def verified_effect(
    analysis: PairAnalysis | None,
    *,
    dropped: int = 0,
    by: Literal["verification", "regression-test"] = "verification",
) -> dict[str, Any]:
    """Return the lift on the pairs after the decision; nothing but ``None`` where there are none."""
    return {
        **{name: None if analysis is None else getattr(analysis, of) for name, of in _VERIFIED.items()},
        "verifiedPairs": None if analysis is None else pairs_of(analysis, dropped),
        "verifiedBy": None if analysis is None else by,
    }


def expected_on_logged_mix(
    mix: dict[str, Any], verified_points: float | None, *, prior_sd_points: float
) -> dict[str, float | None]:
    """Return what to expect on the mix of logged conversations, from the lift on it and pairs after the decision."""
    points = expected_points(
        mix["liftPoints"],
        mix["standardErrorPoints"],
        prior_sd_points=prior_sd_points,
        verified_points=verified_points,
    )
    original = mix["originalTaskCompletion"]
    return {
        "liftExpected": 100.0 * points / original if original else None,
        "liftPointsExpected": points,
    }


def keep_regression_lift(
    connection: Connection,
    optimization: OptimizationRow,
    variant: VariantRow,
    pooled: PairAnalysis,
    *,
    dropped: int,
) -> None:
    """Keep what the regression test of the winner says of its lift, in the results of its optimization.

    The test ran after the decision, on cells of its own and against the same original, so its pairs are as good as those
    of the verification, and more.
    """
    document = optimization.results or {}
    results, of_variant = document.get("results"), document.get("variants", {}).get(str(variant.number))
    if not results or not of_variant or results.get("winningVariantId") != variant.id:
        return
    prior = (optimization.experiment or {})["settings"]["prior_sd_points"]
    expected = expected_lift(
        *(results["pairs"][name] for name in _COUNTS),
        prior_sd_points=prior,
        standard_error_points=results["standardErrorPoints"],
        verified_points=pooled.lift_points,
    )
    fields = {
        **verified_effect(pooled, dropped=dropped, by="regression-test"),
        "liftExpected": expected.percent,
        "liftPointsExpected": expected.points,
    }
    results |= fields
    of_variant |= fields
    if (mix := results.get("loggedMix")) is not None:
        # The scenarios of a regression test are drawn evenly, so its lift is one on this mix already.
        mix |= {name: fields[name] for name in ("liftVerified", "liftVerifiedLow", "liftVerifiedHigh")}
        mix |= expected_on_logged_mix(mix, pooled.lift_points, prior_sd_points=prior)
        of_variant["loggedMix"] = mix
    optimizations.change(connection, optimization.id, {"results": document})
