"""The results of a benchmark in their API form: comparable scores, costs, and every arm against a reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from promptlift.schema.benchmarks import BASELINE, LEVEL_DEFAULT, MARGIN_DEFAULT
from promptlift.service.benchmarks.arms import Arm
from promptlift.service.benchmarks.scenario_sets import cells_of
from promptlift.service.store import benchmarks
from promptlift.stats.arms import (
    ArmOutcome,
    TokenUse,
    cheapest_arm,
    compare_arms,
    cost_per_completed,
    cost_per_conversation,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables import AnyRow
    from promptlift.service.store.tables.runs import RunRow
    from promptlift.stats.arms import ArmComparison, ArmsAnalysis, ArmScore
    from promptlift.stats.paired_scores import PairedScoreTest

__all__ = ["results_of"]

# A larger share of lost conversations is a warning: what was lost may not be like the rest.
_DROPPED_SHARE: Final = 0.10


def results_of(
    connection: Connection,
    row: RunRow,
    *,
    reference: int | Literal["best"] = BASELINE,
    margin: float = MARGIN_DEFAULT,
    level: float = LEVEL_DEFAULT,
    final: bool,
) -> dict[str, Any] | None:
    """Return what a benchmark has measured so far; ``None`` before its first conversation has ended.

    Parameters
    ----------
    reference
        Number of an arm, or ``best``.
    margin
        Percentage points of task completion; a smaller loss does not matter.
    final
        Whether nothing more will be measured.
    """
    found = benchmarks.outcomes(connection, row.id)
    if not found:
        return None
    arms = Arm.of(row)
    cells = cells_of(benchmarks.get_set(connection, row.subject_id))
    analysis = compare_arms(
        (
            ArmOutcome(
                one.cell,
                one.arm,
                bool(one.task_completed),
                one.sentiment_score,
                one.quality,
                cells[one.cell - 1].persona.id,
            )
            for one in found
            if one.status != "dropped"
        ),
        range(len(arms)),
        reference=reference,
        margin_points=margin,
        level=level,
    )
    prices = row.settings["prices"]
    tokens = {number: _tokens([one for one in found if one.arm == number]) for number in range(len(arms))}
    by_number = {
        number: cost_per_conversation(tokens[number], prices.get(arm.llm_model))
        for number, arm in enumerate(arms)
    }
    return {
        "arms": [
            _arm(
                arm,
                score,
                [one for one in found if one.arm == score.arm],
                tokens[score.arm],
                by_number[score.arm],
            )
            for arm, score in zip(arms, analysis.scores, strict=True)
        ],
        "comparisons": [_comparison(one) for one in analysis.comparisons],
        "reference": analysis.reference,
        "margin": margin,
        "level": level,
        "acceptable": list(analysis.acceptable),
        "cheapest": _cheapest(arms, analysis, tokens, by_number),
        "final": final,
        "warnings": _warnings(arms, found),
        "rehearsal": row.rehearsal,
    }


def _tokens(rows: Sequence[AnyRow]) -> TokenUse | None:
    """Return the mean tokens of an arm's conversations; ``None`` when none was held."""
    held = [one for one in rows if one.status != "dropped"]
    if not held:
        return None
    return TokenUse(
        sum(one.input_tokens for one in held) / len(held),
        sum(one.output_tokens for one in held) / len(held),
        estimated=any(one.tokens_estimated for one in held),
    )


def _arm(
    arm: Arm, score: ArmScore, rows: Sequence[AnyRow], tokens: TokenUse | None, cost: float | None
) -> dict[str, Any]:
    held = [one for one in rows if one.status != "dropped"]
    return {
        "number": score.arm,
        "name": arm.name,
        "llmModel": arm.llm_model,
        "n": score.n,
        "dropped": len(rows) - len(held),
        "taskCompletion": _percent(score.rate),
        "taskCompletionLow": _percent(score.rate_low),
        "taskCompletionHigh": _percent(score.rate_high),
        "sentiment": score.sentiment,
        "quality": score.quality,
        "turns": sum(one.turns for one in held) / len(held) if held else None,
        "inputTokens": tokens.read if tokens else None,
        "outputTokens": tokens.written if tokens else None,
        "tokensEstimated": tokens.estimated if tokens else None,
        "costPerConversation": cost,
        "costPerCompleted": cost_per_completed(cost, score.rate),
    }


def _comparison(one: ArmComparison) -> dict[str, Any]:
    return {
        "number": one.arm,
        "reference": one.reference,
        "n": one.n,
        "n11": one.n11,
        "n10": one.n10,
        "n01": one.n01,
        "n00": one.n00,
        "points": one.points,
        "pointsLow": one.points_low,
        "pointsHigh": one.points_high,
        "p": one.p,
        "pHolm": one.p_holm,
        "verdict": one.verdict,
        "notWorse": one.not_worse,
        "notWorseP": one.not_worse_p,
        "sentiment": _difference(one.sentiment),
        "quality": _difference(one.quality),
    }


def _difference(found: PairedScoreTest) -> dict[str, Any]:
    return {"difference": found.difference, "low": found.low, "high": found.high, "p": found.p}


def _cheapest(
    arms: Sequence[Arm],
    analysis: ArmsAnalysis,
    tokens: dict[int, TokenUse | None],
    costs: dict[int, float | None],
) -> dict[str, Any] | None:
    found = cheapest_arm(analysis.acceptable, tokens, costs)
    if found is None:
        return None
    use = tokens[found.arm]
    return {
        "number": found.arm,
        "name": arms[found.arm].name,
        "basis": found.basis,
        "costPerConversation": costs[found.arm],
        "tokensPerConversation": None if use is None else use.read + use.written,
    }


def _warnings(arms: Sequence[Arm], rows: Sequence[AnyRow]) -> list[str]:
    found = []
    for number, arm in enumerate(arms):
        mine = [one for one in rows if one.arm == number]
        lost = sum(one.status == "dropped" for one in mine)
        if mine and lost > _DROPPED_SHARE * len(mine):
            found.append(
                f"{lost} of {len(mine)} conversations of {arm.name!r} were lost to errors; those that are left may not be "
                "like the rest."
            )
    return found


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100.0 * fraction
