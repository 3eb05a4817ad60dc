"""One regression test from its first cell to its verdict, in steps that each keep their rows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import orjson

from promptlift.service import clock
from promptlift.service.background.runs import LeaseLost
from promptlift.service.deployments import regression_end
from promptlift.service.deployments.regression_test import (
    FIRST_CELL,
    LIVE,
    SCENARIOS,
    Ended,
    Summary,
    plan_cells,
    summarize,
)
from promptlift.service.simulations import run_personas
from promptlift.service.simulations.personas import Persona
from promptlift.service.simulations.pool import Run, SimulatedConversation
from promptlift.service.simulations.prompt_text import PromptText
from promptlift.service.simulations.scenarios import (
    Scenario,
    ScenariosFailed,
    from_conversation,
    opening_key,
    weighted_order,
    write_scenarios,
)
from promptlift.service.store import (
    conversations,
    deployments,
    optimizations,
    prompts,
    simulations,
    usage,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.simulations.pool import SimulationPool
    from promptlift.service.simulations.tasks import SimulationTasks
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow

__all__ = ["STAGE", "RegressionRun", "measured"]

STAGE = "regression"
# Personas that are shown to whoever writes scenarios.
PERSONAS_SHOWN = 5


class RegressionRun:
    """One regression test, continued from where its rows left it.

    Parameters
    ----------
    worker
        Who has the test; every write asks whether that still holds.
    """

    def __init__(
        self,
        database: Database,
        pool: SimulationPool,
        tasks: SimulationTasks,
        *,
        deployment_id: str,
        worker: str,
    ) -> None:
        self._database = database
        self._pool = pool
        self._tasks = tasks
        self._worker = worker
        with database.read() as connection:
            self._deployment = deployments.get(connection, deployment_id)
            self._row = optimizations.get(connection, self._deployment.optimization_id)
            variants = optimizations.variants(connection, self._row.id)
            prompt = prompts.find(connection, self._row.account_id, self._row.prompt_id)
        if prompt is None:
            raise LeaseLost("The prompt was deleted.")
        self._texts = {
            one.number: one.content
            for one in variants
            if one.number == LIVE or one.id == self._deployment.variant_id
        }
        # As the prompt is run now: a deployed version runs under the prompt's present settings.
        self._prompt = PromptText(
            prompt.content, prompt.llm_model, prompt.temperature, prompt.max_tokens, prompt.objective
        )
        settings: dict[str, Any] = orjson.loads(self._row.settings)
        self._run = Run(
            optimization_id=self._row.id,
            account_id=self._row.account_id,
            prompt=self._prompt,
            tasks=tasks,
            max_turns=settings["maxTurns"],
            seed=self._row.seed,
            exclusions=settings.get("general", {}).get("excludedDataAndTopics") or None,
            hold=self._hold,
        )

    def _hold(self, connection: Connection, calls: int, tokens: int) -> bool:
        if not deployments.count_calls(connection, self._deployment, self._worker, calls, tokens):
            return False
        if tokens:
            usage.add(connection, self._row.account_id, "tokens", tokens, now=clock.now())
        return True

    def to_its_end(self) -> None:
        """Run until there is a verdict, and do what follows from it.

        Raises
        ------
        Cancelled, LeaseLost
            The test was given up or is another process's.
        PromptliftError
            It failed; the message is the reason.
        """
        cells = self._cells() or self._fill()
        with self._database.read() as connection:
            there = {(row.cell, row.arm) for row in _outcomes(connection, self._row.id)}
        todo = [
            SimulatedConversation(
                row.number,
                arm,
                row.pass_number,
                STAGE,
                text,
                Persona(**orjson.loads(row.persona)),
                _scenario(row),
            )
            for row in cells
            for arm, text in self._texts.items()
            if (row.number, arm) not in there
        ]
        if todo:
            self._pool.hold_all(self._run, todo)
        with self._database.write() as connection:
            prompts.find(connection, self._row.account_id, self._row.prompt_id, lock=True)
            self._run.keep(connection)
            regression_end.end(
                connection, self._deployment, measured(connection, self._row.id), now=clock.now()
            )

    def _cells(self) -> Sequence[AnyRow]:
        with self._database.read() as connection:
            return simulations.cells(connection, self._row.id, stage=STAGE)

    def _fill(self) -> Sequence[AnyRow]:
        """Choose the personas and scenarios of the cells once, and keep them."""
        row = self._row
        with self._database.read() as connection:
            personas = run_personas.all_personas(connection, row.account_id, before=row.created_at)
        scenarios = self._scenarios(personas)
        plan = plan_cells(personas, random.Random(f"{row.seed} {STAGE} personas"), scenarios=len(scenarios))
        rows = [
            {
                "account_id": row.account_id,
                "optimization_id": row.id,
                "number": cell.number,
                "pass_number": 1,
                "stage": STAGE,
                "persona": orjson.dumps(_document(cell.persona)).decode(),
                "scenario": orjson.dumps(
                    {**_document(scenarios[cell.scenario]), "number": cell.scenario}
                ).decode(),
            }
            for cell in plan
        ]
        with self._database.write() as connection:
            self._run.keep(connection)
            simulations.add_cells(connection, rows)
            return simulations.cells(connection, row.id, stage=STAGE)

    def _scenarios(self, personas: Sequence[Persona]) -> list[Scenario]:
        """Scenarios that did not take part in the choice of the winner: real ones, then of the model.

        Those that took part are the last resort. Real ones come as they were, failed or not: the test asks what may
        get worse.
        """
        with self._database.read() as connection:
            cells = [row for row in simulations.cells(connection, self._row.id) if row.stage != STAGE]
            used = [_scenario(row) for row in cells]
            seen = {opening_key(one.opening) for one in used}
            found = self._real(connection, seen)
        missing = SCENARIOS - len(found)
        if not missing:
            return found
        rng = random.Random(f"{self._row.seed} {STAGE} scenarios")
        shown = rng.sample(list(personas), min(PERSONAS_SHOWN, len(personas)))
        try:
            written = write_scenarios(
                self._tasks,
                prompt=self._prompt,
                count=missing,
                known=[*used, *found],
                personas=shown,
                seed=self._row.seed,
            ).scenarios
        except ScenariosFailed as error:
            written = error.scenarios
        found += written
        known: dict[str, Scenario] = {}
        for one in used:
            known.setdefault(opening_key(one.opening), one)
        return found + list(known.values())[: SCENARIOS - len(found)]

    def _real(self, connection: Connection, seen: set[str]) -> list[Scenario]:
        row = self._row
        logged = optimizations.logged(connection, row.account_id, row.prompt_id, before=row.created_at)
        order = weighted_order([(one.id, 1.0) for one in logged], random.Random(f"{row.seed} {STAGE} pool"))
        found: list[Scenario] = []
        for conversation_id in order:
            one = conversations.find(connection, row.account_id, conversation_id)
            if one is None:
                continue
            insights = None if one.document is None else orjson.loads(one.document)
            scenario = from_conversation(
                one.content.decode("utf-8", "replace"), insights, exclusions=self._run.exclusions
            )
            if scenario is not None and opening_key(scenario.opening) not in seen:
                seen.add(opening_key(scenario.opening))
                found.append(scenario)
            if len(found) == SCENARIOS:
                break
        return found


def measured(connection: Connection, optimization_id: str, *, stopped: str | None = None) -> Summary:
    """Summarize the conversations that were held so far."""
    cells = simulations.cells(connection, optimization_id, stage=STAGE)
    scenarios = [orjson.loads(row.scenario) for row in cells]
    names = {one["number"]: one["title"] for one in scenarios}
    scenario_of = {row.number: one["number"] for row, one in zip(cells, scenarios, strict=True)}
    return summarize(
        [names[at] for at in sorted(names)],
        scenario_of,
        (Ended(row.cell, row.arm, row.task_completed) for row in _outcomes(connection, optimization_id)),
        stopped=stopped,
    )


def _outcomes(connection: Connection, optimization_id: str) -> Sequence[AnyRow]:
    return simulations.of_cells(connection, optimization_id, FIRST_CELL, 2 * FIRST_CELL)


def _document(value: Persona | Scenario) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def _scenario(row: AnyRow) -> Scenario:
    document = orjson.loads(row.scenario)
    return Scenario(**{name: document[name] for name in Scenario.__slots__})
