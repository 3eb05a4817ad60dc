"""Regression tests in the background, with a real endpoint on loopback."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from promptlift.schema.prompts import PromptUpdate
from promptlift.service.actions import prompts
from promptlift.service.background.worker import Worker
from promptlift.service.deployments import regression_test
from promptlift.service.deployments.regression_run import RegressionTests
from promptlift.service.llm.client import ChatClient
from promptlift.service.models import Models
from promptlift.service.simulations.pool import SimulationPool
from promptlift.service.store import runs
from promptlift.service.store.rows import Rows
from promptlift.service.store.tables import metadata, usage_counters
from promptlift.service.store.tables.runs import CellRow
from support.answering_model import AnsweringModel, share
from support.deployed import ORIGINAL, TESTED, TEXTS
from support.service_process import wait_until
from support.stub_endpoint import Say, StubEndpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

optimizations = metadata.tables["optimizations"]
simulation_rows = metadata.tables["simulations"]

pytestmark = pytest.mark.slow

PAIRS = 60
CONVERSATIONS = 2 * PAIRS


class Talkers(AnsweringModel):
    """Solves tasks with a rate that the text of the prompt sets, and judges them rightly."""

    def __init__(self) -> None:
        super().__init__()
        self.rates = {ORIGINAL: 0.7, TEXTS[1]: 0.75}
        self._talks: Counter[tuple[str, str]] = Counter()
        self.endpoint = StubEndpoint(self)

    def _agent(self, messages: list[dict[str, str]]) -> str:
        text, opening = messages[0]["content"], messages[1]["content"]
        # Both texts have the same luck in a matter, in whatever order the conversations come: the difference between
        # them is that of their rates, and none of it is chance.
        self._talks[text, opening] += 1
        luck = share(opening, self._talks[text, opening])
        return "It is solved." if luck < self.rates[text] else "It stays broken."

    def _persona(self, _messages: list[dict[str, str]]) -> str:
        return "Bye. [END]"


@pytest.fixture
def talkers() -> Iterator[Talkers]:
    made = Talkers()
    yield made
    made.allow()
    made.endpoint.close()


@pytest.fixture(autouse=True)
def _few_pairs(monkeypatch):
    """Five pairs for each of the twelve scenarios, in the place of fifteen."""
    monkeypatch.setattr(regression_test, "PAIRS", PAIRS)


@pytest.fixture
def start(world, talkers):
    """Start the jobs of a process."""
    with ExitStack() as ends:

        def begin(*, client=True, patience=60.0):
            chat = ChatClient(talkers.endpoint.settings) if client else None
            pool = SimulationPool(world.database, at_a_time=12)
            jobs = Worker(world.database)
            if chat is not None:
                ends.callback(chat.close)
            ends.callback(pool.close)
            ends.callback(jobs.stop)
            models = Models(chat, seconds_until_down=patience)
            jobs.start([RegressionTests(world.database, models, pool, worker=jobs.id)])

        yield begin


def ended(world, optimization_id):
    wait_until(
        lambda: world.row(optimization_id).state != "testing", what="the regression test ended", seconds=120
    )
    return world.deployment(optimization_id)


def held(world):
    """Every conversation of the test by cell and arm, as the database has it."""
    with world.database.read() as connection:
        rows = connection.execute(select(simulation_rows)).all()
    return {(row.cell, row.arm): row.id for row in rows}


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_winner_that_is_no_worse_goes_live_by_itself(world, talkers, start):
    optimization_id = world.optimization(TESTED)
    start()
    if not world.database.is_sqlite:
        # Two processes share the work and end it once.
        start()
    found = ended(world, optimization_id)
    assert (found["state"], found["origin"], found["verification"]) == ("live", "auto", "pending")
    test = found["regressionTest"]
    assert test["summary"] == {"total": 12, "passed": 12, "regressed": 0}
    assert (test["verdict"], test["pairs"]["n"]) == ("passed", PAIRS)
    assert {one["n"] for one in test["scenarios"]} == {5}
    assert world.kinds() == ["regression_test.completed", "prompt.updated"]
    (_, told), (_, updated) = world.events()
    assert (told["passed"], told["expectedPercentage"]) == (True, 12.0)
    assert updated["updateType"] == "auto_deployed"
    assert world.versions()[-1] == ("auto_deployed", TEXTS[1])
    assert len(held(world)) == CONVERSATIONS == talkers.asked["agent"] == talkers.asked["judge"]
    with world.database.read() as connection:
        row = connection.execute(select(optimizations)).one()
        tokens = select(usage_counters.c.used).where(usage_counters.c.kind == "tokens")
        used = connection.scalar(tokens)
    assert row.model_calls == len(talkers.endpoint.asked)
    assert row.tokens == used == 15 * row.model_calls


def test_a_winner_that_is_worse_is_rejected(world, talkers, start):
    talkers.rates[TEXTS[1]] = 0.3
    optimization_id = world.optimization(TESTED)
    start()
    found = ended(world, optimization_id)
    assert found["state"] == "rejected"
    assert found["regressionTest"]["verdict"] == "regressed"
    assert f"found the new version worse: over {PAIRS} pairs" in found["reason"]
    assert world.text == ORIGINAL
    assert world.kinds() == ["regression_test.completed"]
    assert world.events()[0][1]["passed"] is False
    world.apply(optimization_id)
    assert world.text == TEXTS[1]
    assert world.states(optimization_id) == ["live", "rejected"]


def test_real_conversations_come_first_and_none_of_the_choice_comes_again(world, talkers, start):
    world.log(8, at=world.started)
    optimization_id = world.optimization(TESTED)
    with world.database.write() as connection:
        scenario = {"title": "t", "opening": "question 3", "goal": "g", "source": "conversation"}
        persona = {"id": "per_x", "name": "n", "description": "d"}
        cell = CellRow(
            account_id=world.account,
            optimization_id=optimization_id,
            number=0,
            pass_number=1,
            stage="screen",
            persona=persona,
            scenario=scenario,
        )
        Rows(connection).insert(cell)
    start()
    wait_until(lambda: held(world), what="the scenarios are chosen")
    with world.database.read() as connection:
        cells = runs.cells(connection, optimization_id, stage="regression")
    scenarios = {row.scenario["number"]: row.scenario for row in cells}
    assert Counter(one["source"] for one in scenarios.values()) == {"conversation": 7, "model": 5}
    openings = {one["opening"] for one in scenarios.values()}
    assert len(openings) == 12
    assert {f"question {n}" for n in range(8) if n != 3} <= openings
    assert "question 3" not in openings


def test_a_dead_endpoint_rejects_with_its_reason(world, talkers, start):
    optimization_id = world.optimization(TESTED)
    start(patience=0.5)
    wait_until(lambda: len(held(world)) > 30, what="the test is under way")
    talkers.fault = lambda _asked: Say({"error": {"message": "try later"}}, status=503)
    found = ended(world, optimization_id)
    assert found["state"] == "rejected"
    assert found["regressionTest"]["pairs"]["n"] > 0
    assert found["reason"].startswith("The regression test could not be finished: ")
    assert world.text == ORIGINAL
    ((kind, told),) = world.events()
    assert (kind, told["passed"], told["summary"]["regressed"]) == ("regression_test.completed", False, 0)


def test_without_an_endpoint_nothing_is_tested(world, start):
    optimization_id = world.optimization(TESTED)
    start(client=False)
    found = ended(world, optimization_id)
    assert found["state"] == "rejected"
    assert "No language model is configured" in found["reason"]
    assert world.text == ORIGINAL


def test_an_edit_ends_the_test_and_its_calls(world, talkers, start):
    optimization_id = world.optimization(TESTED)
    start()
    wait_until(lambda: len(held(world)) > 20, what="the test is under way")
    talkers.hold()
    body = PromptUpdate(content="Mine.")
    world.ask(prompts.update, world.prompt_id, body)
    wait_until(
        lambda: not any(one.name.startswith("regression-") for one in threading.enumerate()),
        what="nobody waits for the model",
        seconds=20,
    )
    count = len(held(world))
    talkers.allow()
    assert world.deployment(optimization_id)["state"] == "rejected"
    assert world.text == "Mine."
    assert world.kinds() == ["prompt.updated"]
    assert len(held(world)) == count
