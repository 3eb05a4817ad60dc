"""What simulations were worth for an account, by its own variants that met users, told with the next result."""

from __future__ import annotations

import pytest

from promptlift.schema.experiments import ASSIGNMENT, Assignment, ExperimentCreate
from promptlift.schema.naming import LINKS
from promptlift.schema.optimizations import StopRequest
from promptlift.service import clock
from promptlift.service.actions import experiments as actions
from promptlift.service.deployments.calibration import calibration
from promptlift.service.optimizations import lifecycle
from promptlift.service.routes.messages import _wire as wire_of
from promptlift.service.store import optimizations
from promptlift.stats import Experiment
from support.deployed import EXPECTED_POINTS, Logged, World, later

both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def world(database):
    return World(database)


def apply_one(world, *, more, rehearsal=False, basis="model"):
    """Apply a variant to a new prompt of which 120 of 200 completed, and so many more with it."""
    world.prompt_id = world.add_prompt()
    world.log(200, failed=80, at=world.started, basis=basis)
    done = world.optimization(rehearsal=rehearsal)
    world.apply(done, accept_rehearsal=rehearsal)
    world.log(200, failed=80 - more, at=later(), basis=basis)
    return done


def run_live(world, weights, *, completed, units=(400, 400)):
    """Run versions side by side, of whose units so many of 20 completed, and stop."""
    body = ExperimentCreate(weights=weights)
    experiment = world.ask(actions.start, world.prompt_id, body)["id"]
    for arm, (share, count) in enumerate(zip(completed, units, strict=True)):
        assigned = (Assignment(experiment, arm, f"{n:016x}").id for n in range(count))
        world.log_each(
            [Logged(completed=n % 20 < share, metadata={ASSIGNMENT: one}) for n, one in enumerate(assigned)],
            at=clock.now(),
        )
    world.ask(actions.stop, experiment, StopRequest())
    return experiment


def found(world):
    return world.ask(actions.worth)


def known(world):
    return [one["difference"] for one in found(world)["data"] if "difference" in one]


@both
def test_five_variants_tell_what_expectations_are_worth(world):
    for _ in range(4):
        apply_one(world, more=10)
    # Neither a rehearsal, nor a word list's verdicts, nor a few conversations, nor another account.
    apply_one(world, more=10, rehearsal=True)
    apply_one(world, more=10, basis="words")
    world.prompt_id = world.add_prompt()
    world.log(200, failed=80, at=world.started)
    world.apply(world.optimization())
    world.log(9, at=later())
    apply_one(World(world.database), more=10)
    told = found(world)
    assert told["share"] is None
    assert (len(told["data"]), len(known(world))) == (6, 4)
    assert told["sentence"].endswith("5 variants whose change in production is known, and there are 4")
    apply_one(world, more=10)
    told = found(world)
    assert told["share"] == pytest.approx(5.0 / EXPECTED_POINTS)
    assert told["shareLow"] < 0.5 < told["shareHigh"]
    newest = told["data"][0]
    assert (newest["source"], newest["predictedExpected"]) == ("before and after", EXPECTED_POINTS)
    assert (newest["nBefore"], newest["rateBefore"], newest["nAfter"], newest["rateAfter"]) == (
        *(200, 0.6),
        *(200, 0.65),
    )
    assert newest["difference"] == pytest.approx(5.0)
    assert newest["differenceLow"] < 5.0 < newest["differenceHigh"]


@both
def test_side_by_side_with_the_original_counts_without_an_apply_and_before_before_and_after(world):
    done = apply_one(world, more=10)
    applied = found(world)["data"][0]
    world.prompt_id = world.add_prompt()
    tried = world.variant(world.optimization(), 2)
    assert [one["variantId"] for one in found(world)["data"]] == [applied["variantId"]]
    run_live(world, {tried: 0.5}, completed=(10, 10))
    newest = run_live(world, {tried: 0.5}, completed=(10, 12))
    # Lost units, or another text beside it, say nothing of what the simulation predicted.
    run_live(world, {tried: 0.5}, completed=(10, 20), units=(400, 200))
    second, first = found(world)["data"]
    assert first == applied
    assert (second["variantId"], second["experimentId"], second["source"]) == (tried, newest, "side by side")
    assert (second["nBefore"], second["rateBefore"], second["nAfter"]) == (400, 0.5, 400)
    assert (second["rateAfter"], second["difference"]) == (pytest.approx(0.6), pytest.approx(10.0))
    # The standard error is that of the difference, whatever the width at all looks together.
    assert second["differenceError"] == pytest.approx(
        100 * (0.5 * 0.5 / 400 + 0.6 * 0.4 / 400) ** 0.5, rel=0.01
    )
    world.prompt_id = applied["promptId"]
    run_live(world, {"v1": 0.5}, completed=(10, 12))  # the original beside the variant that was applied
    run_live(world, {world.variant(done, 2): 0.5}, completed=(10, 12))  # beside another text
    assert [one["variantId"] for one in found(world)["data"]] == [tried, applied["variantId"]]
    world.prompt_id = world.add_prompt()
    few = world.variant(world.optimization(), 2)
    run_live(world, {few: 0.5}, completed=(1, 19), units=(20, 20))
    assert [found(world)["data"][0][name] for name in ("variantId", "differenceHigh")] == [few, 100.0]


def test_the_next_result_says_it(world):
    for _ in range(5):
        apply_one(world, more=10)
    running = world.optimization(status="running")
    with world.database.write() as connection:
        row = optimizations.get(connection, running)
        lifecycle.complete(connection, row, Experiment(2, seed=1), [], now=clock.now())
        warnings = optimizations.get(connection, running).results.results.warnings
    said = found(world)["sentence"]
    assert said.startswith("Of 5 variants, production showed 50% ")
    assert f"{said}." in warnings


def test_a_pair_names_its_prompt_under_both_schemes(world):
    apply_one(world, more=10)
    with world.database.read() as connection:
        answer = calibration(connection, world.account)
    (pair,) = wire_of(answer, LINKS)["data"]
    assert pair["promptId"] == pair["agentId"] == world.prompt_id
