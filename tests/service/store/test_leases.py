"""Who works on which rows."""

from __future__ import annotations

import pytest

from promptlift.service.store import leases, optimizations
from support.databases import migrated
from support.deployed import World

LEASES = optimizations.LEASES


@pytest.fixture
def world(database) -> World:
    return World(database)


@pytest.fixture
def ids(world) -> list[str]:
    """Three rows to work on, the oldest first, among others that nobody works on."""
    world.optimization()  # completed, deployed by hand only
    return [world.optimization(status="running", winner=None) for _ in range(3)]


def test_rows_of_a_worker_without_a_sign_of_life_are_released_and_those_of_others_are_not(database, ids):
    with database.write() as connection:
        leases.renew(connection, "dead", seconds=-1)
        leases.renew(connection, "living", seconds=60)
        LEASES.claim(connection, "dead", limit=2, now=100)
        LEASES.claim(connection, "living", limit=1, now=100)
        assert LEASES.release_orphans(connection) == 0  # nobody has said so yet
        assert leases.remove_expired_workers(connection, seconds=60) == 1
        assert LEASES.release_orphans(connection) == 2
        # What nobody knows of is released too: rows of the version before.
        assert LEASES.claim(connection, "another", limit=3, now=101) == ids[:2]
        assert LEASES.release_orphans(connection) == 2
        leases.renew(connection, "another", seconds=60)
        assert LEASES.claim(connection, "another", limit=3, now=101) == ids[:2]
        assert LEASES.held(connection, "dead", ids) == set()
        assert LEASES.held(connection, "living", ids) == {ids[2]}


def test_what_a_worker_had_is_released_all_of_it_or_some(database, ids):
    with database.write() as connection:
        LEASES.claim(connection, "one", limit=1, now=100)
        LEASES.claim(connection, "two", limit=2, now=100)
        assert LEASES.release(connection, "one") == 1
        assert LEASES.claim(connection, "three", limit=3, now=101) == ids[:1]
        assert LEASES.release(connection, "two", [*ids[:2], "none"]) == 1
        assert LEASES.claim(connection, "four", limit=3, now=101) == ids[1:2]


def test_a_renewed_lease_lives_on_and_says_why_work_waits(database):
    with database.write() as connection:
        leases.renew(connection, "one", seconds=-1)
        leases.renew(connection, "one", seconds=60, problem="The model is away.")
        leases.renew(connection, "two", seconds=60)
        leases.renew(connection, "three", seconds=-1, problem="It died.")
        assert leases.problems(connection) == ["The model is away."]
        assert leases.remove_expired_workers(connection, seconds=60) == 1
        leases.remove_worker(connection, "one")
        assert leases.problems(connection) == []


@pytest.mark.slow
def test_two_workers_never_claim_the_same_row_on_postgresql(request):
    with migrated("postgresql", request) as database:
        world = World(database)
        ids = [world.optimization(status="running", winner=None) for _ in range(3)]
        with database.write() as one, database.write() as two:
            assert LEASES.claim(one, "one", limit=2, now=100) == ids[:2]
            # Without waiting for the other one to end.
            assert LEASES.claim(two, "two", limit=3, now=100) == ids[2:]
