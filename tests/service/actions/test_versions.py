"""Every text of a prompt, and going back to one byte for byte."""

from __future__ import annotations

import pytest

from promptlift.schema.prompts import PromptUpdate
from promptlift.service.actions import prompts, versions
from promptlift.service.errors import ApiException
from support.asking import place, to_version
from support.deployed import ORIGINAL, TEXTS, World
from support.hostile import ENCODABLE


def edit(world, content):
    body = PromptUpdate(content=content)
    world.ask(prompts.update, world.prompt_id, body)


def page(world, limit=100, offset=0):
    return world.ask(versions.page, world.prompt_id, query=place(limit, offset))


def restore(world, version_id, **wanted):
    return world.ask(versions.restore, world.prompt_id, to_version(version_id, **wanted))


def test_versions_come_newest_first_with_their_numbers(world):
    optimization_id = world.optimization()
    edit(world, "second")
    world.apply(optimization_id)
    body = page(world)
    assert [(one["number"], one["origin"], one["content"], one["isLive"]) for one in body["data"]] == [
        (3, "applied", TEXTS[1], True),
        (2, "updated", "second", False),
        (1, "created", ORIGINAL, False),
    ]
    assert body["pagination"] == {"total": 3, "limit": 100, "offset": 0}
    assert body["data"][0]["optimizationId"] == optimization_id
    assert body["data"][0]["variantId"] == world.variant(optimization_id, 1)
    assert body["data"][1]["optimizationId"] is None
    pages = [one for offset in range(4) for one in page(world, 1, offset)["data"]]
    assert pages == body["data"]


@pytest.mark.slow
def test_a_restored_text_is_the_same_byte_for_byte(world):
    hostile = [text for text in ENCODABLE if "\x00" not in text and text.strip()]
    for text in (*hostile[::4], " \r\n\t leading and trailing \r", "é e\u0301 ☎ \U0001f388"):
        edit(world, text)
        edit(world, "Another.")
        former = page(world, 2)["data"][1]
        assert former["content"] == text
        answer = restore(world, former["id"])
        assert (answer["success"], answer["changed"], answer["promptId"]) == (True, True, world.prompt_id)
        assert world.text == text
        newest = page(world, 1)["data"][0]
        assert (newest["id"], newest["origin"], newest["content"]) == (answer["versionId"], "restored", text)
    kind, payload = world.events()[-1]
    assert (kind, payload["updateType"]) == ("prompt.updated", "restored")


def test_restoring_the_live_text_changes_nothing(world):
    (live,) = page(world)["data"]
    answer = restore(world, live["id"])
    assert (answer["changed"], answer["versionId"]) == (False, live["id"])
    assert len(page(world)["data"]) == 1
    assert world.kinds() == []


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


def test_an_undo_does_not_write_over_a_later_change(world):
    applied = world.apply(world.optimization())
    edit(world, "Mine.")
    with pytest.raises(ApiException) as caught:
        restore(world, applied["previousVersionId"], if_version_id=applied["versionId"])
    assert caught.value.code == "INVALID_STATE"
    assert world.text == "Mine."


def test_what_is_no_version_of_this_prompt_is_refused(world):
    stranger, other = World(world.database), world.add_prompt()
    foreign = page(stranger)["data"][0]["id"]
    sibling = world.ask(versions.page, other, query=place(1, 0))["data"][0]["id"]
    mine = page(world)["data"][0]["id"]
    near = (
        mine.replace("ver_", "ver_0"),
        mine.upper(),
        mine.removeprefix("ver_"),
        f" {mine}",
        "ver_",
        "ver_²",
    )
    for version_id in (foreign, sibling, "none", "", "ver_-1", f"ver_{9**40}", *near):
        with pytest.raises(ApiException) as caught:
            restore(world, version_id)
        assert (caught.value.code, set(caught.value.details)) == ("NOT_FOUND", {"versionId"})
    for call in (
        lambda: stranger.ask(versions.page, world.prompt_id, query=place(1, 0)),
        lambda: stranger.ask(versions.restore, world.prompt_id, to_version(mine)),
    ):
        with pytest.raises(ApiException, match="Prompt not found"):
            call()
    assert world.kinds() == stranger.kinds() == []
