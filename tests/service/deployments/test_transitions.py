"""What becomes of a variant: staged, applied, superseded; text, version, event and deployment as one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.exc import DBAPIError

from promptlift.schema.prompts import PromptUpdate
from promptlift.service import clock
from promptlift.service.actions import prompts
from promptlift.service.actions.optimizations import variants
from promptlift.service.actions.views import completion
from support.deployed import AT_ONCE, MANUAL, ORIGINAL, STAGED, TESTED, TEXTS

both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


def edit(world, content):
    world.ask(prompts.update, world.prompt_id, PromptUpdate(content=content))


@pytest.mark.parametrize(
    ("settings", "rehearsal", "state"),
    [
        (MANUAL, False, None),
        (STAGED, False, "staged"),
        (STAGED, True, "staged"),
        (TESTED, False, "testing"),
        (AT_ONCE, False, "live"),
        (AT_ONCE, True, "rejected"),
        ({**STAGED, "autoDeploy": TESTED["autoDeploy"]}, False, "testing"),
        # The regression test is required unless it was waived.
        ({"autoDeploy": {"enabled": True}}, False, "testing"),
        ({}, False, None),
    ],
)
def test_the_settings_decide_how_a_winner_begins(world, settings, rehearsal, state):
    assert world.deployment(world.optimization(settings, winner=None)) is None
    optimization_id = world.optimization(settings, rehearsal=rehearsal)
    found = world.deployment(optimization_id)
    assert (found and found["state"]) == state
    went_live = state == "live"
    assert world.text == (TEXTS[1] if went_live else ORIGINAL)
    assert world.kinds() == (["prompt.updated"] if went_live else [])
    staged = [one["isStaged"] for one in world.ask(variants, optimization_id)["data"]]
    assert staged == [False, state == "staged", False]
    if rehearsal:
        assert "rehearsal proves nothing about a real prompt" in found["reason"]


def test_a_winner_that_was_compared_with_another_text_does_not_go_live_by_itself(world):
    edit(world, "Changed meanwhile.")
    found = world.deployment(world.optimization(AT_ONCE))
    assert found["state"] == "rejected"
    assert "no longer current" in found["reason"]
    assert world.text == "Changed meanwhile."


@both
def test_two_variants_at_once_leave_one_live(world):
    optimization_id = world.optimization()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: world.apply(optimization_id, 1 + n % 2), range(8)))
    states = world.states(optimization_id)
    assert states[0] == "live"
    assert set(states[1:]) <= {"superseded"}
    live = world.row(optimization_id)
    assert world.versions()[-1][1] == world.text
    assert world.text == TEXTS[1 if live.variant_id == world.variant(optimization_id, 1) else 2]
    updated = world.kinds().count("prompt.updated")
    assert updated == len(world.versions()) - 1 == len(states)
    assert world.kinds().count("deployment.confounded") == len(states) - 1


def test_what_is_staged_or_tested_shows_in_the_status_and_ends_when_something_is_applied(world):
    def status():
        return world.ask(completion.status, world.prompt_id)["optimizationState"]

    # Its approval.
    staged = world.optimization(STAGED)
    assert status() == "staged"
    waiting = world.row(staged)
    world.apply(staged)
    approved = world.row(staged)
    assert (approved.id, approved.state, approved.origin) == (waiting.id, "live", "approval")
    assert world.versions()[-1] == ("applied", TEXTS[1])
    assert status() == "idle"
    # Another variant than the staged one.
    other = world.optimization(STAGED)
    world.apply(other, 2)
    assert (world.states(other), world.row(other).origin) == (["live", "superseded"], "manual")
    # The winner during its regression test.
    tested = world.optimization(TESTED, texts=(world.text, "Third."))
    assert status() == "testing"
    world.apply(tested)
    assert (world.states(tested), world.row(tested).origin) == (["live"], "manual")
    # An edit rejects the winner.
    again = world.optimization(TESTED, texts=(world.text, "Fourth."))
    edit(world, "Mine.")
    found = world.deployment(again)
    assert found["state"] == "rejected"
    assert "edited while the regression test" in found["reason"]
    assert world.text == "Mine."


def test_the_original_can_be_applied_and_is_no_fix(world):
    optimization_id = world.optimization()
    assert world.apply(optimization_id, 0)["changed"] is False
    assert world.deployment(optimization_id) is None
    world.apply(optimization_id)
    assert world.apply(optimization_id, 0)["changed"] is True
    assert world.text == ORIGINAL
    assert world.states(optimization_id) == ["live", "superseded"]
    assert world.deployment(optimization_id)["verification"] is None


def test_an_edit_supersedes_a_live_deployment_and_confounds_it_once(world):
    world.log(40, failed=10, at=world.started)
    optimization_id = world.optimization()
    world.apply(optimization_id)
    world.log(5, failed=1, at=clock.now(), issue="Other words")
    # Another field than the text supersedes nothing.
    world.ask(prompts.update, world.prompt_id, PromptUpdate(name="New name", content=TEXTS[1]))
    assert world.states(optimization_id) == ["live"]
    edit(world, "Mine.")
    edit(world, "Mine again.")
    found = world.deployment(optimization_id)
    assert (found["state"], found["verification"]) == ("superseded", "confounded")
    production = found["production"]
    assert (production["conversations"], production["completedRate"]) == (5, 80.0)
    assert (production["conversationsBefore"], production["completedRateBefore"]) == (40, 75.0)
    assert world.kinds() == ["prompt.updated", "deployment.confounded", "prompt.updated", "prompt.updated"]
    payload = world.events()[1][1]
    assert "reductionPercent" not in payload
    assert {one["title"]: (one["beforeFailCount"], one["afterFailCount"]) for one in payload["issues"]} == {
        "No answer": (10, 0),
        "Other failures": (0, 1),
    }
    assert (payload["agentId"], payload["agentName"]) == (world.prompt_id, "New name")
    assert (payload["verificationStatus"], payload["postFixConversationCount"]) == ("confounded", 5)
    assert payload["answerComparison"]["before"].startswith("answer")


def test_deleting_the_prompt_ends_what_is_open(world):
    ids = [world.optimization(settings) for settings in (STAGED, TESTED)]
    live = world.optimization()
    world.apply(live, 2)
    world.ask(prompts.delete, world.prompt_id)
    assert [world.states(one) for one in (*ids, live)] == [["rejected"], ["rejected"], ["superseded"]]
    assert world.kinds() == ["prompt.updated", "prompt.deleted"]


def refuse_events(database, kind):
    """Let the database refuse events of a kind, as a full disk would."""
    statement = (
        f"CREATE TRIGGER no_event BEFORE INSERT ON events WHEN NEW.type = '{kind}' "
        "BEGIN SELECT RAISE(ABORT, 'no more events'); END"
        if database.is_sqlite
        else f"ALTER TABLE events ADD CONSTRAINT no_event CHECK (type <> '{kind}') NOT VALID"
    )
    with database.write() as connection:
        connection.exec_driver_sql(statement)


@both
def test_an_event_that_cannot_be_written_takes_the_change_back(world):
    optimization_id = world.optimization(STAGED)
    refuse_events(world.database, "prompt.updated")
    with pytest.raises(DBAPIError):
        world.apply(optimization_id)
    assert world.versions() == [("created", ORIGINAL)]
    assert world.states(optimization_id) == ["staged"]
    with pytest.raises(DBAPIError):
        world.optimization(AT_ONCE)
    assert world.text == ORIGINAL


def test_a_verdict_that_cannot_be_told_takes_the_edit_back(world):
    optimization_id = world.optimization()
    world.apply(optimization_id)
    refuse_events(world.database, "deployment.confounded")
    with pytest.raises(DBAPIError):
        edit(world, "Mine.")
    assert world.text == TEXTS[1]
    assert world.states(optimization_id) == ["live"]
