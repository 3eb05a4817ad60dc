"""Work that lies in rows: taken up, ended, given back, and let go of when it was taken away."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import OperationalError

from promptlift.errors import PromptliftError
from promptlift.service.llm.calls import Cancelled
from promptlift.service.simulations.leased_runs import LeasedRuns
from promptlift.service.store import optimizations
from support.deployed import World, migrated
from support.service_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable


class Calls:
    """Stands for the model calls of a run: all that matters here is whether they were cancelled."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def cancel(self) -> None:
        self.cancelled.set()


@dataclass
class Recorder:
    """Does what a test says, and keeps what it was asked to do."""

    work: Callable[[Calls], None]
    no_calls: PromptliftError | None = None
    worked: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    def calls_of(self, _row_id):
        if self.no_calls is not None:
            raise self.no_calls
        return Calls()

    def work_on(self, row_id, calls):
        self.worked.append(row_id)
        self.work(calls)

    def fail(self, row_id, reason):
        self.failed.append((row_id, reason))


@pytest.fixture
def world(request, tmp_path):
    with migrated("sqlite", request, tmp_path) as database:
        yield World(database)


@pytest.fixture
def runs(world):
    """Start the runs of a kind."""
    started = []

    def begin(kind, *, at_a_time=5):
        made = LeasedRuns(
            world.database,
            optimizations.LEASES,
            name="test",
            worker="one",
            kind=kind,
            at_a_time=at_a_time,
            look_seconds=0.05,
        )
        started.append(made)
        made.start()
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
        optimizations.change(connection, row_id, {"status": "stopped"})


def test_work_is_taken_up_once_and_no_more_of_it_than_allowed(world, runs):
    ids = [running(world) for _ in range(3)]
    go_on = threading.Event()
    kind = Recorder(lambda _: go_on.wait(20))
    runs(kind, at_a_time=2)
    wait_until(lambda: len(kind.worked) == 2, what="two were taken up")
    assert kind.worked == ids[:2]
    assert lease(world, ids[0]).worker == "one"
    assert lease(world, ids[2]).worker is None
    for row_id in ids:
        end(world, row_id)  # as a run that ends leaves its row
    go_on.set()
    assert kind.failed == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PromptliftError("The model is gone."), "The model is gone."),
        (KeyError("x"), "A defect of the service: KeyError: 'x'"),
    ],
)
def test_an_error_ends_the_row_with_its_reason(world, runs, error, reason):
    def work(_calls):
        end(world, row_id)
        raise error

    row_id = running(world)
    kind = Recorder(work)
    runs(kind)
    wait_until(lambda: kind.failed, what="it failed")
    assert kind.failed == [(row_id, reason)]


def test_a_row_that_cannot_be_begun_is_ended(world, runs):
    row_id = running(world)
    kind = Recorder(lambda _: None, no_calls=PromptliftError("No endpoint."))
    runs(kind)
    wait_until(lambda: kind.failed, what="it failed")
    assert kind.failed[0] == (row_id, "No endpoint.")
    assert kind.worked == []


def test_a_database_that_is_away_ends_nothing(world, runs):
    def work(_calls):
        raise OperationalError("update", {}, Exception("disk is full"))

    row_id = running(world)
    kind = Recorder(work)
    runs(kind)
    wait_until(lambda: kind.worked, what="it was tried")
    row = lease(world, row_id)
    assert (row.status, row.worker) == ("running", "one")
    assert kind.failed == []
    # It is tried again when its lease runs out.
    with world.database.write() as connection:
        optimizations.change(connection, row_id, {"lease_until": 0})
    wait_until(lambda: len(kind.worked) >= 2, what="it was tried again")


def test_calls_of_a_row_that_was_taken_away_are_cancelled(world, runs):
    def work(calls):
        assert calls.cancelled.wait(20)
        cancelled.append(True)
        raise Cancelled

    cancelled = []
    row_id = running(world)
    kind = Recorder(work)
    made = runs(kind)
    wait_until(lambda: kind.worked, what="it was taken up")
    end(world, row_id)
    made.look()
    wait_until(lambda: cancelled, what="its calls were cancelled")
    assert kind.failed == []


def test_the_end_of_the_process_cancels_and_leaves_the_row_for_the_next_one(world, runs):
    def work(calls):
        calls.cancelled.wait(20)
        raise RuntimeError("cannot schedule new futures after shutdown")

    row_id = running(world)
    kind = Recorder(work)
    made = runs(kind)
    wait_until(lambda: kind.worked, what="it was taken up")
    made.stop()
    assert kind.failed == []
    assert lease(world, row_id).status == "running"
    second = Recorder(lambda _: end(world, row_id))
    runs(second)
    wait_until(lambda: second.worked == [row_id], what="the next one took it up")
