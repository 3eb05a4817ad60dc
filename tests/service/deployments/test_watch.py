"""Live texts in production: verified, not fixed, regressed, confounded, rolled back, each told once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.exc import DBAPIError

from promptlift.schema.prompts import PromptUpdate
from promptlift.service import clock
from promptlift.service.actions import prompts
from promptlift.service.deployments import watch
from service.deployments.test_transitions import refuse_events
from support.deployed import AT_ONCE, EXPECTED, ORIGINAL, TEXTS, World, later, look, verdicts

both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)

EXPECTED_FIELDS = ("expectedPercentage", "expectedPercentageLow", "expectedPercentageHigh")


def test_nothing_is_looked_at_before_thirty_conversations_have_ended(world, live):
    # Open conversations and those of others do not count.
    world.log(60, failed=60, at=later(), status="in_progress")
    world.log(60, failed=60, at=later(), prompt_id=world.add_prompt())
    World(world.database).log(60, failed=60, at=later())
    assert look(world) == 0
    assert world.deployment(live)["production"]["conversations"] == 0
    world.log(29, failed=29, at=later())
    assert look(world) == 0
    world.log(1, at=later(1))
    assert look(world) == 1
    assert look(world) == 0


@both
def test_a_fix_that_holds_is_verified_once(world, live):
    world.log(60, failed=4, at=later(), answer="better answer")
    assert look(world) == 1
    found = world.deployment(live)
    assert (found["state"], found["verification"]) == ("live", "verified")
    assert found["reason"] == (
        "Failures fell by more than half: 80 of 200 conversations failed before, 4 of 60 after"
    )
    assert found["production"]["conversations"] == 60
    assert verdicts(world) == ["deployment.verified"]
    payload = world.events()[-1][1]
    (issue,) = payload.pop("issues")
    assert (issue["title"], issue["beforeFailCount"], issue["afterFailCount"]) == ("No answer", 80, 4)
    assert payload == {
        "agentId": world.prompt_id,
        "agentName": "Support",
        "verificationStatus": "verified",
        "reductionPercent": pytest.approx(100 * (1 - (4 / 60) / (80 / 200))),
        "postFixConversationCount": 60,
        "preFixConversationCount": 200,
        "answerComparison": {"before": "answer 79", "after": "better answer 4"},
        **dict(zip(EXPECTED_FIELDS, EXPECTED, strict=True)),
    }
    # What was applied said so too.
    applied = dict(world.events())["prompt.updated"]
    assert tuple(applied[name] for name in EXPECTED_FIELDS) == EXPECTED
    assert look(world) == 0
    assert verdicts(world) == ["deployment.verified"]


def verified(world):
    """Verify the live fix: 40% failed before, about 6% do with it."""
    world.log(60, failed=4, at=later())
    assert look(world) == 1
    world.log(60, failed=3, at=later(10))
    assert look(world) == 1
    assert verdicts(world) == ["deployment.verified"]


def test_a_verified_fix_that_fails_again_is_told_and_stays_live_while_the_text_before_was_no_better(
    world, auto
):
    verified(world)
    world.log(60, failed=18, at=later(20))
    assert look(world) == 1
    found = world.deployment(auto)
    assert (found["state"], found["verification"]) == ("live", "regressed")
    assert found["reason"] == (
        "Failures are rising again: 7 of 120 earlier conversations failed, 18 of the latest 60"
    )
    assert world.text == TEXTS[1]
    assert verdicts(world) == ["deployment.verified", "deployment.regressed"]
    payload = world.events()[-1][1]
    assert payload["verificationStatus"] == "regressed"
    # The newest 60, of which 18 failed, against the text before the fix, of which 80 of 200 failed.
    assert (payload["postFixConversationCount"], payload["preFixConversationCount"]) == (60, 200)
    assert payload["reductionPercent"] == pytest.approx(100 * (1 - 0.3 / 0.4))
    assert [(one["beforeFailCount"], one["afterFailCount"]) for one in payload["issues"]] == [(80, 18)]
    assert look(world) == 0
    world.log(60, failed=50, at=later(30))
    assert look(world) == 1
    # Once it does harm, it is taken back.
    assert world.deployment(auto)["state"] == "rolled_back"
    assert verdicts(world) == ["deployment.verified", "deployment.regressed"]


@both
def test_a_verified_fix_that_becomes_worse_than_the_text_before_is_told_and_rolled_back_once(world, auto):
    verified(world)
    world.log(60, failed=45, at=later(20))
    # Six watchers at once.
    rows = watch.due(world.database) * 6
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda row: watch.check(world.database, row), rows))
    found = world.deployment(auto)
    assert (found["state"], found["verification"]) == ("rolled_back", "regressed")
    assert found["reason"].startswith(
        "Rolled back. Worse in production than before the change: task completion fell from 60.0% to "
    )
    assert [origin for origin, _ in world.versions()] == ["created", "auto_deployed", "rolled_back"]
    kinds = [kind for kind in world.kinds() if kind.startswith(("deployment", "prompt"))]
    assert kinds == ["prompt.updated", "deployment.verified", "prompt.updated", "deployment.regressed"]
    assert world.events()[-2][1]["updateType"] == "rollback"
    assert world.events()[-1][1]["reductionPercent"] < 0
    assert look(world) == 0


def test_an_automatic_deployment_that_harms_any_metric_is_rolled_back(world):
    good = {"quality": 80.0, "response_seconds": 2.0, "messages": 6}
    harm = {"quality": 60.0, "response_seconds": 4.0, "messages": 12, "sentiment": -0.4}
    world.log(200, failed=80, at=world.started, **good)
    optimization_id = world.optimization(AT_ONCE)
    world.log(40, failed=30, at=later(), status="abandoned", **harm)
    assert look(world) == 1
    found = world.deployment(optimization_id)
    assert (found["state"], found["verification"]) == ("rolled_back", "pending")
    assert (
        "task completion fell from 60.0% to 25.0% (200 conversations before, 40 after, p = "
        in found["reason"]
    )
    assert "response time rose from 2.0 s to 4.0 s" in found["reason"]
    assert found["rolledBackAt"] is not None
    assert found["production"]["completedRate"] == 25.0
    metrics = {one["metric"]: one for one in found["production"]["metrics"]}
    assert len(metrics) == sum(one["regressed"] for one in metrics.values()) == 6
    assert (metrics["abandonment"]["before"], metrics["abandonment"]["after"]) == (0.0, 100.0)
    assert world.versions()[-1] == ("rolled_back", ORIGINAL)
    # It was never verified, so nothing regressed.
    assert world.kinds() == ["prompt.updated", "prompt.updated"]
    back = world.events()[1][1]
    assert (back["updateType"], back["variantId"]) == ("rollback", world.variant(optimization_id, 1))
    assert look(world) == 0


def test_what_a_person_applied_is_told_and_not_rolled_back(world, live):
    world.log(40, failed=30, at=later())
    look(world)
    found = world.deployment(live)
    assert (found["state"], found["verification"]) == ("live", "not_fixed")
    assert "task completion fell" in found["reason"]
    assert world.text == TEXTS[1]
    assert verdicts(world) == ["deployment.not_fixed"]


def test_only_the_text_right_before_is_compared(world):
    world.log(200, failed=200, at=world.started)
    body = PromptUpdate(content="Second.")
    world.ask(prompts.update, world.prompt_id, body)
    middle = clock.now()
    optimization_id = world.optimization(AT_ONCE, texts=("Second.", "Third."))
    row = world.row(optimization_id)
    if row.applied_at - middle < 2:  # conversations with the second text fit in between
        with world.database.write() as connection:
            connection.exec_driver_sql(f"UPDATE deployments SET applied_at = {middle + 500}")
    world.log(100, failed=10, at=middle)
    world.log(40, failed=30, at=later(10))
    look(world)
    assert world.deployment(optimization_id)["state"] == "rolled_back"
    assert world.text == "Second."


def test_an_edit_between_looking_and_deciding_wins(world, auto):
    world.log(40, failed=30, at=later())
    (row,) = watch.due(world.database)
    body = PromptUpdate(content="Mine.")
    world.ask(prompts.update, world.prompt_id, body)
    watch.check(world.database, row)
    assert world.text == "Mine."
    assert world.deployment(auto)["state"] == "superseded"
    assert verdicts(world) == ["deployment.confounded"]


@pytest.mark.slow
@both
def test_a_deployed_text_that_is_live_again_is_watched_again(world, auto):
    world.log(120, failed=48, at=later())
    look(world)
    assert world.deployment(auto)["verification"] == "not_fixed"
    second = world.optimization(AT_ONCE, texts=(TEXTS[1], "Third."))
    with world.database.write() as connection:
        # The logs of the test are a little ahead of the clock.
        connection.exec_driver_sql(
            f"UPDATE deployments SET applied_at = {later(100)} WHERE optimization_id = '{second}'"
        )
    assert world.deployment(auto)["state"] == "superseded"
    world.log(60, failed=55, at=later(101))
    look(world)
    assert world.deployment(second)["state"] == "rolled_back"
    assert world.text == TEXTS[1]
    found = world.deployment(auto)
    assert (found["state"], found["verification"]) == ("live", "not_fixed")
    assert found["reason"] == "Live again, because the version after it was rolled back"
    # What was said with the text in between, and before it, is not held against it.
    with world.database.write() as connection:
        production = json.dumps({"liveSince": later(200)})
        connection.exec_driver_sql(
            f"UPDATE deployments SET production = '{production}' WHERE optimization_id = '{auto}'"
        )
    assert look(world) == 0
    world.log(60, failed=55, at=later(201))
    look(world)
    found = world.deployment(auto)
    assert found["state"] == "rolled_back"
    assert found["production"]["conversations"] == 60
    assert world.text == ORIGINAL


def test_another_model_confounds_a_fix_and_its_harm_is_still_watched(world, auto):
    same = {"name": "Other", "tags": ["x"], "llmModel": "gpt-4o", "temperature": None}
    world.ask(prompts.update, world.prompt_id, PromptUpdate.model_validate(same))
    assert world.deployment(auto)["verification"] == "pending"
    for change in ({"llmModel": "gpt-4.1"}, {"temperature": 1.5, "maxTokens": 90}):
        world.ask(prompts.update, world.prompt_id, PromptUpdate.model_validate(change))
    found = world.deployment(auto)
    assert (found["state"], found["verification"]) == ("live", "confounded")
    assert verdicts(world) == ["deployment.confounded"]
    payload = world.events()[-1][1]
    assert payload["verificationStatus"] == "confounded"
    assert "reductionPercent" not in payload
    world.log(60, failed=4, at=later())
    look(world)
    assert world.deployment(auto)["verification"] == "confounded"
    world.log(60, failed=55, at=later(10))
    look(world)
    found = world.deployment(auto)
    assert (found["state"], found["verification"]) == ("rolled_back", "confounded")
    assert verdicts(world) == ["deployment.confounded"]


@pytest.mark.parametrize("kind", ["deployment.regressed", "prompt.updated"])
def test_a_roll_back_that_cannot_be_told_does_not_happen(world, auto, kind):
    verified(world)
    world.log(60, failed=45, at=later(20))
    refuse_events(world.database, kind)
    with pytest.raises(DBAPIError):
        look(world)
    assert world.text == TEXTS[1]
    assert world.row(auto).state == "live"
    assert world.row(auto).verification == "verified"


def test_a_deleted_prompt_is_not_watched(world, auto):
    world.log(40, failed=30, at=later())
    (row,) = watch.due(world.database)
    world.ask(prompts.delete, world.prompt_id)
    watch.check(world.database, row)
    assert look(world) == 0
    assert verdicts(world) == []


@pytest.mark.slow
def test_harm_that_begins_after_the_last_verdict_is_rolled_back(world):
    """Half of the conversations completed their task before and for a long time after; then 22% do."""
    world.log(200, failed=100, at=world.started)
    optimization_id = world.optimization(AT_ONCE)
    for number in range(2):
        # Failed ones come first in a log: one short log after another keeps the rate even.
        for part in range(10):
            world.log(6, failed=3, at=later(10 * number) + 10 * part)
        look(world)
    assert world.deployment(optimization_id)["verification"] == "not_fixed"
    assert world.deployment(optimization_id)["state"] == "live"
    for number in range(2):
        for part in range(10):
            world.log(9, failed=7, at=later(1_000 + number) + 10 * part)
        look(world)
    found = world.deployment(optimization_id)
    assert (found["state"], found["verification"]) == ("rolled_back", "not_fixed")
    assert found["reason"].startswith(
        "Rolled back. Worse in production than before the change: task completion fell from 50.0% to 2"
    )
    assert world.text == ORIGINAL
    assert verdicts(world) == ["deployment.not_fixed"]
    assert world.events()[-1][1]["updateType"] == "rollback"


def test_a_fix_that_changes_nothing_is_not_fixed_at_the_last_check(world, live):
    for number in range(4):
        world.log(30, failed=11, at=later(number))
        look(world)
    found = world.deployment(live)
    assert (found["state"], found["verification"]) == ("live", "not_fixed")
    assert verdicts(world) == ["deployment.not_fixed"]
    world.log(200, at=later(10))
    look(world)
    assert verdicts(world) == ["deployment.not_fixed"]
