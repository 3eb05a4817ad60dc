"""Prompts whose text nobody gave yet: marked, never optimized, and filled by the first text."""

from __future__ import annotations

from datetime import UTC, datetime

from promptlift.schema.optimizations import OptimizationCreate
from promptlift.schema.prompts import PromptCreate, PromptUpdate
from promptlift.service.actions import optimizations, prompts, versions
from support.asking import place

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
