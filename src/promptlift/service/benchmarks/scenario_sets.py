"""Scenario sets: fixed scenarios with their personas, chosen once and stored as immutable versions."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from promptlift.schema import endpoints
from promptlift.schema.benchmarks import SCENARIOS_DEFAULT, FixedScenario, ScenarioSet
from promptlift.schema.model import Page
from promptlift.schema.simulations import SimulationPersona
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.errors import invalid, not_found
from promptlift.service.identifiers import new_id
from promptlift.service.simulations.personas import SimulatedPersona, all_personas, draw
from promptlift.service.simulations.run import SimulatedCell
from promptlift.service.simulations.scenarios import weighted_order
from promptlift.service.simulations.tasks import Scenario  # noqa: TC001 - pydantic reads it
from promptlift.service.store import conversations, optimizations, prompts, runs
from promptlift.service.store.rows import Rows, newest
from promptlift.service.store.tables.runs import ScenarioSetRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.benchmarks import ScenarioSetRequest
    from promptlift.schema.queries import PageQuery, VersionQuery
    from promptlift.service.simulations.run import SimulationRun
    from promptlift.service.simulations.tasks import PromptText
    from promptlift.service.store.accounts import Caller

STAGE = "benchmark"


@dataclass(frozen=True, slots=True)
class FixedCell:
    """A scenario of a set with its persona.

    Attributes
    ----------
    conversation_id
        The logged conversation that it was taken from; ``None`` if a model wrote it.
    """

    persona: SimulatedPersona
    scenario: Scenario
    conversation_id: str | None

    def to_cell(self, number: int) -> SimulatedCell:
        """Convert to a cell of a run."""
        return SimulatedCell(number, 1, STAGE, self.persona, self.scenario)


_CELLS: Final = TypeAdapter(list[FixedCell])


def cells_of(row: ScenarioSetRow) -> list[FixedCell]:
    """Read the scenarios of a set; empty before they are chosen."""
    return _CELLS.validate_python(row.cells or [])


def to_state(cells: list[FixedCell]) -> list[dict[str, Any]]:
    """Return scenarios in their stored form; see `cells_of`."""
    state: list[dict[str, Any]] = _CELLS.dump_python(cells)
    return state


def resolve(
    connection: Connection, caller: Caller, wanted: ScenarioSetRequest | None, prompt_id: str
) -> ScenarioSetRow:
    """Return the set that a request specifies: an existing one, or a new one whose scenarios are chosen later.

    Parameters
    ----------
    prompt_id
        Prompt for the scenarios of a new set unless the request specifies one.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` under ``scenarioSet``.
    """
    if wanted is not None and wanted.id is not None:
        return _existing(connection, caller, wanted)
    row = _new(caller, set_id=new_id("set"), version=1, prompt_id=prompt_id)
    row.source = (wanted and wanted.source) or "both"
    row.size = (wanted and wanted.count) or SCENARIOS_DEFAULT
    if wanted is not None:
        if wanted.version is not None:
            raise invalid({"scenarioSet.version": "needs the id of a set"})
        row.prompt_id = wanted.linked_id or prompt_id
        _name_conversations(connection, row, wanted)
    prompt = prompts.find(connection, caller.account_id, row.prompt_id)
    if prompt is None:
        raise invalid({"scenarioSet.promptId": "no such prompt"})
    row.name = (wanted and wanted.name) or f"Scenarios of {prompt.name}"[:200]
    Rows(connection).insert(row)
    return row


def _new(caller: Caller, **values: Any) -> ScenarioSetRow:
    return ScenarioSetRow(id=new_id("scv"), account_id=caller.account_id, created_at=clock.moment(), **values)


def _name_conversations(connection: Connection, row: ScenarioSetRow, wanted: ScenarioSetRequest) -> None:
    """Set the conversations of a set to those in the request, if any."""
    if wanted.conversation_ids is None:
        return
    if wanted.source not in (None, "conversations"):
        raise invalid(
            {"scenarioSet.source": "must be conversations, or absent, where conversationIds is given"}
        )
    ids = list(dict.fromkeys(wanted.conversation_ids))
    problems = {
        f"scenarioSet.conversationIds[{at}]": "no such conversation"
        for at, one in enumerate(wanted.conversation_ids)
        if conversations.find(connection, row.account_id, one) is None
    }
    if problems:
        raise invalid(problems)
    if wanted.count is not None and wanted.count > len(ids):
        raise invalid({"scenarioSet.count": f"must be at most {len(ids)}, the number of conversationIds"})
    row.source, row.size, row.conversation_ids = "conversations", wanted.count or len(ids), ids


def _existing(connection: Connection, caller: Caller, wanted: ScenarioSetRequest) -> ScenarioSetRow:
    assert wanted.id is not None  # noqa: S101 - the caller has looked
    row = runs.find_set(connection, caller.account_id, wanted.id, version=wanted.version)
    if row is None:
        field = "id" if wanted.version is None else "version"
        raise invalid({f"scenarioSet.{field}": "no such scenario set; GET /scenario-sets lists them"})
    if wanted.count is None:
        extra = [name for name in ("source", "conversation_ids") if getattr(wanted, name) is not None]
        if extra or wanted.linked_id:
            raise invalid(
                {"scenarioSet.id": "identifies an existing set: leave out everything but version and count"}
            )
        return row
    if wanted.count <= row.size:
        raise invalid(
            {
                "scenarioSet.count": f"must be above {row.size}, the size of the set; leave it out to use the set unchanged"
            }
        )
    if row.cells is None:
        raise invalid({"scenarioSet.id": "is still being made; wait for its first benchmark"})
    newest = runs.find_set(connection, caller.account_id, wanted.id)
    assert newest is not None  # noqa: S101 - one version was found
    grown = _new(
        caller,
        set_id=row.set_id,
        version=newest.version + 1,
        name=wanted.name or row.name,
        source=wanted.source or ("both" if row.conversation_ids else row.source),
        prompt_id=row.prompt_id,
        size=wanted.count,
        # Its existing scenarios are kept.
        grows_from=row.id,
    )
    Rows(connection).insert(grown)
    return grown


def choose(run: SimulationRun, row: ScenarioSetRow, *, prompt: PromptText) -> list[FixedCell]:
    """Choose the scenarios of a set and a persona for each: logged conversations first, then the model's.

    Logged conversations are used unchanged, failed or not, in random order: a benchmark measures arms on real
    requests.

    Raises
    ------
    ScenariosFailed, LlmUnavailable, LlmRefused
        The model did not write enough, or is unavailable.
    """
    seed: int = run.row.seed
    cells: list[FixedCell] = []
    with run.database.read() as connection:
        if row.grows_from is not None:
            cells = cells_of(runs.get_set(connection, row.grows_from))
        personas = all_personas(connection, row.account_id, before=row.created_at)
        candidates = [] if row.source == "model" else _candidates(connection, row, seed)
    taken = {one.conversation_id for one in cells}
    left = [one for one in candidates if one not in taken]
    logged = run.logged_scenarios(left, used=[one.scenario for one in cells], count=row.size - len(cells))
    found: list[tuple[Scenario, str | None]] = [(scenario, one) for one, scenario in logged]
    missing = row.size - len(cells) - len(found)
    rng = random.Random(f"{seed} {row.version} personas")
    drawn = draw(personas, row.size - len(cells), rng)
    if missing and row.source != "conversations":
        known = [*(one.scenario for one in cells), *(scenario for scenario, _ in found)]
        written = run.written_scenarios(
            missing, used=known, personas=drawn[-missing:], seed=seed, prompt=prompt
        )
        found += [(scenario, None) for scenario in written]
    return cells + [FixedCell(persona, *one) for persona, one in zip(drawn, found, strict=False)]


def _candidates(connection: Connection, row: ScenarioSetRow, seed: int) -> list[str]:
    if row.conversation_ids is not None:
        return row.conversation_ids
    logged = optimizations.logged(connection, row.account_id, row.prompt_id, before=row.created_at)
    return weighted_order([(one.id, 1.0) for one in logged], random.Random(f"{seed} pool"))


# Reading


def shown(row: ScenarioSetRow, **more: Any) -> ScenarioSet:
    """Return a version of a set in its API form."""
    return row.shown(ScenarioSet, id=row.set_id, count=row.size, **more)


@answers(endpoints.SCENARIO_SETS_LIST)
def page(call: Call[None, PageQuery]) -> Page[ScenarioSet]:
    """Return one page of the versions of scenario sets."""
    with call.read() as rows:
        found, total = rows.page(newest(ScenarioSetRow, account_id=call.account_id), call.query)
    data = [shown(row, ready=row.cells is not None) for row in found]
    return Page[ScenarioSet](data=data, pagination=call.query.of(total))


@answers(endpoints.SCENARIO_SETS_GET)
def get(call: Call[None, VersionQuery]) -> ScenarioSet:
    """Return a version of a set with its scenarios, by default the newest."""
    with call.read() as rows:
        row = runs.find_set(rows.core, call.account_id, call.id, version=call.query.version)
    if row is None:
        raise not_found("Scenario set")
    scenarios = [
        FixedScenario(
            number=number,
            **asdict(one.scenario),
            persona=SimulationPersona(id=one.persona.id, name=one.persona.name),
            conversation_id=one.conversation_id,
        )
        for number, one in enumerate(cells_of(row), start=1)
    ]
    return shown(row, ready=row.cells is not None, scenarios=scenarios)
