"""Who works on which rows: both tables that are worked on, on both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from promptlift.service.store import deployments, optimizations, workers
from promptlift.service.store.leases import with_work
from support.databases import migrated
from support.deployed import TESTED, World

if TYPE_CHECKING:
    from promptlift.service.store.leases import Leases

LEASES = {"optimizations": optimizations.LEASES, "deployments": deployments.LEASES}


@pytest.fixture(params=sorted(LEASES))
def work(request, database) -> tuple[Leases, list[str]]:
    """Three rows to work on, the oldest first, among others that nobody works on."""
    world = World(database)
    world.optimization()  # completed, deployed by hand only
    if request.param == "optimizations":
        return LEASES[request.param], [world.optimization(status="running", winner=None) for _ in range(3)]
    return LEASES[request.param], [world.row(world.optimization(TESTED)).id for _ in range(3)]


def test_a_row_is_taken_once_and_the_oldest_first(database, work):
    leases, ids = work
    with database.write() as connection:
        assert with_work(connection, [leases], now=100)
        assert leases.claim(connection, "one", limit=2, now=100) == ids[:2]
        assert leases.claim(connection, "two", limit=5, now=150) == ids[2:]
        assert not with_work(connection, [leases], now=150)
        assert leases.held(connection, "one", ids) == set(ids[:2])
        assert leases.held(connection, "two", ids[:2]) == set()


def test_rows_of_a_worker_without_a_sign_of_life_are_released_and_those_of_others_are_not(database, work):
    leases, ids = work
    with database.write() as connection:
        workers.renew(connection, "dead", seconds=-1)
        workers.renew(connection, "living", seconds=60)
        leases.claim(connection, "dead", limit=2, now=100)
        leases.claim(connection, "living", limit=1, now=100)
        assert leases.release_orphans(connection) == 0  # nobody has said so yet
        assert workers.remove_expired(connection, seconds=60) == 1
        assert leases.release_orphans(connection) == 2
        assert leases.claim(connection, "another", limit=3, now=101) == ids[:2]
        assert leases.held(connection, "dead", ids) == set()
        assert leases.held(connection, "living", ids) == {ids[2]}


def test_rows_of_a_worker_that_nobody_knows_are_released(database, work):
    leases, ids = work
    with database.write() as connection:
        leases.claim(connection, "of the version before", limit=2, now=100)
        assert leases.release_orphans(connection) == 2
        assert leases.claim(connection, "one", limit=3, now=100) == ids


def test_what_a_worker_had_is_released_all_of_it_or_some(database, work):
    leases, ids = work
    with database.write() as connection:
        leases.claim(connection, "one", limit=1, now=100)
        leases.claim(connection, "two", limit=2, now=100)
        assert leases.release(connection, "one") == 1
        assert leases.claim(connection, "three", limit=3, now=101) == ids[:1]
        assert leases.release(connection, "two", [*ids[:2], "none"]) == 1
        assert leases.claim(connection, "four", limit=3, now=101) == ids[1:2]


def test_a_renewed_lease_lives_on_and_says_why_work_waits(database):
    with database.write() as connection:
        workers.renew(connection, "one", seconds=-1)
        workers.renew(connection, "one", seconds=60, problem="The model is away.")
        workers.renew(connection, "two", seconds=60)
        workers.renew(connection, "three", seconds=-1, problem="It died.")
        assert workers.problems(connection) == ["The model is away."]
        assert workers.remove_expired(connection, seconds=60) == 1
        workers.remove(connection, "one")
        assert workers.problems(connection) == []


@pytest.mark.slow
def test_two_workers_never_claim_the_same_row_on_postgresql(request, tmp_path):
    with migrated("postgresql", request, tmp_path) as database:
        world = World(database)
        ids = [world.optimization(status="running", winner=None) for _ in range(3)]
        with database.write() as one, database.write() as two:
            assert optimizations.LEASES.claim(one, "one", limit=2, now=100) == ids[:2]
            # Without waiting for the other one to end.
            assert optimizations.LEASES.claim(two, "two", limit=3, now=100) == ids[2:]
