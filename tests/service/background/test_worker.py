"""The background worker: it claims due rows, ends or releases them, and lets go of what was taken away."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy.exc import OperationalError

from promptlift.errors import PromptliftError
from promptlift.service.background import worker as worker_module
from promptlift.service.background.kind import Kind, SingletonJob
from promptlift.service.background.runs import Runs
from promptlift.service.background.worker import Worker
from promptlift.service.store import optimizations
from promptlift.service.store import runs as rows
from promptlift.service.store.leases import announce
from promptlift.service.store.tables.runs import OptimizationRow
from support.databases import migrated
from support.deployed import World
from support.service_process import wait_until


@pytest.fixture
def world(request):
    with migrated(getattr(request, "param", "sqlite"), request) as database:
        yield World(database)


@pytest.fixture
def runs(world):
    """Start a worker on some kinds."""
    started = []

    def begin(*kinds):
        made = Worker(world.database, lease_seconds=15.0)
        started.append(made)
        made.start(kinds)
        return made

    yield begin
    for one in started:
        one.stop()


def running(world):
    return world.optimization(status="running", winner=None)


def lease(world, row_id):
    with world.database.read() as connection:
        return optimizations.get(connection, row_id)


def end(world, row_id):
    with world.database.write() as connection:
        rows.change(connection, optimizations.get(connection, row_id), status="stopped")


class Batches(Kind):
    """A kind as short as a new one is: rows in chunks, two at a time."""

    name = "batches"
    chunk = 2
    threads = 2

    def __init__(self, world, work=lambda _ids: None) -> None:
        super().__init__()
        self.leases = optimizations.LEASES
        self.world = world
        self.do = work
        self.worked: list[list[str]] = []

    def work(self, ids):
        self.worked.append(list(ids))
        self.do(ids)
        for row_id in ids:
            end(self.world, row_id)


@pytest.mark.slow
def test_neither_a_defect_nor_the_database_ends_the_worker(world, runs, monkeypatch):
    monkeypatch.setattr(worker_module, "RETRY_SECONDS", 0.1)
    failures = [KeyError("x"), OperationalError("update", {}, Exception("disk is full"))]

    def work(_ids):
        if failures:
            raise failures.pop()

    row_id = running(world)
    kind = Batches(world, work)
    runs(kind)
    wait_until(lambda: lease(world, row_id).status == "stopped", what="it was worked on in the end")
    assert kind.worked == [[row_id]] * 3


class Troubled(Runs):
    """Runs that the database keeps from being opened, and then something else."""

    name = "troubled"

    def __init__(self, world, error) -> None:
        super().__init__(optimizations.LEASES, world.database, worker="")
        self.world = world
        self.errors = [OperationalError("update", {}, Exception("disk is full")), error]
        self.reasons = []

    def open(self, _row_id):
        raise self.errors.pop(0)

    def fail(self, row_id, reason):
        end(self.world, row_id)
        self.reasons.append(reason)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PromptliftError("The model is gone."), "The model is gone."),
        (KeyError("x"), "A defect of the service: KeyError: 'x'"),
    ],
)
def test_an_error_ends_a_run_with_its_reason_and_a_database_that_is_away_ends_none(
    world, runs, monkeypatch, error, reason
):
    monkeypatch.setattr(worker_module, "RETRY_SECONDS", 0.1)
    row_id = running(world)
    kind = Troubled(world, error)
    runs(kind)
    wait_until(lambda: lease(world, row_id).status == "stopped", what="it was tried again, and ended")
    assert (kind.errors, kind.reasons) == ([], [reason])


class Forgetful(Batches):
    """Work that comes to its end the second time only; the first time it waits until it may go on."""

    def __init__(self, world) -> None:
        super().__init__(world)
        self.begun, self.go_on = threading.Event(), threading.Event()

    def work(self, ids):
        self.worked.append(list(ids))
        if len(self.worked) > 1:
            end(self.world, ids[0])
            return
        self.begun.set()
        assert self.go_on.wait(20)


def test_a_row_that_comes_back_while_it_is_worked_on_is_worked_on_again(world, runs):
    """As a conversation for which insights are asked again while it is judged."""
    row_id = running(world)
    kind = Forgetful(world)
    worker = runs(kind)
    assert kind.begun.wait(20)
    with world.database.write() as connection:
        rows.change(connection, optimizations.get(connection, row_id), worker=None)
        announce(connection, OptimizationRow)
    wait_until(lambda: lease(world, row_id).worker == worker.id, what="it was claimed again")
    assert kind.worked == [[row_id]]  # not twice at the same time
    kind.go_on.set()
    wait_until(lambda: lease(world, row_id).status == "stopped", what="it was worked on again")
    assert kind.worked == [[row_id]] * 2


class Claiming:
    """Leases that let something happen while rows are claimed."""

    def __init__(self, leases, meanwhile) -> None:
        self._leases, self._meanwhile = leases, meanwhile

    def __getattr__(self, name):
        return getattr(self._leases, name)

    def claim(self, *args, **options):
        ids = self._leases.claim(*args, **options)
        self._meanwhile()
        return ids


def test_a_row_whose_work_ends_while_it_is_claimed_again_is_worked_on_again(world, runs):
    """As a webhook that was released after a turn, and has the next event already."""

    def let_it_end():
        if kind.begun.is_set():
            kind.go_on.set()
            wait_until(
                lambda: not any(one.name.startswith(kind.name) for one in threading.enumerate()),
                what="the first work ends",
            )

    row_id = running(world)
    kind = Forgetful(world)
    kind.leases = Claiming(kind.leases, let_it_end)
    runs(kind)
    assert kind.begun.wait(20)
    with world.database.write() as connection:
        rows.change(connection, optimizations.get(connection, row_id), worker=None)
        announce(connection, OptimizationRow)
    wait_until(lambda: lease(world, row_id).status == "stopped", what="it was worked on again")
    assert kind.worked == [[row_id]] * 2


def test_a_singleton_job_goes_on_after_a_failure_and_is_done_by_one_worker(world, runs):
    done = []
    doing = threading.Lock()

    def step():
        done.append(doing.acquire(blocking=False))
        try:
            if len(done) == 1:
                raise KeyError("x")
            if len(done) == 2:
                raise OperationalError("select", {}, Exception("disk is full"))
        finally:
            doing.release()

    for _ in range(2):
        runs(SingletonJob("clean_up", step, every_seconds=0.01))
    wait_until(lambda: len(done) >= 20, what="it was done again")
    assert all(done), "two workers did it at once"
