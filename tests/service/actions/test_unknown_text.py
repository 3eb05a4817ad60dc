"""Prompts whose text nobody gave yet: marked, never optimized, and filled by the first text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from promptlift.schema.optimizations import OptimizationCreate
from promptlift.schema.prompts import PromptCreate, PromptUpdate
from promptlift.schema.queries import OptimizationsQuery
from promptlift.service.actions import optimizations, prompts, versions
from promptlift.service.errors import ApiException
from support.asking import place, to_version
from support.deployed import ORIGINAL

MODEL = "gpt-4o-mini"
STAND_IN = "Imported; the text is not known."
OCTOBER, LATER = datetime(2025, 10, 1, 9, tzinfo=UTC), datetime(2025, 10, 15, tzinfo=UTC)


def make(world, **fields):
    body = PromptCreate(name="Imported", llm_model=MODEL, **{"content": STAND_IN, **fields})
    return world.ask(prompts.create, body=body)


def edit(world, prompt_id, **fields):
    return world.ask(prompts.update, prompt_id, PromptUpdate(**fields))


def texts(world, prompt_id):
    page = world.ask(versions.page, prompt_id, query=place(100, 0))
    return [(one["number"], one["content"], one["origin"], one["createdAt"]) for one in page["data"]]


def optimize(world, prompt_id, **fields):
    body = OptimizationCreate(**{"prompt_id": prompt_id, **fields})
    return world.ask(optimizations.create, body=body)


def test_a_prompt_of_unknown_text_is_marked_and_shows_no_text_as_its_version(world):
    made = make(world, content_known=False)
    assert made["contentKnown"] is False
    assert [row[:3] for row in texts(world, made["id"])] == [(1, None, "created")]
    known = make(world)
    assert known["contentKnown"] is True
    assert [row[:3] for row in texts(world, known["id"])] == [(1, STAND_IN, "created")]


@pytest.mark.parametrize("link", ["promptId", "agentId"])
def test_what_stands_in_for_a_text_is_not_optimized_and_the_refusal_names_the_way_out(world, link):
    made = make(world, content_known=False)
    name = {"promptId": "prompt_id", "agentId": "agent_id"}[link]
    with pytest.raises(ApiException) as caught:
        world.ask(optimizations.create, body=OptimizationCreate(**{name: made["id"]}))
    assert (caught.value.code, caught.value.details) == ("INVALID_STATE", {link: "has no known text yet"})
    assert f"lift.client.prompts.update('{made['id']}', content=…)" in caught.value.message
    assert f"promptlift prompts set {made['id']} FILE" in caught.value.message
    edit(world, made["id"], name="Still unknown")
    with pytest.raises(ApiException):
        optimize(world, made["id"])
    edit(world, made["id"], content="You help.")
    assert optimize(world, made["id"])["status"] in ("queued", "running")


def test_a_refused_optimization_costs_no_quota(world):
    made = make(world, content_known=False)
    for _ in range(3):
        with pytest.raises(ApiException):
            optimize(world, made["id"])
    listed = world.ask(optimizations.page, query=OptimizationsQuery(prompt_id=made["id"]))
    assert listed["pagination"]["total"] == 0


def test_the_first_text_takes_the_place_of_the_stand_in(world):
    made = make(world, content_known=False)
    told = len(world.events())
    edit(world, made["id"], content="You help.", live_from=OCTOBER)
    row = world.ask(prompts.get, made["id"])
    assert (row["content"], row["contentKnown"]) == ("You help.", True)
    assert texts(world, made["id"]) == [(1, "You help.", "created", "2025-10-01T09:00:00.000Z")]
    assert [kind for kind, _ in world.events()[told:]] == ["prompt.updated"]
    edit(world, made["id"], content="You help a lot.", live_from=LATER)
    assert texts(world, made["id"]) == [
        (2, "You help a lot.", "updated", "2025-10-15T00:00:00.000Z"),
        (1, "You help.", "created", "2025-10-01T09:00:00.000Z"),
    ]


def test_the_same_words_can_turn_out_to_be_the_text(world):
    made = make(world, content_known=False)
    edit(world, made["id"], content=STAND_IN)
    assert [row[:3] for row in texts(world, made["id"])] == [(1, STAND_IN, "created")]
    assert optimize(world, made["id"])["status"] in ("queued", "running")


def test_a_text_may_have_been_live_for_a_while(world):
    made = make(world, live_from=OCTOBER)
    assert texts(world, made["id"]) == [(1, STAND_IN, "created", "2025-10-01T09:00:00.000Z")]
    assert made["createdAt"] > "2026"
    with pytest.raises(ApiException) as caught:
        edit(world, made["id"], content="Earlier.", live_from=OCTOBER - timedelta(seconds=1))
    assert caught.value.details == {
        "liveFrom": "must not be before 2025-10-01T09:00:00.000Z, since when the current text has been in use"
    }
    assert len(texts(world, made["id"])) == 1
    assert world.ask(prompts.get, made["id"])["content"] == STAND_IN


@pytest.mark.parametrize("model", [PromptCreate, PromptUpdate])
def test_no_text_is_live_from_the_future_or_from_no_time(model):
    given = {"name": "n", "content": "c", "llm_model": MODEL}
    ahead = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    with pytest.raises(ValueError, match="must not be in the future"):
        model(**given, live_from=ahead)
    for bad in ("yesterday", "0001-01-01T00:00:00+14:00"):
        with pytest.raises(ValueError, match="must be an ISO 8601 time"):
            model(**given, live_from=bad)


def test_going_back_to_a_text_brings_back_whether_it_is_known(world):
    """Databases from before had prompts of unknown text with several versions."""
    from sqlalchemy import update

    from promptlift.service.store.tables import prompt_versions
    from promptlift.service.store.tables import prompts as table

    with world.database.write() as connection:
        connection.execute(update(table).where(table.c.id == world.prompt_id).values(content_known=False))
        connection.execute(update(prompt_versions).values(content_known=False))
    edit(world, world.prompt_id, content="Known now.")
    edit(world, world.prompt_id, content="Another.")
    page = world.ask(versions.page, world.prompt_id, query=place(9, 0))["data"]
    assert [one["content"] for one in page] == ["Another.", "Known now."]
    world.ask(versions.restore, world.prompt_id, to_version(page[1]["id"]))
    assert optimize(world, world.prompt_id)["status"] in ("queued", "running")


def test_a_variant_of_an_unknown_text_is_no_known_text_either(world):
    """Optimizations of such prompts ran before they were refused."""
    from sqlalchemy import update

    from promptlift.service.store.tables import prompt_versions
    from promptlift.service.store.tables import prompts as table

    optimization_id = world.optimization()
    with world.database.write() as connection:
        connection.execute(update(table).where(table.c.id == world.prompt_id).values(content_known=False))
        connection.execute(update(prompt_versions).values(content_known=False))
    world.apply(optimization_id)
    with pytest.raises(ApiException, match="is not known"):
        optimize(world, world.prompt_id)
    edit(world, world.prompt_id, content=ORIGINAL + "Really.")
    assert [row[1] for row in texts(world, world.prompt_id)] == [ORIGINAL + "Really.", None, None]
