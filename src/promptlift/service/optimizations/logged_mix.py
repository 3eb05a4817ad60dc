"""The lift on the mix of the logged conversations, beside the one on the tested mix, in which failed ones come up more often.

See ``stats.reweighted``. The strata are the weights by which conversations were drawn: 3 for a failed one, 1 for the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from promptlift.service.deployments.verified_lift import expected_on_logged_mix
from promptlift.service.simulations.scenarios import FAILURE_WEIGHT
from promptlift.service.store import optimizations, simulations
from promptlift.stats.reweighted import DrawnPair, reweighted_lift

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.stats.reweighted import ReweightedLift
    from promptlift.stats.verdict import VariantStats, Verdict

__all__ = ["logged_mix_of", "pool_of"]

# unspecified: from which share of pairs on the scenario comes from the logs rather than from the model.
HEADLINE_LEAST: Final = 0.5
LEVEL: Final = 0.90


# The pair of a cell; ``None`` where a model wrote its scenario.
_Pair: TypeAlias = "DrawnPair | None"


def pool_of(stored: str | None) -> list[tuple[str, float | None]]:
    """Read the pool of a run: logged conversations with the weights by which they were drawn."""
    return [(conversation_id, weight) for conversation_id, weight in orjson.loads(stored or "[]")]


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
    drawn = pool_of(optimizations.pool(connection, optimization_id))
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
    for row in simulations.of_cells(connection, optimization_id, min(cells), max(cells)):
        outcomes[row.cell][row.arm] = row.task_completed
    for number, cell in cells.items():
        original = outcomes[number].get(0)
        if original is None:
            continue
        weight = orjson.loads(cell.scenario).get("weight")
        persona = orjson.loads(cell.persona)["id"]
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
