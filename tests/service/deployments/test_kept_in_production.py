"""What simulations were worth for an account, by its own applied variants, told with the next result."""

from __future__ import annotations

import pytest

from promptlift.service import clock
from promptlift.service.deployments.verified_lift import kept_in_production
from promptlift.service.optimizations import lifecycle
from promptlift.service.store import optimizations
from promptlift.stats import Experiment
from support.deployed import EXPECTED_POINTS, World, later

both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def world(database):
    return World(database)


def apply_one(world, *, more, rehearsal=False, basis="model"):
    """Apply a variant to a new prompt of which 120 of 200 completed, and so many more with it."""
    world.prompt_id = world.add_prompt()
    world.log(200, failed=80, at=world.started, basis=basis)
    world.apply(world.optimization(rehearsal=rehearsal), accept_rehearsal=rehearsal)
    world.log(200, failed=80 - more, at=later(), basis=basis)


def kept(world):
    with world.database.read() as connection:
        return kept_in_production(connection, world.account)


@both
def test_five_applied_variants_tell_what_expectations_are_worth(world):
    for _ in range(4):
        apply_one(world, more=10)
    assert kept(world) is None
    # Neither a rehearsal, nor a word list's verdicts, nor a few conversations, nor another account.
    apply_one(world, more=10, rehearsal=True)
    apply_one(world, more=10, basis="words")
    world.prompt_id = world.add_prompt()
    world.log(200, failed=80, at=world.started)
    world.apply(world.optimization())
    world.log(9, at=later())
    apply_one(World(world.database), more=10)
    assert kept(world) is None
    apply_one(world, more=10)
    found = kept(world)
    assert (found.n, found.share) == (5, pytest.approx(5.0 / EXPECTED_POINTS))


def test_the_next_result_says_it(world):
    for _ in range(5):
        apply_one(world, more=10)
    running = world.optimization(status="running")
    with world.database.write() as connection:
        row = optimizations.get(connection, running)
        lifecycle.complete(connection, row, Experiment(2, seed=1), [], now=clock.now())
        warnings = optimizations.get(connection, running).results.results.warnings
    assert kept(world).sentence in warnings
    assert kept(world).sentence.startswith("Of 5 applied variants, production showed 50 % ")
