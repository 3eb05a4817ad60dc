"""The results of an optimization and the numbers of each variant, in their API form."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic.alias_generators import to_camel

from promptlift.service.deployments.regression_test import pairs_of
from promptlift.service.deployments.verified_lift import expected_on_logged_mix, verified_effect
from promptlift.service.simulations.scenarios import FAILURE_WEIGHT
from promptlift.service.store import optimizations, simulations
from promptlift.stats.reweighted import DrawnPair, reweighted_lift

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.stats.pairs import PairAnalysis
    from promptlift.stats.reweighted import ReweightedLift
    from promptlift.stats.verdict import Progress, VariantStats, Verdict

NOT_BETTER_ON_LOGGED_MIX: Final = (
    "The winner is better on the tested mix, in which failed conversations come up more often, but on the mix of the logged "
    "conversations it completed no more tasks than the original."
)
_GUARDRAIL: Final = ("name", "difference", "low", "high", "verdict")


def unmeasured(progress: Progress, *, rehearsal: bool) -> dict[str, Any]:
    """Return the results of an optimization whose variants are still being written."""
    return {
        "confidence": None,
        "trace": [],
        "warnings": [],
        "rehearsal": rehearsal,
        "progress": _progress(progress, "preparing"),
    }


def results_of(
    verdict: Verdict,
    ids: Sequence[str],
    mixes: Mapping[int, dict[str, Any]] = MappingProxyType({}),
    *,
    rehearsal: bool,
    ended: bool,
    notes: Sequence[str] = (),
    calibrated: float | None = None,
) -> dict[str, Any]:
    """Return the results of an optimization.

    Parameters
    ----------
    ids
        Of the variants by number, the original first.
    mixes
        Lift on the mix of logged conversations by number of the variant, where it is known.
    ended
        Whether nothing more will be measured.
    notes
        Warnings beside those of the experiment.
    calibrated
        Confidence by the account's own record of winners that held; ``None`` without one.
    """
    progress, analysis = verdict.progress, verdict.analysis
    mix = None if verdict.finalist is None else mixes.get(verdict.finalist)
    found: dict[str, Any] = {
        "winningVariantId": ids[verdict.winner] if verdict.winner is not None else None,
        "finalistVariantId": ids[verdict.finalist] if verdict.finalist is not None else None,
        "lift": None,
        "confidence": verdict.confidence if verdict.finalist is not None else None,
        **_effect(analysis),
        "pairs": pairs_of(analysis, verdict.n_dropped),
        **verified_effect(verdict.verification, dropped=verdict.n_dropped_verifying),
        "loggedMix": mix if analysis is not None else None,
        "confidenceMethod": verdict.confidence_method,
        "theta": verdict.theta,
        "confidenceNeeded": verdict.confidence_needed,
        "confidenceCalibrated": calibrated,
        "estimand": verdict.estimand,
        "reason": verdict.reason,
        "explanation": None,
        "smallestFindablePoints": None,
        "pairsNeeded": None,
        "trace": list(verdict.trace),
        "liftTrace": list(verdict.lift_trace),
        "guardrails": [{name: getattr(rail, name) for name in _GUARDRAIL} for rail in verdict.guardrails],
        "warnings": [*notes, *verdict.warnings, *_mix_warnings(verdict, mix)],
        "variantsTested": sum(_tested(variant, progress.passes_done) for variant in verdict.variants),
        "rehearsal": rehearsal,
        "progress": _progress(progress, "done" if ended else progress.stage),
    }
    if ended:
        found = {"winnerSelected": verdict.winner_selected, **found}
        why = verdict.why_no_winner
        if why is not None:
            found["explanation"] = why.text
            found["smallestFindablePoints"] = why.smallest_findable_points
            found["pairsNeeded"] = why.pairs_needed
    return found


def _mix_warnings(verdict: Verdict, mix: Mapping[str, Any] | None) -> Iterator[str]:
    """Warn that a winner is not better on the mix of logged conversations, as far as that is known."""
    if verdict.winner_selected and mix is not None and mix["liftPoints"] <= 0.0:
        yield NOT_BETTER_ON_LOGGED_MIX


def _tested(variant: VariantStats, passes_done: int) -> bool:
    """Whether a variant was tested; the pairs of a finalist's own screening are no longer reported."""
    return variant.n_pairs + variant.n_dropped > 0 or (variant.is_finalist and passes_done > 0)


def _progress(progress: Progress, stage: str) -> dict[str, Any]:
    done, most = progress.conversations_done, progress.conversations_max
    return {
        "stage": stage,
        "passesDone": progress.passes_done,
        "passesMax": progress.passes_max,
        "conversationsDone": done,
        "conversationsMax": most,
        "fraction": 1.0 if stage == "done" else done / most if most else 0.0,
    }


# Attributes of an analysis that are sent under the same name in camel case.
_EFFECT: Final = (
    "lift",
    "lift_low",
    "lift_high",
    "lift_expected",
    "lift_points",
    "lift_points_low",
    "lift_points_high",
    "lift_points_expected",
    "standard_error_points",
    "interval_level",
    "look",
    "max_looks",
    "e_value",
    "log_e_value",
)


def _effect(analysis: PairAnalysis | None) -> dict[str, Any]:
    """Lift, its interval and its evidence; nothing where nothing was measured."""
    found = {to_camel(name): None if analysis is None else getattr(analysis, name) for name in _EFFECT}
    if analysis is not None and not math.isfinite(analysis.e_value):
        # JSON has no infinity: a number too large for it is given by its logarithm alone.
        found["eValue"] = None
    return found


def variants_of(
    verdict: Verdict, mixes: Mapping[int, dict[str, Any]] = MappingProxyType({})
) -> dict[str, dict[str, Any]]:
    """Return the numbers of each variant by its number; the original's are those from its pairs with the finalist."""
    found = {
        str(variant.arm): {**_variant(variant, verdict), "loggedMix": mixes.get(variant.arm)}
        for variant in verdict.variants
    }
    finalist = next((one for one in verdict.variants if one.is_finalist), None)
    if finalist is not None:
        found["0"] = {
            "metrics": _metrics(finalist.analysis.p0, finalist.original_sentiment, finalist.original_quality),
            "stage": finalist.stage,
            "n": finalist.n_pairs,
        }
    return found


def _variant(variant: VariantStats, verdict: Verdict) -> dict[str, Any]:
    analysis = variant.analysis
    verified = verdict.verification if variant.is_finalist else None
    measured = variant.n_pairs > 0
    effect = _effect(analysis if measured else None)
    return {
        "metrics": _metrics(analysis.p1, variant.sentiment, variant.quality),
        **{name: value for name, value in effect.items() if name not in {"eValue", "logEValue"}},
        "logEValue": analysis.log_e_value if variant.confidence is not None else None,
        "confidence": variant.confidence,
        "stage": variant.stage if measured or variant.n_dropped else None,
        "n": variant.n_pairs,
        "pairs": pairs_of(analysis, variant.n_dropped),
        **verified_effect(verified, dropped=verdict.n_dropped_verifying),
        "originalTaskCompletion": _percent(analysis.p0),
        "originalSentiment": variant.original_sentiment,
        "originalQuality": variant.original_quality,
        "isFinalist": variant.is_finalist,
        "goalPoints": variant.goal_points,
        "screenedOutAfter": variant.screened_out_after,
        "warnings": list(variant.warnings),
    }


def _metrics(rate: float | None, sentiment: float | None, quality: float | None) -> dict[str, float | None]:
    return {"taskCompletion": _percent(rate), "sentiment": sentiment, "quality": quality}


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100.0 * fraction


# unspecified: from which share of pairs on the scenario comes from the logs rather than from the model.
HEADLINE_LEAST: Final = 0.5
LEVEL: Final = 0.90


# The pair of a cell; ``None`` where a model wrote its scenario.
_Pair: TypeAlias = "DrawnPair | None"


def logged_mix_of(
    connection: Connection, optimization_id: str, verdict: Verdict, *, prior_sd_points: float
) -> dict[int, dict[str, Any]]:
    """Return what each variant's lift is on the mix of logged conversations, in its API form, by number.

    Parameters
    ----------
    prior_sd_points
        Spread of the account's own true effects.

    Returns
    -------
    dict
        Nothing of a variant of which nothing can be said: no scenario came from logs, or none from failed ones.
    """
    if not verdict.progress.passes_done:
        return {}
    drawn = optimizations.pool(connection, optimization_id)
    shares = Counter(weight for _, weight in drawn if weight is not None)
    if not shares:
        return {}
    pairs = _pairs(connection, optimization_id, verdict.progress.passes_done)
    found = {}
    for variant in verdict.variants:
        tested = pairs[variant.stage, variant.arm]
        after = pairs["verify", variant.arm] if variant.is_finalist else []
        mix = _mix(variant, tested, after, shares, prior_sd_points=prior_sd_points)
        if mix is not None:
            found[variant.arm] = mix
    return found


def _pairs(connection: Connection, optimization_id: str, passes: int) -> dict[tuple[str, int], list[_Pair]]:
    """Return the pairs of the passes that are done by stage and arm."""
    cells = {
        one.number: one
        for one in simulations.cells(connection, optimization_id)
        if one.pass_number <= passes and one.stage != "regression"
    }
    found: dict[tuple[str, int], list[_Pair]] = defaultdict(list)
    if not cells:
        return found
    outcomes: dict[int, dict[int, bool | None]] = defaultdict(dict)
    for row in simulations.outcomes(connection, optimization_id, passes=passes):
        outcomes[row.cell][row.arm] = row.task_completed
    for number, cell in cells.items():
        original = outcomes[number].get(0)
        if original is None:
            continue
        weight = cell.scenario.get("weight")
        persona = cell.persona["id"]
        for arm, completed in outcomes[number].items():
            if arm and completed is not None:
                pair = None if weight is None else DrawnPair(weight, completed, original, persona)
                found[cell.stage, arm].append(pair)
    return found


def _mix(
    variant: VariantStats,
    tested: list[_Pair],
    after: list[_Pair],
    shares: Counter[float],
    *,
    prior_sd_points: float,
) -> dict[str, Any] | None:
    analysis = variant.analysis
    logged = [one for one in tested if one is not None]
    found = reweighted_lift(
        logged, shares, level=analysis.interval_level, look=analysis.look, max_looks=analysis.max_looks
    )
    if found is None:
        return None
    verified = reweighted_lift([one for one in after if one is not None], shares, level=LEVEL)
    mix = {
        "isHeadline": len(logged) >= HEADLINE_LEAST * len(tested),
        "lift": found.lift,
        "liftLow": found.low,
        "liftHigh": found.high,
        "liftPoints": found.points,
        "liftPointsLow": found.points_low,
        "liftPointsHigh": found.points_high,
        "standardErrorPoints": found.standard_error_points,
        **_verified(verified),
        "taskCompletion": 100.0 * found.p1,
        "originalTaskCompletion": 100.0 * found.p0,
        "n": found.n,
        "nEffective": found.n_effective,
        "failedShareTested": sum(one.stratum == FAILURE_WEIGHT for one in logged) / len(logged),
        "failedShareLogged": shares[FAILURE_WEIGHT] / shares.total(),
    }
    verified_points = None if verified is None else verified.points
    return mix | expected_on_logged_mix(mix, verified_points, prior_sd_points=prior_sd_points)


def _verified(found: ReweightedLift | None) -> dict[str, float | None]:
    return {
        "liftVerified": None if found is None else found.lift,
        "liftVerifiedLow": None if found is None else found.low,
        "liftVerifiedHigh": None if found is None else found.high,
    }
