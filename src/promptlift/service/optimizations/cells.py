"""Choose the personas and scenarios of an optimization's cells: once, and no scenario twice."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, TypeAlias

from promptlift.service.optimizations.terms import Terms
from promptlift.service.simulations.personas import all_personas, draw, named
from promptlift.service.simulations.run import SimulatedCell
from promptlift.service.store import runs
from promptlift.service.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from promptlift.service.simulations.personas import SimulatedPersona
    from promptlift.service.simulations.run import SimulationRun
    from promptlift.service.simulations.tasks import Scenario
    from promptlift.service.store.tables.runs import OptimizationRow
    from promptlift.stats.passes import Pass

# With the stored state of each: how much of the pool is used up after it, its conversation, and the weight of
# that.
_Scenarios: TypeAlias = "list[tuple[Scenario, dict[str, Any]]]"


class RunCells:
    """The cells of one run.

    Scenarios come from logged conversations first, in the order of the run's pool, then from the model. A search has some
    of these conversations, and the decision the others.
    Personas are drawn anew for every pass, or from a fixed panel.

    Parameters
    ----------
    run
        The run that the cells belong to; its tasks write scenarios.
    row
        The optimization, with its pool.
    """

    def __init__(self, run: SimulationRun, row: OptimizationRow) -> None:
        self._run = run
        self._row = row
        drawn = row.pool or []
        self._pool = [conversation_id for conversation_id, _ in drawn]
        self._weights = dict(drawn)
        self._pool_used = 0
        self._cells: dict[int, SimulatedCell] = {}
        # Scenarios of the next pass, by its number.
        self._ahead: dict[int, Future[_Scenarios]] = {}
        self._read: frozenset[str] = frozenset(row.search["read"] if row.search else ())
        with run.database.read() as connection:
            for kept in runs.cells(connection, row.id):
                self._add(SimulatedCell.from_row(kept), kept.scenario)

    def _add(self, cell: SimulatedCell, details: dict[str, Any]) -> None:
        self._cells[cell.number] = cell
        self._pool_used = max(self._pool_used, details["pool"])

    def of(self, step: Pass) -> dict[int, SimulatedCell]:
        """Return the cells of a pass, by its number."""
        if step.cells[0].number not in self._cells:
            self._fill(step)
        return {planned.number: self._cells[planned.number] for planned in step.cells}

    def look_ahead(self, step: Pass) -> None:
        """Start choosing the next pass's scenarios while this one is simulated: they do not depend on its outcomes."""
        number = step.number + 1
        if number not in self._ahead:
            draws = list(dict.fromkeys(cell.persona for cell in step.cells))
            work = self._run.pool.submit(lambda: self._scenarios(step, self._drawn(number, draws)))
            self._ahead[number] = work

    def _fill(self, step: Pass) -> None:
        numbers = list(dict.fromkeys(cell.persona for cell in step.cells))
        drawn = dict(zip(numbers, self._drawn(step.number, numbers), strict=True))
        ahead = self._ahead.pop(step.number, None)
        # The run itself retries a failure once, and reports why it cannot continue.
        if ahead is not None and ahead.exception() is None:
            scenarios = ahead.result()
        else:
            scenarios = self._scenarios(step, list(drawn.values()))
        chosen = [
            (
                SimulatedCell(planned.number, step.number, step.stage, drawn[planned.persona], scenario),
                details,
            )
            for planned, (scenario, details) in zip(step.cells, scenarios, strict=True)
        ]
        with self._run.transaction() as connection:
            Rows(connection).insert(*(cell.to_row(self._row, **details) for cell, details in chosen))
        for cell, details in chosen:
            self._add(cell, details)

    def _drawn(self, pass_number: int, numbers: Sequence[int]) -> list[SimulatedPersona]:
        row = self._row
        with self._run.database.read() as connection:
            if ids := Terms(row).panel:
                panel = named(connection, row.account_id, ids, before=row.created_at)
                return [panel[ids[number % len(ids)]] for number in numbers]
            personas = all_personas(connection, row.account_id, before=row.created_at)
        return draw(personas, len(numbers), random.Random(f"{row.seed} personas {pass_number}"))

    def _scenarios(self, step: Pass, personas: Sequence[SimulatedPersona]) -> _Scenarios:
        """Choose unused scenarios: logged ones, then the model's."""
        count = len(step.cells)
        used = [cell.scenario for cell in self._cells.values()]
        place = {conversation_id: at for at, conversation_id in enumerate(self._pool, start=1)}
        searching = bool(self._read) and step.stage == "screen"
        left = [one for one in self._pool[self._pool_used :] if (one in self._read) == searching]
        found: _Scenarios = [
            (scenario, {"pool": place[one], "conversationId": one, "weight": self._weights[one]})
            for one, scenario in self._run.logged_scenarios(left, used=used, count=count)
        ]
        if len(found) < count:
            written = self._run.written_scenarios(
                count - len(found),
                used=[*used, *(scenario for scenario, _ in found)],
                personas=personas,
                seed=self._row.seed + len(used),
            )
            found += [(scenario, {"pool": len(self._pool)}) for scenario in written]
        return found
