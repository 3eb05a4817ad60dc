"""A ramp gives a new text to more and more users while it harms nothing, and takes it back as soon as it does."""

from __future__ import annotations

import pytest

from promptlift.schema.experiments import ASSIGNMENT, Assignment, ExperimentCreate
from promptlift.service import clock
from promptlift.service.actions import experiments as actions
from promptlift.service.deployments import ramp
from promptlift.service.store import prompts
from support.deployed import ORIGINAL, TEXTS, Logged

both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def experiment(world):
    """A ramp of the first variant of an optimization."""
    variant = world.variant(world.optimization(), 1)
    body = ExperimentCreate(weights={variant: 1.0}, ramp=True)
    return world.ask(actions.start, world.prompt_id, body)["id"]


def log(world, experiment, shares, units, longer=1):
    """Log one conversation of each unit of both arms; a share of each arm completes."""
    for arm, (share, count) in enumerate(zip(shares, units, strict=True)):
        world.log_each(
            [
                Logged(
                    completed=n % 20 < 20 * share,
                    metadata={ASSIGNMENT: Assignment(experiment, arm, f"{n:016x}").id},
                    messages=(2 + n % 3) * (longer if arm else 1),
                )
                for n in range(count)
            ],
            at=clock.now(),
            apart=0,
        )


def texts(world):
    return {str(n): world.resolve(str(n)).content for n in range(300)}


def shown(world, experiment):
    return world.ask(actions.get, experiment)


@both
def test_a_text_that_harms_nothing_is_applied_at_the_end(world, experiment):
    few = texts(world)
    assert 0 < sum(text == TEXTS[1] for text in few.values()) < 40
    log(world, experiment, (0.8, 0.8), (300, 16))
    ramp.look(world.database)
    assert [step["share"] for step in shown(world, experiment)["ramp"]] == [0.05]  # too few units
    log(world, experiment, (0.8, 0.8), (2_000, 105))
    ramp.look(world.database)
    found = shown(world, experiment)
    assert [step["share"] for step in found["ramp"]] == [0.05, 0.5]
    assert [arm["weight"] for arm in found["arms"]] == [0.5, 0.5]
    many = texts(world)
    assert 100 < sum(text == TEXTS[1] for text in many.values()) < 200
    # Who has the new text keeps it.
    assert all(many[unit] == TEXTS[1] for unit, text in few.items() if text == TEXTS[1])
    # It gets worse for everybody, and most of the new text's users come only now.
    log(world, experiment, (0.5, 0.5), (600, 600))
    found = shown(world, experiment)
    assert [arm["units"] for arm in found["arms"]] == [600, 600]
    assert abs(found["arms"][1]["difference"]["estimate"]) < 1.0
    ramp.look(world.database)
    found = shown(world, experiment)
    assert (found["status"], world.text) == ("applied", TEXTS[1])
    assert found["appliedVersionId"]
    assert set(texts(world).values()) == {TEXTS[1]}
    assert [kind for kind in world.kinds() if kind == "prompt.updated"] == ["prompt.updated"]


@both
def test_harm_is_rolled_back_before_half_of_the_users_get_it(world, experiment):
    log(world, experiment, (0.8, 0.5), (1_900, 100), longer=2)
    found = {one["metric"]: one["harmed"] for one in shown(world, experiment)["arms"][1]["guardrails"]}
    assert [metric for metric, harmed in found.items() if harmed] == ["task_completion", "length"]
    ramp.look(world.database)
    found = shown(world, experiment)
    assert (found["status"], len(found["ramp"]), world.text) == ("rolled_back", 1, ORIGINAL)
    assert found["reason"] == (
        "Rolled back at 5% of the units: task completion fell from 80.0% to 50.0%; "
        "length rose from 3.0 messages to 6.0 messages"
    )
    assert set(texts(world).values()) == {ORIGINAL}
    kind, told = world.events()[-1]
    assert (kind, told["agentId"], told["reductionPercent"]) == (
        "deployment.regressed",
        world.prompt_id,
        pytest.approx(-150.0),
    )
    assert (told["preFixConversationCount"], told["postFixConversationCount"]) == (1_900, 100)
    ramp.look(world.database)
    assert len(world.events()) == len(set(map(str, world.events())))


def test_units_that_do_not_fall_by_their_weights_take_no_step(world, experiment):
    log(world, experiment, (0.8, 0.8), (900, 300))
    ramp.look(world.database)
    assert shown(world, experiment)["status"] == "running"
    assert len(shown(world, experiment)["ramp"]) == 1


@both
def test_a_process_that_dies_in_a_step_leaves_all_of_it_to_the_next(world, experiment, monkeypatch):
    log(world, experiment, (0.8, 0.8), (2_000, 105))
    with world.database.read() as connection:
        (seen,) = prompts.ramps(connection)
    ramp.look(world.database)
    before = shown(world, experiment)
    ramp._look_at(world.database, seen)  # another process that saw the same
    assert shown(world, experiment)["ramp"] == before["ramp"]
    log(world, experiment, (0.8, 0.8), (600, 600))

    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(prompts, "log_action", die)
        with pytest.raises(KeyboardInterrupt):
            ramp.look(world.database)
    assert (shown(world, experiment)["status"], world.text) == ("running", ORIGINAL)
    ramp.look(world.database)
    assert (shown(world, experiment)["status"], world.text) == ("applied", TEXTS[1])
