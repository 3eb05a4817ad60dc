"""Run regression tests in the background, from the first cell to the verdict, in steps that each store their rows.

With the verdict the winner goes live or is rejected, with the event, in one transaction.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from promptlift.schema.events import RegressionScenario, RegressionTestCompleted
from promptlift.service import clock
from promptlift.service.background.runs import LeaseLost
from promptlift.service.deployments.current_version import LivePrompt
from promptlift.service.deployments.regression_test import (
    LIVE,
    SCENARIOS,
    Summary,
    plan_cells,
    summarize,
)
from promptlift.service.deployments.verified_lift import expected_of, keep_regression_lift
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.simulations.personas import all_personas
from promptlift.service.simulations.run import (
    SimulatedCell,
    SimulatedConversation,
    SimulationRun,
    SimulationRuns,
)
from promptlift.service.simulations.scenarios import ScenariosFailed, opening_key, weighted_order
from promptlift.service.simulations.tasks import PromptText
from promptlift.service.simulations.tools import toolbox_of
from promptlift.service.store import deployments, events, optimizations, prompts, runs
from promptlift.service.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.schema.deployments import RegressionTest
    from promptlift.service.simulations.personas import SimulatedPersona
    from promptlift.service.simulations.tasks import Scenario, Tasks
    from promptlift.service.store.tables.runs import DeploymentRow, OptimizationRow

__all__ = ["STAGE", "RegressionRun", "RegressionTests", "end", "measured"]

STAGE = "regression"
# Far above the number of cells in the search for a winner.
FIRST_CELL = 1_000_000
# Personas shown to the model that writes scenarios.
PERSONAS_SHOWN = 5
# Concurrent tests per process; they share the pool with optimizations.
TESTS_AT_A_TIME = 8


class RegressionRun(SimulationRun):
    """One regression test: the winner of an optimization against the current version. See ``SimulationRun``."""

    def __init__(
        self,
        kind: RegressionTests,
        tasks: Tasks,
        optimization: OptimizationRow,
        deployment: DeploymentRow,
    ) -> None:
        with kind.database.read() as connection:
            variants = optimizations.variants(connection, optimization.id)
            prompt = prompts.find(connection, optimization.account_id, optimization.prompt_id)
        if prompt is None:
            raise LeaseLost("The prompt was deleted.")
        # As the prompt runs now: a deployed version runs under the prompt's current settings.
        text = PromptText(
            prompt.content, prompt.llm_model, prompt.temperature, prompt.max_tokens, prompt.objective
        )
        super().__init__(kind, tasks, optimization, text)
        self.optimization = optimization
        self._deployment = deployment
        self._texts = {
            one.number: one.content
            for one in variants
            if one.number == LIVE or one.id == deployment.variant_id
        }

    def count(self, connection: Connection, spent: Mapping[str, int]) -> bool:
        """Add the usage to the optimization, and return whether the worker still holds the test."""
        return deployments.count(connection, self._deployment, self.worker, spent)

    def carry_on(self) -> None:
        """Simulate the remaining conversations, and act on the verdict."""
        self.toolbox = toolbox_of(self.database, self.optimization, self.prompt.content)
        cells = self._cells() or self._fill()
        self.simulate(
            [SimulatedConversation(cell, arm, text) for cell in cells for arm, text in self._texts.items()]
        )
        row = self.optimization
        with self.database.write() as connection:
            prompts.find(connection, row.account_id, row.prompt_id, lock=True)
            self.check_lease(connection)
            end(connection, self._deployment, measured(connection, row.id), now=clock.now())

    def _cells(self) -> list[SimulatedCell]:
        with self.database.read() as connection:
            rows = runs.cells(connection, self.optimization.id, stage=STAGE)
        return [SimulatedCell.from_row(row) for row in rows]

    def _fill(self) -> list[SimulatedCell]:
        """Choose the personas and scenarios of the cells once, and store them."""
        row = self.optimization
        with self.database.read() as connection:
            personas = all_personas(connection, row.account_id, before=row.created_at)
        scenarios = self._scenarios(personas)
        plan = plan_cells(personas, random.Random(f"{row.seed} {STAGE} personas"), scenarios=len(scenarios))
        cells = [
            SimulatedCell(number, 1, STAGE, persona, scenarios[at])
            for number, (at, persona) in enumerate(plan, start=FIRST_CELL)
        ]
        rows = [cell.to_row(row, number=at) for cell, (at, _) in zip(cells, plan, strict=True)]
        with self.transaction() as connection:
            Rows(connection).insert(*rows)
        return cells

    def _scenarios(self, personas: Sequence[SimulatedPersona]) -> list[Scenario]:
        """Return scenarios that were not used to choose the winner: real ones, then the model's.

        Scenarios that were used are the last resort. Real ones are used unchanged, failed or not: the test
        looks for possible regressions.
        """
        row = self.optimization
        with self.database.read() as connection:
            cells = [
                SimulatedCell.from_row(one) for one in runs.cells(connection, row.id) if one.stage != STAGE
            ]
            logged = optimizations.logged(connection, row.account_id, row.prompt_id, before=row.created_at)
        used = [cell.scenario for cell in cells]
        order = weighted_order([(one.id, 1.0) for one in logged], random.Random(f"{row.seed} {STAGE} pool"))
        found = [one for _, one in self.logged_scenarios(order, used=used, count=SCENARIOS)]
        missing = SCENARIOS - len(found)
        if not missing:
            return found
        rng = random.Random(f"{row.seed} {STAGE} scenarios")
        shown = rng.sample(list(personas), min(PERSONAS_SHOWN, len(personas)))
        try:
            written = self.written_scenarios(missing, used=[*used, *found], personas=shown, seed=row.seed)
        except ScenariosFailed as error:
            written = error.scenarios
        found += written
        known: dict[str, Scenario] = {}
        for one in used:
            known.setdefault(opening_key(one.opening), one)
        return found + list(known.values())[: SCENARIOS - len(found)]


def measured(connection: Connection, optimization_id: str, *, stopped: str | None = None) -> Summary:
    """Summarize the conversations that ended so far."""
    cells = runs.cells(connection, optimization_id, stage=STAGE)
    names = {row.scenario["number"]: row.scenario["title"] for row in cells}
    held = runs.outcomes(connection, optimization_id, stage=STAGE)
    return summarize(
        [names[at] for at in sorted(names)],
        {row.number: row.scenario["number"] for row in cells},
        held,
        stopped=stopped,
    )


def end(connection: Connection, deployment: DeploymentRow, summary: Summary, *, now: int) -> None:
    """Store the result of a test that this process still leases, and deploy or reject the variant."""
    prompt = prompts.find(connection, deployment.account_id, deployment.prompt_id, lock=True)
    deployment = deployments.get(connection, deployment.id)
    if prompt is None or deployment.state != "testing":
        return
    values = {"regression": summary.test, "worker": None}
    optimization = optimizations.get(connection, deployment.optimization_id)
    variant = next(
        one for one in optimizations.variants(connection, optimization.id) if one.id == deployment.variant_id
    )
    if summary.pooled is not None:
        dropped = summary.test.pairs.dropped if summary.test.pairs else None
        keep_regression_lift(connection, optimization, variant, summary.pooled, dropped=dropped or 0)
    _emit(connection, deployment, optimization, summary.test, now=now)
    if not summary.test.passed:
        deployments.change(connection, deployment, now=now, state="rejected", reason=summary.reason, **values)
        return
    live = LivePrompt(connection, prompt, now=now)
    live.go_live(optimization, variant, origin="auto", waiting=deployment, **values)


def _emit(
    connection: Connection,
    deployment: DeploymentRow,
    optimization: OptimizationRow,
    test: RegressionTest,
    *,
    now: int,
) -> None:
    payload = RegressionTestCompleted(
        optimization_id=deployment.optimization_id,
        prompt_id=deployment.prompt_id,
        variant_id=deployment.variant_id,
        passed=test.passed,
        summary=test.summary,
        scenarios=[
            RegressionScenario(name=one.name, passed=one.passed, delta=one.delta) for one in test.scenarios
        ],
        **expected_of(optimization, deployment.variant_id),
    )
    subject = deployment.account_id, deployment.optimization_id
    events.add(connection, "regression_test.completed", *subject, payload, now=now)


class RegressionTests(SimulationRuns):
    """Run regression tests; see ``SimulationRuns``."""

    name = "regression test"
    threads = TESTS_AT_A_TIME
    kept_in = deployments.LEASES

    def open(self, row_id: str) -> RegressionRun:
        """Return the run of a test. A rehearsal is never tested: its winner is not deployed automatically."""
        with self.database.read() as connection:
            deployment = deployments.get(connection, row_id)
            optimization = optimizations.get(connection, deployment.optimization_id)
        tasks = self.models.tasks(rehearsal=False, seed=optimization.seed)
        return RegressionRun(self, tasks, optimization, deployment)

    def fail(self, row_id: str, reason: str) -> None:
        """Reject a winner that could not be tested."""
        with self.database.write() as connection:
            if self.leases.held(connection, self.worker, [row_id]):
                row = deployments.get(connection, row_id)
                stopped = f"The regression test could not be finished: {storable_text(reason)}"
                summary = measured(connection, row.optimization_id, stopped=stopped)
                end(connection, row, summary, now=clock.now())
