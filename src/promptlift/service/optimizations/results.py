"""The results of an optimization and the figures of each variant."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.optimizations import Variant, VariantMetrics
from promptlift.schema.results import GuardrailResult, LoggedMix, OptimizationProgress, OptimizationResults
from promptlift.service.deployments.regression_test import pairs_of
from promptlift.service.deployments.verified_lift import expect_on_logged_mix, verified_effect
from promptlift.service.optimizations.goal import percent
from promptlift.service.simulations.scenarios import FAILURE_WEIGHT
from promptlift.service.store import optimizations, runs
from promptlift.stats.reweighted import DrawnPair, reweighted_lift

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables.runs import VariantRow
    from promptlift.stats.pairs import PairAnalysis
    from promptlift.stats.verdict import Progress, VariantStats, Verdict

NOT_BETTER_ON_LOGGED_MIX: Final = (
    "The winner is better on the tested mix of conversations, but on the mix of the logged "
    "conversations it completed no more tasks than the original."
)
_NO_MIXES: Final[Mapping[int, LoggedMix]] = MappingProxyType({})


def unmeasured(progress: Progress, *, rehearsal: bool) -> OptimizationResults:
    """Return the results of an optimization whose variants are still being written."""
    return OptimizationResults(
        confidence=None,
        trace=[],
        warnings=[],
        rehearsal=rehearsal,
        progress=_progress(progress, "preparing"),
    )


def results_of(
    verdict: Verdict,
    ids: Sequence[str],
    mixes: Mapping[int, LoggedMix] = _NO_MIXES,
    *,
    rehearsal: bool,
    ended: bool,
    notes: Sequence[str] = (),
    calibrated: float | None = None,
    **more: Any,
) -> OptimizationResults:
    """Return the results of an optimization.

    Parameters
    ----------
    ids
        Ids of the variants by number, the original first.
    mixes
        Lift on the mix of logged conversations by number of the variant, if known.
    ended
        Whether nothing more will be measured.
    notes
        Warnings in addition to those of the experiment.
    calibrated
        Confidence according to the account's own record of winners that held, if any.
    more
        Results of the targets and the hypothesis.
    """
    progress, analysis, finalist = verdict.progress, verdict.analysis, verdict.finalist
    mix = None if finalist is None else mixes.get(finalist)
    why = verdict.why_no_winner if ended else None
    warnings = [*notes, *verdict.warnings]
    if verdict.winner_selected and mix is not None and (mix.lift_points or 0.0) <= 0.0:
        warnings.append(NOT_BETTER_ON_LOGGED_MIX)
    if ended:
        more["winner_selected"] = verdict.winner_selected
    return OptimizationResults(
        winning_variant_id=None if verdict.winner is None else ids[verdict.winner],
        finalist_variant_id=None if finalist is None else ids[finalist],
        **_effect(analysis),
        # JSON has no infinity: an e-value that overflows is given only by its logarithm.
        e_value=None if analysis is None or math.isinf(analysis.e_value) else analysis.e_value,
        log_e_value=None if analysis is None else analysis.log_e_value,
        confidence=None if finalist is None else verdict.confidence,
        pairs=pairs_of(analysis, verdict.n_dropped),
        **verified_effect(verdict.verification, dropped=verdict.n_dropped_verifying),
        logged_mix=None if analysis is None else mix,
        **{name: getattr(verdict, name) for name in _DESIGN},
        confidence_calibrated=calibrated,
        explanation=None if why is None else why.text,
        smallest_findable_points=None if why is None else why.smallest_findable_points,
        pairs_needed=None if why is None else why.pairs_needed,
        trace=list(verdict.trace),
        lift_trace=list(verdict.lift_trace),
        guardrails=[GuardrailResult.model_validate(one, from_attributes=True) for one in verdict.guardrails],
        warnings=warnings,
        # The pairs of a finalist's own screening are no longer reported.
        variants_tested=sum(
            one.n_pairs + one.n_dropped > 0 or (one.is_finalist and progress.passes_done > 0)
            for one in verdict.variants
        ),
        rehearsal=rehearsal,
        progress=_progress(progress, "done" if ended else progress.stage),
        **more,
    )


def _progress(progress: Progress, stage: str) -> OptimizationProgress:
    done, most = progress.conversations_done, progress.conversations_max
    return OptimizationProgress(
        stage=stage,
        passes_done=progress.passes_done,
        passes_max=progress.passes_max,
        conversations_done=done,
        conversations_max=most,
        fraction=1.0 if stage == "done" else done / most if most else 0.0,
    )


# Fields that the API shares with a verdict, and with an analysis, under the same names.
_DESIGN: Final = ("confidence_method", "theta", "confidence_needed", "estimand", "reason")
_EFFECT: Final = (
    *("lift", "lift_low", "lift_high", "lift_expected", "lift_expected_low", "lift_expected_high"),
    *("lift_points", "lift_points_low", "lift_points_high", "lift_points_expected"),
    *("standard_error_points", "interval_level", "look", "max_looks"),
)


def _effect(analysis: PairAnalysis | None) -> dict[str, Any]:
    """Return lift and interval; empty if nothing was measured."""
    return {name: getattr(analysis, name, None) for name in _EFFECT}


def variants_of(
    verdict: Verdict, ids: Sequence[str], mixes: Mapping[int, LoggedMix] = _NO_MIXES
) -> list[Variant]:
    """Return the figures of each variant; the original's are from its pairs with the finalist."""
    found = [
        _variant(one, verdict, id=ids[one.arm], logged_mix=mixes.get(one.arm)) for one in verdict.variants
    ]
    original = [
        Variant(
            id=ids[0],
            number=0,
            metrics=_metrics(one.analysis.p0, one.original_sentiment, one.original_quality),
            stage=one.stage,
            n=one.n_pairs,
        )
        for one in verdict.variants
        if one.is_finalist
    ]
    return [*original, *found]


def _variant(variant: VariantStats, verdict: Verdict, **more: Any) -> Variant:
    analysis = variant.analysis
    measured = variant.n_pairs > 0
    return Variant(
        number=variant.arm,
        metrics=_metrics(analysis.p1, variant.sentiment, variant.quality),
        **_effect(analysis if measured else None),
        log_e_value=None if variant.confidence is None else analysis.log_e_value,
        confidence=variant.confidence,
        stage=variant.stage if measured or variant.n_dropped else None,
        n=variant.n_pairs,
        pairs=pairs_of(analysis, variant.n_dropped),
        **verified_effect(
            verdict.verification if variant.is_finalist else None, dropped=verdict.n_dropped_verifying
        ),
        original_task_completion=percent(analysis.p0),
        original_sentiment=variant.original_sentiment,
        original_quality=variant.original_quality,
        is_finalist=variant.is_finalist,
        goal_points=variant.goal_points,
        screened_out_after=variant.screened_out_after,
        warnings=list(variant.warnings),
        **more,
    )


def _metrics(
    rate: float | None, sentiment: float | None = None, quality: float | None = None
) -> VariantMetrics:
    return VariantMetrics(task_completion=percent(rate), sentiment=sentiment, quality=quality)


def shown_variant(row: VariantRow, measured: Variant | None) -> Variant:
    """Return a variant with its text, and its figures if it was measured."""
    own = {"id": row.id, "name": row.name, "content": row.content, "number": row.number}
    known = measured or Variant(
        id=row.id, metrics=_metrics(None), stage=None, n=0, **({"lift": None} if row.number else {})
    )
    return known.model_copy(update={**own, "is_original": row.number == 0, "rationale": row.rationale})


# unspecified: the share of pairs from which the scenario counts as logged rather than the model's.
HEADLINE_LEAST: Final = 0.5
LEVEL: Final = 0.90


# Fields that the API shares with a re-weighted lift under the same names.
_MIXED: Final = (
    *("lift", "lift_low", "lift_high", "lift_points", "lift_points_low", "lift_points_high"),
    *("standard_error_points", "n", "n_effective"),
)


def logged_mix_of(
    connection: Connection, optimization_id: str, verdict: Verdict, *, prior_sd_points: float
) -> dict[int, LoggedMix]:
    """Return each variant's lift on the mix of logged conversations, by number.

    Parameters
    ----------
    prior_sd_points
        Spread of the account's own true effects.

    Returns
    -------
    dict
        Without variants that have no scenarios from logs, or none from failed conversations.
    """
    if not verdict.progress.passes_done:
        return {}
    drawn = optimizations.pool(connection, optimization_id)
    shares = Counter(weight for _, weight in drawn if weight is not None)
    if not shares:
        return {}
    pairs = _logged_pairs(connection, optimization_id, verdict.progress.passes_done)
    found = {}
    for variant in verdict.variants:
        after = pairs["verify", variant.arm] if variant.is_finalist else []
        logged = pairs[variant.stage, variant.arm]
        mix = _mix(variant, logged, after, shares, prior_sd_points=prior_sd_points)
        if mix is not None:
            found[variant.arm] = mix
    return found


def _logged_pairs(
    connection: Connection, optimization_id: str, passes: int
) -> dict[tuple[str, int], list[DrawnPair]]:
    """Return the pairs of the finished passes whose scenarios are from logs, by stage and arm."""
    held = runs.by_cell(runs.outcomes(connection, optimization_id, passes=passes))
    found: dict[tuple[str, int], list[DrawnPair]] = defaultdict(list)
    for cell in runs.cells(connection, optimization_id):
        outcomes = {arm: row.task_completed for arm, row in held.get(cell.number, {}).items()}
        original = outcomes.pop(0, None)
        weight, persona = cell.scenario.get("weight"), cell.persona["id"]
        for arm, completed in outcomes.items():
            if weight is not None and completed is not None and original is not None:
                found[cell.stage, arm].append(DrawnPair(weight, completed, original, persona))
    return found


def _mix(
    variant: VariantStats,
    logged: list[DrawnPair],
    after: list[DrawnPair],
    shares: Counter[float],
    *,
    prior_sd_points: float,
) -> LoggedMix | None:
    analysis = variant.analysis
    found = reweighted_lift(
        logged, shares, level=analysis.interval_level, look=analysis.look, max_looks=analysis.max_looks
    )
    if found is None:
        return None
    verified = reweighted_lift(after, shares, level=LEVEL)
    mix = LoggedMix(
        is_headline=len(logged) >= HEADLINE_LEAST * variant.n_pairs,
        **{name: getattr(found, name) for name in _MIXED},
        lift_verified=None if verified is None else verified.lift,
        lift_verified_low=None if verified is None else verified.lift_low,
        lift_verified_high=None if verified is None else verified.lift_high,
        task_completion=100.0 * found.p1,
        original_task_completion=100.0 * found.p0,
        failed_share_tested=sum(one.stratum == FAILURE_WEIGHT for one in logged) / len(logged),
        failed_share_logged=shares[FAILURE_WEIGHT] / shares.total(),
    )
    return expect_on_logged_mix(mix, verified, prior_sd_points=prior_sd_points)
