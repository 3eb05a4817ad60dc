"""The end of a regression test: state, text and events together, or nothing."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import DBAPIError

from promptlift.schema.prompts import PromptUpdate
from promptlift.service import clock
from promptlift.service.actions import prompts
from promptlift.service.deployments import regression_run
from promptlift.service.deployments.regression_test import Summary, pairs_of, summarize
from service.deployments.test_transitions import refuse_events
from support.deployed import ORIGINAL, TESTED, TEXTS

NOTHING = summarize([], {}, []).test
PASSED = Summary(NOTHING.model_copy(update={"passed": True, "verdict": "passed"}), reason=None)
FAILED = Summary(NOTHING.model_copy(update={"pairs": pairs_of(None, 3)}), reason="It is worse")


def end(world, row, summary):
    with world.database.write() as connection:
        regression_run.end(connection, row, summary, now=clock.now())


@pytest.mark.parametrize("kind", ["regression_test.completed", "prompt.updated"])
def test_what_cannot_be_told_does_not_happen(world, kind):
    optimization_id = world.optimization(TESTED)
    refuse_events(world.database, kind)
    with pytest.raises(DBAPIError):
        end(world, world.row(optimization_id), PASSED)
    assert (world.text, world.states(optimization_id)) == (ORIGINAL, ["testing"])
    assert world.kinds() == []
    assert len(world.versions()) == 1


def test_it_ends_once(world):
    optimization_id = world.optimization(TESTED)
    row = world.row(optimization_id)
    for summary in (FAILED, PASSED, FAILED):
        end(world, row, summary)
    found = world.deployment(optimization_id)
    assert (found["state"], found["reason"]) == ("rejected", "It is worse")
    assert found["regressionTest"]["pairs"]["dropped"] == 3
    assert world.kinds() == ["regression_test.completed"]


def test_of_two_winners_in_their_tests_the_first_that_passes_ends_the_test_of_the_other(world):
    first = world.optimization(TESTED)
    second = world.optimization(TESTED, texts=(ORIGINAL, "Another winner."))
    end(world, world.row(first), PASSED)
    assert (world.states(first), world.states(second)) == (["live"], ["rejected"])


@pytest.mark.parametrize("change", ["edit", "apply", "delete"])
def test_whoever_changed_the_prompt_in_the_meantime_wins(world, change):
    optimization_id = world.optimization(TESTED)
    row = world.row(optimization_id)
    if change == "edit":
        world.ask(prompts.update, world.prompt_id, PromptUpdate(content="Mine."))
    elif change == "apply":
        world.apply(optimization_id, 2)
    else:
        world.ask(prompts.delete, world.prompt_id)
    before = (world.states(optimization_id), world.kinds())
    end(world, row, PASSED)
    assert (world.states(optimization_id), world.kinds()) == before
    assert "testing" not in before[0]
    if change != "delete":
        assert world.text == {"edit": "Mine.", "apply": TEXTS[2]}[change]
