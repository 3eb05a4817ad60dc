"""Live texts in production: which words their failures go by, and texts that a person restores."""

from __future__ import annotations

import json
import re

import pytest

from promptlift.service.actions import versions
from promptlift.service.store import accounts, aggregates
from service.deployments.test_transitions import edit
from support.asking import place, to_version
from support.deployed import TEXTS, later, look


def exclude(world, words):
    with world.database.write() as connection:
        settings = accounts.settings(connection, world.account)
        settings["general"]["excludedDataAndTopics"] = words
        accounts.save_settings(connection, world.account, settings)


def test_excluded_data_is_not_in_the_event(world, live):
    exclude(world, "e-mail addresses, swordfish")
    world.log(60, failed=2, at=later(), answer="swordfish jo@example.test")
    look(world)
    after = world.events()[-1][1]["answerComparison"]["after"]
    assert after
    assert not re.search("swordfish|jo@example.test", after)


def counted(world):
    issues = world.events()[-1][1]["issues"]
    return [(one["title"], one["beforeFailCount"], one["afterFailCount"]) for one in issues]


@pytest.mark.slow
def test_words_that_were_excluded_after_the_conversations_are_not_in_the_event(world):
    world.log(120, failed=40, at=world.started, issue="Swordfish was late")
    world.log(80, failed=40, at=world.started + 1_000)
    live = world.optimization()
    world.apply(live)
    exclude(world, "swordfish")
    world.log(60, failed=24, at=later(), issue="Swordfish was late")
    look(world)
    assert world.deployment(live)["verification"] == "not_fixed"
    assert "swordfish" not in json.dumps(world.events()).lower()
    assert counted(world) == [("No answer", 40, 0), ("Other failures", 40, 24)]


def test_titles_that_the_model_joined_are_one_issue_of_the_watch_too(world, live):
    names = {"No answer": "Questions stay open", "The question was left unanswered": "Questions stay open"}
    with world.database.write() as connection:
        aggregates.name_issues(connection, world.account, names, now=1)
    world.log(60, failed=24, at=later(), issue="The question was left unanswered")
    look(world)
    assert counted(world) == [("Questions stay open", 80, 24)]


def restore(world, number):
    """Restore a version of the prompt by its place, from 1."""
    listed = world.ask(versions.page, world.prompt_id, query=place(100, 0))["data"]
    return world.ask(versions.restore, world.prompt_id, to_version(listed[-number]["id"]))


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_deployed_text_that_a_person_restores_is_watched_again(world, auto):
    edit(world, "By hand.")
    assert world.deployment(auto)["state"] == "superseded"
    restore(world, 2)
    found = world.deployment(auto)
    assert (found["state"], found["origin"], found["verification"]) == ("live", "manual", "confounded")
    assert found["reason"] == "Live again, because its version was restored"
    assert found["production"]["conversations"] == 0
    world.log(60, failed=55, at=later())
    assert look(world) == 1
    found = world.deployment(auto)
    # The person who restored it decides.
    assert (found["state"], world.text) == ("live", TEXTS[1])
    assert found["reason"].startswith("Worse in production than before the change: task completion fell")
    assert found["production"]["conversations"] == 60


def test_a_text_that_was_rolled_back_and_a_person_restores_is_watched_again(world, auto):
    world.log(60, failed=55, at=later())
    look(world)
    assert world.deployment(auto)["state"] == "rolled_back"
    restore(world, 2)
    found = world.deployment(auto)
    assert (found["state"], found["rolledBackAt"], found["origin"]) == ("live", None, "manual")
    # Going back by hand is a roll-back, and the original is not watched.
    restore(world, 1)
    assert world.deployment(auto)["state"] == "rolled_back"
    assert look(world) == 0
