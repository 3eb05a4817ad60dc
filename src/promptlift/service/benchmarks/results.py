"""The results of a benchmark in their API form: comparable scores, costs, and every arm against a reference."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Literal

from promptlift.schema.benchmarks import (
    BASELINE,
    LEVEL_DEFAULT,
    MARGIN_DEFAULT,
    ArmDifference,
    ArmResult,
    BenchmarkResults,
    CheapestArm,
    MetricDifference,
)
from promptlift.service.benchmarks.arms import BenchmarkSettings
from promptlift.service.benchmarks.scenario_sets import cells_of
from promptlift.service.optimizations.goal import percent
from promptlift.service.store import runs
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

    from promptlift.schema.benchmarks import BenchmarkArm
    from promptlift.schema.model import ApiModel
    from promptlift.service.store.tables.runs import BenchmarkConversationRow, RunRow
    from promptlift.stats.arms import ArmsAnalysis, ArmScore

__all__ = ["results_of"]

# A larger share of lost conversations gives a warning: they may differ from the rest.
_DROPPED_SHARE: Final = 0.10


def results_of(
    connection: Connection,
    row: RunRow,
    *,
    reference: int | Literal["best"] = BASELINE,
    margin: float = MARGIN_DEFAULT,
    level: float = LEVEL_DEFAULT,
    final: bool,
) -> BenchmarkResults | None:
    """Return a benchmark's results so far; ``None`` before its first conversation has ended.

    Parameters
    ----------
    reference
        Number of an arm, or ``best``.
    margin
        Percentage points of task completion; a smaller loss is acceptable.
    final
        Whether nothing more will be measured.
    """
    found = runs.benchmark_outcomes(connection, row.id)
    if not found:
        return None
    settings = BenchmarkSettings.from_wire(row.settings)
    arms = settings.arms
    cells = cells_of(runs.get_set(connection, row.subject_id))
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
    held = [[one for one in found if one.arm == arm.number and one.status != "dropped"] for arm in arms]
    lost = Counter(one.arm for one in found if one.status == "dropped")
    tokens = {arm.number: _tokens(held[arm.number]) for arm in arms}
    prices = {arm.number: settings.prices.get(arm.llm_model or "") for arm in arms}
    costs = {
        number: cost_per_conversation(tokens[number], None if price is None else price.model_dump())
        for number, price in prices.items()
    }
    return BenchmarkResults(
        arms=[
            _arm(arm, score, held[score.arm], lost[score.arm], tokens[score.arm], costs[score.arm])
            for arm, score in zip(arms, analysis.scores, strict=True)
        ],
        comparisons=[
            ArmDifference(
                **_taken(ArmDifference, one)
                | {"number": one.arm}
                | {name: _taken(MetricDifference, getattr(one, name)) for name in ("sentiment", "quality")}
            )
            for one in analysis.comparisons
        ],
        reference=analysis.reference,
        margin=margin,
        level=level,
        acceptable=list(analysis.acceptable),
        cheapest=_cheapest(arms, analysis, tokens, costs),
        final=final,
        warnings=[
            f"{lost[arm.number]} of {lost[arm.number] + len(mine)} conversations of {arm.name!r} were lost to errors; those "
            "that are left may not be like the rest."
            for arm, mine in zip(arms, held, strict=True)
            if lost[arm.number] > _DROPPED_SHARE * (lost[arm.number] + len(mine))
        ],
        rehearsal=row.rehearsal,
    )


def _taken(model: type[ApiModel], source: object) -> dict[str, Any]:
    """Return the fields of a model, taken from the attributes of the same names."""
    return {name: getattr(source, name) for name in model.model_fields if hasattr(source, name)}


def _tokens(held: Sequence[BenchmarkConversationRow]) -> TokenUse | None:
    """Return the mean tokens of an arm's conversations; ``None`` when there are none."""
    if not held:
        return None
    return TokenUse(
        sum(one.input_tokens for one in held) / len(held),
        sum(one.output_tokens for one in held) / len(held),
        estimated=any(one.tokens_estimated for one in held),
    )


def _arm(
    arm: BenchmarkArm,
    score: ArmScore,
    held: Sequence[BenchmarkConversationRow],
    lost: int,
    tokens: TokenUse | None,
    cost: float | None,
) -> ArmResult:
    return ArmResult(
        number=arm.number,
        name=arm.name,
        llm_model=arm.llm_model,
        n=score.n,
        dropped=lost,
        task_completion=percent(score.rate),
        task_completion_low=percent(score.rate_low),
        task_completion_high=percent(score.rate_high),
        sentiment=score.sentiment,
        quality=score.quality,
        turns=sum(one.turns for one in held) / len(held) if held else None,
        input_tokens=tokens.read if tokens else None,
        output_tokens=tokens.written if tokens else None,
        tokens_estimated=tokens.estimated if tokens else None,
        cost_per_conversation=cost,
        cost_per_completed=cost_per_completed(cost, score.rate),
    )


def _cheapest(
    arms: Sequence[BenchmarkArm],
    analysis: ArmsAnalysis,
    tokens: dict[int, TokenUse | None],
    costs: dict[int, float | None],
) -> CheapestArm | None:
    found = cheapest_arm(analysis.acceptable, tokens, costs)
    if found is None:
        return None
    use = tokens[found.arm]
    return CheapestArm(
        number=found.arm,
        name=arms[found.arm].name,
        basis=found.basis,
        cost_per_conversation=costs[found.arm],
        tokens_per_conversation=None if use is None else use.read + use.written,
    )
