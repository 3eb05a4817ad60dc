"""The lift on pairs measured after the decision: those of the verification, or of a regression test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from promptlift.schema.events import Expectation
from promptlift.service.deployments.regression_test import pairs_of
from promptlift.service.store import runs
from promptlift.stats import expected_lift
from promptlift.stats.shrinkage import expected_points

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.results import Effect, LoggedMix
    from promptlift.service.store.tables.runs import OptimizationRow, VariantRow
    from promptlift.stats.pairs import PairAnalysis
    from promptlift.stats.reweighted import ReweightedLift

# Fields of the API and the corresponding attributes of an analysis.
_VERIFIED: Final = {
    "lift_verified": "lift",
    "lift_verified_low": "lift_low",
    "lift_verified_high": "lift_high",
    "lift_points_verified": "lift_points",
    "lift_points_verified_low": "lift_points_low",
    "lift_points_verified_high": "lift_points_high",
}


def verified_effect(
    analysis: PairAnalysis | None,
    *,
    dropped: int = 0,
    by: Literal["verification", "regression-test"] = "verification",
) -> dict[str, Any]:
    """Return the lift on the pairs after the decision; all fields are ``None`` if there are none."""
    return {
        **{name: getattr(analysis, of, None) for name, of in _VERIFIED.items()},
        "verified_pairs": None if analysis is None else pairs_of(analysis, dropped),
        "verified_by": None if analysis is None else by,
    }


def expect_on_logged_mix(
    mix: LoggedMix, verified: ReweightedLift | PairAnalysis | None, *, prior_sd_points: float
) -> LoggedMix:
    """Predict the lift on the mix of logged conversations, from the lift on it and the pairs after the decision."""
    expected = expected_points(
        mix.lift_points or 0.0,
        mix.standard_error_points or 0.0,
        prior_sd_points=prior_sd_points,
        verified_points=None if verified is None else verified.lift_points,
        verified_error_points=None if verified is None else verified.standard_error_points,
    )
    original = mix.original_task_completion
    mix.lift_expected, mix.lift_expected_low, mix.lift_expected_high = (
        None if value is None or not original else 100.0 * value / original for value in expected
    )
    mix.lift_points_expected = expected.points
    return mix


def expectation(effect: Effect | None) -> tuple[float | None, float | None, float | None]:
    """Return the lift to expect in percent on the mix of conversations to quote, with the ends of its interval."""
    if effect is None:
        return None, None, None
    first = effect.headline
    return first.lift_expected, first.lift_expected_low, first.lift_expected_high


def expected_of(optimization: OptimizationRow, variant_id: str) -> dict[str, float | None]:
    """Return the expected completion of a variant for its events; empty if it is unknown.

    In percent of the original's task completion, on the mix of conversations whose lift comes first. A
    rehearsal proves nothing about a real prompt, and the original changes nothing.
    """
    kept = None if optimization.rehearsal else optimization.results
    found = None if kept is None else next((one for one in kept.variants if one.id == variant_id), None)
    expected = expectation(found)
    return {} if expected[0] is None else dict(zip(Expectation.model_fields, expected, strict=True))


def keep_regression_lift(
    connection: Connection,
    optimization: OptimizationRow,
    variant: VariantRow,
    pooled: PairAnalysis,
    *,
    dropped: int,
) -> None:
    """Add the lift measured by the winner's regression test to the results of its optimization.

    The test ran after the decision, on cells of its own and against the same original, so its pairs are as good as those
    of the verification, and more.
    """
    kept = optimization.results
    if kept is None or kept.results.winning_variant_id != variant.id:
        return
    results, winner = kept.results, kept.variant(variant.number)
    if results.pairs is None or winner is None:
        return
    prior = (optimization.experiment or {})["settings"]["prior_sd_points"]
    expected = expected_lift(
        *(getattr(results.pairs, name) for name in ("n11", "n10", "n01", "n00")),
        prior_sd_points=prior,
        standard_error_points=results.standard_error_points,
        verified_points=pooled.lift_points,
        verified_error_points=pooled.standard_error_points,
    )
    fields = {
        **verified_effect(pooled, dropped=dropped, by="regression-test"),
        "lift_expected": expected.percent,
        "lift_expected_low": expected.low,
        "lift_expected_high": expected.high,
        "lift_points_expected": expected.points,
    }
    if (mix := results.logged_mix) is not None:
        # The scenarios of a regression test are drawn evenly, so its lift is already that on this mix.
        same = {name: fields[name] for name in ("lift_verified", "lift_verified_low", "lift_verified_high")}
        mix = mix.model_copy(update=same)
        fields["logged_mix"] = expect_on_logged_mix(mix, pooled, prior_sd_points=prior)
    for one in (results, winner):
        for name, value in fields.items():
            setattr(one, name, value)
    runs.change(connection, optimization, results=kept)
