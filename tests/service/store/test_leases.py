"""Who works on which rows."""

from __future__ import annotations

import pytest

from promptlift.service.store import optimizations
from support.databases import migrated
from support.deployed import World

LEASES = optimizations.LEASES


@pytest.mark.slow
def test_two_workers_never_claim_the_same_row_on_postgresql(request):
    with migrated("postgresql", request) as database:
        world = World(database)
        ids = [world.optimization(status="running", winner=None) for _ in range(3)]
        with database.write() as one, database.write() as two:
            assert LEASES.claim(one, "one", limit=2, now=100) == ids[:2]
            # Without waiting for the other one to end.
            assert LEASES.claim(two, "two", limit=3, now=100) == ids[2:]
