"""Who works on which rows: both tables that are worked on, on both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from promptlift.service.store import deployments, optimizations
from support.deployed import TESTED, World, migrated

if TYPE_CHECKING:
    from promptlift.service.store.leases import Leases

LEASES = {"optimizations": optimizations.LEASES, "deployments": deployments.LEASES}


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    with migrated(request.param, request, tmp_path) as opened:
        yield opened


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
        assert leases.waiting(connection, now=100)
        assert leases.claim(connection, "one", limit=2, now=100, until=200) == ids[:2]
        assert leases.claim(connection, "two", limit=5, now=150, until=250) == ids[2:]
        assert not leases.waiting(connection, now=150)
        assert leases.held(connection, "one", ids) == set(ids[:2])
        assert leases.held(connection, "two", ids[:2]) == set()


def test_a_row_without_a_sign_of_life_is_taken_by_another(database, work):
    leases, ids = work
    with database.write() as connection:
        leases.claim(connection, "one", limit=3, now=100, until=200)
        leases.renew(connection, "one", ids[:2], until=300)
        leases.renew(connection, "two", ids, until=900)  # not its own
        assert leases.claim(connection, "two", limit=3, now=201, until=400) == ids[2:]
        assert leases.claim(connection, "two", limit=3, now=301, until=400) == ids[:2]
        assert leases.held(connection, "one", ids) == set()


@pytest.mark.slow
def test_what_a_process_had_is_given_back(database, work):
    leases, ids = work
    with database.write() as connection:
        leases.claim(connection, "one", limit=1, now=100, until=200)
        leases.claim(connection, "two", limit=2, now=100, until=200)
        leases.release(connection, "one")
        assert leases.claim(connection, "three", limit=3, now=101, until=200) == ids[:1]
        leases.release(connection)
        assert leases.claim(connection, "four", limit=3, now=101, until=200) == ids
