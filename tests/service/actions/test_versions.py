"""Every text of a prompt, and going back to one byte for byte."""

from __future__ import annotations

import pytest

from promptlift.schema.prompts import PromptUpdate
from promptlift.service.actions import prompts, versions
from promptlift.service.errors import ApiException
from support.asking import place, to_version
from support.deployed import ORIGINAL


def edit(world, content):
    body = PromptUpdate(content=content)
    world.ask(prompts.update, world.prompt_id, body)


def page(world, limit=100, offset=0):
    return world.ask(versions.page, world.prompt_id, query=place(limit, offset))


def restore(world, version_id, **wanted):
    return world.ask(versions.restore, world.prompt_id, to_version(version_id, **wanted))


def test_an_apply_is_undone_with_the_version_of_its_answer(world):
    optimization_id = world.optimization()
    applied = world.apply(optimization_id)
    undone = restore(world, applied["previousVersionId"], if_version_id=applied["versionId"])
    assert undone["changed"] is True
    assert world.text == ORIGINAL
    found = world.deployment(optimization_id)
    assert (found["state"], found["verification"]) == ("rolled_back", "confounded")
    assert found["rolledBackAt"] is not None
    assert world.kinds() == ["prompt.updated", "deployment.confounded", "prompt.updated"]


def test_another_version_than_the_one_before_supersedes(world):
    edit(world, "second")
    optimization_id = world.optimization(texts=("second", "third"))
    world.apply(optimization_id)
    restore(world, page(world)["data"][-1]["id"])
    assert world.deployment(optimization_id)["state"] == "superseded"
    assert world.text == ORIGINAL


def test_what_is_no_version_of_this_prompt_is_refused(world):
    sibling = world.ask(versions.page, world.add_prompt(), query=place(1, 0))["data"][0]["id"]
    mine = page(world)["data"][0]["id"]
    near = (mine.replace("ver_", "ver_0"), mine.upper(), mine.removeprefix("ver_"), f" {mine}", "ver_²")
    for version_id in (sibling, "none", "", "ver_", "ver_-1", f"ver_{9**40}", *near):
        with pytest.raises(ApiException) as caught:
            restore(world, version_id)
        assert (caught.value.code, set(caught.value.details)) == ("NOT_FOUND", {"versionId"})
    assert world.kinds() == []
