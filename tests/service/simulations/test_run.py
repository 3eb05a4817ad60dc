from __future__ import annotations

from types import SimpleNamespace

import pytest

from promptlift.errors import PromptliftError
from promptlift.service.background.runs import LeaseLost
from promptlift.service.insights.judge import JudgeFailed
from promptlift.service.simulations.personas import library
from promptlift.service.simulations.pool import SimulationPool
from promptlift.service.simulations.run import SimulatedCell, SimulatedConversation, SimulationRun
from promptlift.service.simulations.tasks import AssistantMessage, PersonaMessage, PromptText, Scenario
from promptlift.service.store import optimizations, runs
from support.databases import migrated
from support.deployed import World

SCENARIO = Scenario("Late", "Where is it?", "Know the day.", "model")
TALK = SimulatedConversation(SimulatedCell(1, 1, "screening", library()[0], SCENARIO), 0, "text")


class Counting(SimulationRun):
    """Counts into the row of an optimization, and does what a test says."""

    work = staticmethod(lambda _: None)

    def carry_on(self):
        self.work(self)


class Tasks:
    """Answers at once; no conversation can be judged, so each is kept as dropped."""

    def __init__(self) -> None:
        self.calls = self.tokens = self.judged = 0
        self.model = self

    def answer_as_assistant(self, **_):
        return AssistantMessage("Tomorrow.")

    def speak_as_persona(self, **_):
        return PersonaMessage("", is_last=True)

    def judge(self, *_, **__):
        self.judged += 1
        raise JudgeFailed("cannot be judged")


@pytest.fixture
def world(request):
    with migrated("sqlite", request) as database:
        yield World(database)


@pytest.fixture
def run(world):
    row_id = world.optimization(status="running", winner=None)
    with world.database.write() as connection:
        runs.change(connection, optimizations.get(connection, row_id), worker="me")
        row = optimizations.get(connection, row_id)
    pool = SimulationPool(world.database, at_a_time=2)
    kind = SimpleNamespace(database=world.database, pool=pool, worker="me")
    yield Counting(kind, Tasks(), row, PromptText("You help."))
    pool.close()


def counted(run):
    with run.database.read() as connection:
        row = optimizations.get(connection, run.row.id)
    return row.model_calls, row.tokens


def test_calls_are_counted_once_and_only_with_the_lease(run):
    run.tasks.calls, run.tasks.tokens = 3, 45
    for _ in range(2):
        with run.transaction():
            pass
    assert counted(run) == (3, 45)
    run.tasks.calls = 4
    run.worker = "another"
    with pytest.raises(LeaseLost), run.transaction():
        pytest.fail("nothing may be written without the lease")
    assert counted(run) == (3, 45)


def test_the_calls_of_a_run_that_fails_are_counted(run):
    def fail(run):
        run.tasks.calls, run.tasks.tokens = 2, 30
        raise PromptliftError("no variant")

    run.work = fail
    with pytest.raises(PromptliftError, match="no variant"):
        run.to_its_end()
    assert counted(run) == (2, 30)
