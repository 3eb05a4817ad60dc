"""Workers in processes of their own on PostgreSQL, beside a service that does no background work."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from sqlalchemy import func, select

import promptlift
from benchmarks.prompt_world.model import PURPOSE, WorldModel
from benchmarks.prompt_world.world import draw_world
from promptlift.service import clock
from promptlift.service.store import accounts, optimizations, runs
from promptlift.service.store.database import Database
from promptlift.service.store.tables import conversations, events, insights, metadata
from support.answering_model import AnsweringModel, serving
from support.databases import is_lock_awaited
from support.optimizing_caller import Caller
from support.searching import SMALL, world_prompt
from support.service_process import clean_environment, wait_until
from support.worker_process import WorkerProcess

workers = metadata.tables["workers"]

pytestmark = pytest.mark.slow

CONVERSATIONS = 200
OPTIMIZATION = {"mode": "validation", "variantCount": 2, "seed": 11}
LEASE = {"PROMPTLIFT_LEASE_SECONDS": "1.5"}


@pytest.fixture
def database(postgres_url):
    opened = Database(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    yield opened
    opened.close()


@pytest.fixture
def start_worker(postgres_url, tmp_path):
    """Start workers on the database of the test; they end with it."""
    numbers = itertools.count(1)
    with ExitStack() as ends:

        def start(env=LEASE):
            made = WorkerProcess(postgres_url, tmp_path / f"worker-{next(numbers)}.log", env)
            ends.callback(lambda: made.process and made.kill())
            return made.start()

        yield start


def log(service, prompt_id, count=CONVERSATIONS):
    contents = [f"User: Where is parcel {n}?\nAssistant: It is solved: tomorrow." for n in range(count)]
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        assert lift.log([{"content": one} for one in contents], prompt_id=prompt_id).logged == count


def judged(database):
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(insights))


def counts_of_events(database, kind):
    """How many events of a kind there are, and of how many conversations."""
    subject = events.c.subject_id
    with database.read() as connection:
        statement = select(func.count(), func.count(subject.distinct())).where(events.c.type == kind)
        return tuple(connection.execute(statement).one())


def optimize(caller):
    caller.settings(maxIterations=4, personaCount=3, scenariosPerSimulation=2, maxTurns=1)
    return caller.start(caller.prompt(), **OPTIMIZATION)["id"]


def test_a_worker_that_ends_in_order_releases_its_work_at_once(
    start_service, start_worker, postgres_url, database
):
    model = AnsweringModel(delay=0.5)
    with serving(model) as env:
        service = start_service(database=postgres_url, env=env, options=["--no-worker"])
        caller = Caller(service)
        log(service, caller.prompt(), 60)
        caller.close()
        # Its lease would hold for an hour.
        first = start_worker({**env, "PROMPTLIFT_LEASE_SECONDS": "3600"})
        wait_until(lambda: judged(database) > 0, what="it judges")
        assert first.stop() == 0
        with database.read() as connection:
            assert list(connection.scalars(select(workers.c.id))) == []
            assert set(connection.scalars(select(conversations.c.judging))) == {"done", "pending"}
            assert set(connection.scalars(select(conversations.c.judge_attempts))) == {0}
        model.delay = 0.0
        start_worker(env)
        wait_until(lambda: judged(database) == 60, what="another one goes on")
    assert counts_of_events(database, "insights.generated") == (60, 60)


class MuteAssistant(WorldModel):
    """Plays no assistant: those calls hang."""

    def __init__(self, world):
        super().__init__(world)
        self.gate = threading.Event()
        self.held = []

    def __call__(self, asked):
        say = super().__call__(asked)
        if asked.headers.get(PURPOSE) == "agent":
            self.held.append(asked)
            say.hang = self.gate
        return say


def test_a_stop_ends_the_calls_of_a_search_in_another_process(start_service, start_worker, postgres_url):
    model = MuteAssistant(draw_world("additive", 3))
    with serving(model) as env:
        service = start_service(database=postgres_url, env=env, options=["--no-worker"])
        start_worker(env)
        caller = Caller(service)
        caller.settings(**SMALL)
        optimization_id = caller.start(world_prompt(caller, model.world), variantCount=3)["id"]
        wait_until(lambda: model.held, what="a conversation is under way")
        assert model.asked["reflection"] > 0
        assert caller.ask("POST", f"/optimizations/{optimization_id}/stop")["status"] == "stopped"
        # The endpoint itself would let go of them after thirty seconds only.
        wait_until(lambda: all(one.ended for one in model.held), what="the calls that hang end", seconds=20)
        assert not model.gate.is_set()
        caller.close()


def test_a_stop_lets_a_worker_keep_what_it_is_keeping(start_service, postgres_url, database):
    with serving(AnsweringModel()) as env, ThreadPoolExecutor(1) as requests:
        caller = Caller(start_service(database=postgres_url, env=env, options=["--no-worker"]))
        optimization_id = optimize(caller)
        with database.read() as connection:
            account_id = optimizations.get(connection, optimization_id).account_id
        # A worker has the row of the run, and adds rows of the account.
        with database.write() as connection:
            runs.change(connection, optimizations.get(connection, optimization_id), model_calls=1)
            stop = requests.submit(caller.ask, "POST", f"/optimizations/{optimization_id}/stop")
            wait_until(lambda: is_lock_awaited(database), what="the stop waits for the row")
            accounts.add_usage(connection, account_id, "tokens", 15, now=clock.now())
        assert stop.result()["status"] == "stopped"
        found = caller.get(optimization_id)
        assert (found["status"], found["usage"]["modelCalls"]) == ("stopped", 1)
        assert caller.usage()["tokens"]["used"] == 15
        caller.close()


def test_a_service_that_leaves_the_work_to_others_says_why_it_waits(
    start_service, start_worker, postgres_url
):
    # A port that nobody listens on.
    env = {"PROMPTLIFT_LLM_BASE_URL": "http://127.0.0.1:9/v1", "PROMPTLIFT_LLM_MODEL": "gone", **LEASE}
    service = start_service(database=postgres_url, env=env, options=["--no-worker"])
    caller = Caller(service)
    prompt_id = caller.prompt()
    log(service, prompt_id, 20)  # more than are tried before the model counts as away
    start_worker(env)

    def reasons():
        return caller.ask("GET", f"/prompts/{prompt_id}/status")["insights"]["reasons"]

    wait_until(lambda: [one for one in reasons() if one["count"] == 20], what="it says why all of them wait")
    (reason,) = reasons()
    assert "The language model did not answer" in reason["reason"]
    caller.close()


def said_by(*arguments, **env):
    done = subprocess.run(
        [sys.executable, "-m", "promptlift", *arguments],
        env=clean_environment(env),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", [["worker"], ["serve", "--no-worker", "--port", "0"]])
def test_on_sqlite_serve_does_the_work_and_nothing_else_can(command, tmp_path):
    code, said = said_by(*command, PROMPTLIFT_DATA=str(tmp_path))
    assert code == 1
    assert said.count("\n") == 1
    assert "On SQLite" in said
    assert "PROMPTLIFT_DATABASE_URL" in said
