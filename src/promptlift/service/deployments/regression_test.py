"""The simulated conversations of a regression test, and the verdict from their outcomes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.schema.deployments import RegressionTest, ScenarioResult
from promptlift.schema.events import RegressionSummary
from promptlift.schema.results import PairTable
from promptlift.service.simulations.personas import draw
from promptlift.stats.regression import ScenarioPairs, regression_test

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from promptlift.service.simulations.personas import SimulatedPersona
    from promptlift.service.store.tables.runs import SimulationRow
    from promptlift.stats.pairs import PairAnalysis

# About 170 pairs are needed to exclude a drop of 10 points between two equally good texts. 12 scenarios with 15
# personas each are 180, so a few may be lost.
SCENARIOS: Final = 12
PERSONAS_EACH: Final = 15
PAIRS: Final = SCENARIOS * PERSONAS_EACH
# Index of the arm with the current version: the original of the optimization.
LIVE: Final = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a regression test.

    Attributes
    ----------
    test
        The test in its API form.
    reason
        Why the test failed, in words and numbers; ``None`` if it passed.
    pooled
        All pairs together; ``None`` without a pair, or if the test ended early: conversations that end early
        differ from those that take long.
    """

    test: RegressionTest
    reason: str | None
    pooled: PairAnalysis | None = None


def plan_cells(
    personas: Sequence[SimulatedPersona], rng: random.Random, *, scenarios: int = SCENARIOS
) -> list[tuple[int, SimulatedPersona]]:
    """Draw the personas of each scenario, given by its place, from all personas.

    With fewer scenarios each gets more personas, so that there are always as many pairs. A persona is
    repeated in a scenario only if there are too few.
    """
    each = math.ceil(PAIRS / scenarios)
    return [(at, persona) for at in range(scenarios) for persona in draw(personas, each, rng)]


def summarize(
    names: Sequence[str],
    scenario_of: dict[int, int],
    outcomes: Iterable[SimulationRow],
    *,
    stopped: str | None = None,
) -> Summary:
    """Compare the new text with the live one over all cells in which both have an outcome.

    Parameters
    ----------
    names
        Names of the scenarios.
    scenario_of
        Scenario of each cell.
    outcomes
        Outcomes of both arms; every arm but `LIVE` is the new text.
    stopped
        Why the test ended early; such a test never passes.
    """
    tables, dropped = _tables(names, scenario_of, outcomes)
    measured = [table for table in tables if sum(table[1:])]
    test = regression_test(measured)
    passed = test.verdict == "passed" and stopped is None
    pooled = test.pooled
    shown = RegressionTest(
        passed=passed,
        verdict="inconclusive" if test.verdict == "passed" and not passed else test.verdict,
        summary=RegressionSummary(
            total=len(measured), passed=len(measured) - test.regressed, regressed=test.regressed
        ),
        scenarios=[
            ScenarioResult(name=one.name, passed=one.passed, delta=one.delta, n=one.n)
            for one in test.scenarios
        ],
        pairs=pairs_of(pooled, dropped),
        lift_points=pooled.lift_points,
        lift_points_low=pooled.lift_points_low,
        smallest_drop_found=test.smallest_drop_found,
        confidence_worse=test.confidence_worse if measured else None,
    )
    return Summary(
        shown,
        None if passed else _why(shown, pooled, stopped),
        pooled=pooled if measured and stopped is None else None,
    )


def pairs_of(analysis: PairAnalysis | None, dropped: int) -> PairTable:
    """Return the counts of pairs; zeros if nothing was measured."""
    counts = {name: getattr(analysis, name, 0) for name in ("n", "n11", "n10", "n01", "n00")}
    return PairTable(**counts, dropped=dropped)


def _tables(
    names: Sequence[str], scenario_of: dict[int, int], outcomes: Iterable[SimulationRow]
) -> tuple[list[ScenarioPairs], int]:
    """Count the pairs of each scenario, and the pairs that were lost."""
    live: dict[int, bool | None] = {}
    new: dict[int, bool | None] = {}
    for one in outcomes:
        (live if one.arm == LIVE else new)[one.cell] = one.task_completed
    counts: Counter[tuple[int, bool, bool]] = Counter()
    dropped = 0
    for cell in live.keys() & new.keys():
        was, now = live[cell], new[cell]
        if was is None or now is None:
            dropped += 1
        else:
            counts[scenario_of[cell], now, was] += 1
    tables = [
        ScenarioPairs(
            name,
            counts[at, True, True],
            counts[at, True, False],
            counts[at, False, True],
            counts[at, False, False],
        )
        for at, name in enumerate(names)
    ]
    return tables, dropped


def _why(test: RegressionTest, pairs: PairAnalysis, stopped: str | None) -> str:
    if not pairs.n:
        return stopped or "No pair was measured"
    counts = (
        f"over {pairs.n} pairs the new version completed {pairs.n11 + pairs.n10} tasks and the current one "
        f"{pairs.n11 + pairs.n01}"
    )
    if test.verdict == "regressed":
        worse = [one.name for one in test.scenarios if not one.passed]
        where = f"; worse in: {', '.join(worse)}" if worse else ""
        return f"The regression test found the new version worse: {counts}{where}"
    if stopped is not None:
        return stopped
    return (
        f"The regression test did not exclude a drop of 10 points: {counts}, and the change may be as low as "
        f"{pairs.lift_points_low:+.1f} points"
    )
