"""The personas and scenarios of an optimization's cells: chosen once, kept, and never used twice."""

from __future__ import annotations

import random
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import orjson

from promptlift.service.simulations import run_personas
from promptlift.service.simulations.personas import Persona, draw
from promptlift.service.simulations.scenarios import Scenario, from_conversation, opening_key, write_scenarios
from promptlift.service.store import conversations, simulations

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptlift.service.simulations.pool import Run
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow
    from promptlift.stats.passes import Pass

__all__ = ["RunCells"]

_Scenarios = list[dict[str, Any]]


class RunCells:
    """The cells of one run.

    Scenarios are those of logged conversations first, in the order of the run's pool, and the model's when there are
    no more. Personas are newly drawn for every pass, or a fixed panel.

    Parameters
    ----------
    run
        The run that the cells belong to; its tasks write scenarios.
    row
        The optimization, with its pool.
    """

    def __init__(self, database: Database, run: Run, row: AnyRow) -> None:
        self._database = database
        self._run = run
        self._row = row
        self._pool: list[str] = orjson.loads(row.pool or "[]")
        self._used: _Scenarios = []
        self._openings: set[str] = set()
        self._chosen: dict[int, tuple[Persona, Scenario]] = {}
        self._ahead: Future[_Scenarios] | None = None
        self._ahead_of = 0
        with database.read() as connection:
            for kept in simulations.cells(connection, row.id):
                self._take(kept.number, Persona(**orjson.loads(kept.persona)), orjson.loads(kept.scenario))

    def _take(self, number: int, persona: Persona, scenario: dict[str, Any]) -> None:
        self._used.append(scenario)
        self._openings.add(opening_key(scenario["opening"]))
        self._chosen[number] = (persona, _scenario(scenario))

    def of(self, step: Pass) -> dict[int, tuple[Persona, Scenario]]:
        """Return the persona and the scenario of each cell of a pass."""
        if step.cells[0].number not in self._chosen:
            self._fill(step)
        return {cell.number: self._chosen[cell.number] for cell in step.cells}

    def look_ahead(self, step: Pass) -> None:
        """Begin to choose the next pass's scenarios while this one is held: they do not depend on its outcomes."""
        if self._ahead is not None:
            return
        cells, draws = len(step.cells), len({cell.persona for cell in step.cells})
        self._ahead = Future()
        self._ahead_of = step.number + 1

        def choose() -> _Scenarios:
            return self._scenarios(cells, self._drawn(step.number + 1, draws))

        threading.Thread(
            target=_fulfil, args=(self._ahead, choose), name="scenarios-ahead", daemon=True
        ).start()

    def _chosen_ahead(self, step: Pass) -> _Scenarios | None:
        ahead, self._ahead = self._ahead, None
        if ahead is None:
            return None
        # What failed is tried once more by the run itself, which says why it cannot go on.
        failed = ahead.exception() is not None
        return None if failed or self._ahead_of != step.number else ahead.result()

    def _fill(self, step: Pass) -> None:
        numbers = list(dict.fromkeys(cell.persona for cell in step.cells))
        drawn = dict(zip(numbers, self._drawn(step.number, len(numbers)), strict=True))
        scenarios = self._chosen_ahead(step)
        if scenarios is None:
            scenarios = self._scenarios(len(step.cells), list(drawn.values()))
        rows = [
            {
                "account_id": self._row.account_id,
                "optimization_id": self._row.id,
                "number": cell.number,
                "pass_number": step.number,
                "stage": step.stage,
                "persona": orjson.dumps(_document(drawn[cell.persona])).decode(),
                "scenario": orjson.dumps(scenario).decode(),
            }
            for cell, scenario in zip(step.cells, scenarios, strict=True)
        ]
        with self._database.write() as connection:
            self._run.keep(connection)
            simulations.add_cells(connection, rows)
        for cell, scenario in zip(step.cells, scenarios, strict=True):
            self._take(cell.number, drawn[cell.persona], scenario)

    def _drawn(self, pass_number: int, count: int) -> list[Persona]:
        row = self._row
        with self._database.read() as connection:
            if row.persona_ids is not None:
                ids = orjson.loads(row.persona_ids)
                panel = run_personas.named(connection, row.account_id, ids, before=row.created_at)
                return [panel[one] for one in ids]
            personas = run_personas.all_personas(connection, row.account_id, before=row.created_at)
        return draw(personas, count, random.Random(f"{row.seed} personas {pass_number}"))

    def _scenarios(self, count: int, personas: Sequence[Persona]) -> _Scenarios:
        """Scenarios that were not used yet."""
        at = max((scenario["pool"] for scenario in self._used), default=0)
        known = set(self._openings)
        found: _Scenarios = []
        with self._database.read() as connection:
            while len(found) < count and at < len(self._pool):
                logged = conversations.find(connection, self._row.account_id, self._pool[at])
                at += 1
                scenario = None if logged is None else _real(logged, self._run.exclusions)
                if scenario is not None and (key := opening_key(scenario.opening)) not in known:
                    known.add(key)
                    found.append({**_document(scenario), "pool": at, "conversationId": self._pool[at - 1]})
        if len(found) < count:
            written = write_scenarios(
                self._run.tasks,
                prompt=self._run.prompt,
                count=count - len(found),
                known=[_scenario(one) for one in (*self._used, *found)],
                personas=personas,
                seed=self._row.seed + len(self._used),
            )
            found += [{**_document(one), "pool": at} for one in written.scenarios]
        return found


def _fulfil(future: Future[_Scenarios], work: Callable[[], _Scenarios]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
        future.set_exception(error)


def _real(logged: AnyRow, exclusions: str | None) -> Scenario | None:
    insights = None if logged.document is None else orjson.loads(logged.document)
    return from_conversation(logged.content.decode(), insights, exclusions=exclusions)


def _document(value: Persona | Scenario) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def _scenario(document: dict[str, Any]) -> Scenario:
    return Scenario(**{name: document[name] for name in Scenario.__slots__})
