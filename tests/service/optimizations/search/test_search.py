"""A search through the service: generations, budget, what the API says of it, and when there is none."""

from __future__ import annotations

import pytest

from benchmarks.prompt_world.model import PURPOSE, WorldModel
from benchmarks.prompt_world.world import draw_world
from promptlift.schema.search import CIRCULAR
from promptlift.service.optimizations.logged_words import LoggedWords
from promptlift.stats import smallest_findable_points
from support.answering_model import AnsweringModel
from support.searching import SMALL, world_prompt
from support.stub_endpoint import Say

pytestmark = pytest.mark.slow


@pytest.fixture
def searched(begin):
    """Optimize in a world with a search; gives the world, its model, the caller and the ended optimization."""

    def run(family="additive", *, seed=3, mode="exploratory", settings=SMALL, **body):
        world = draw_world(family, seed)
        model = WorldModel(world)
        caller = begin(model)
        caller.settings(**settings)
        prompt_id = world_prompt(caller, world)
        model.forget()
        made = caller.start(prompt_id, mode=mode, variantCount=3, **body)
        found = caller.ended(made["id"])
        assert found["status"] == "completed", found["failure"]
        return world, model, caller, found

    return run


def test_a_search_learns_from_failures_and_its_finalist_is_better(searched):
    world, model, caller, found = searched()
    assert model.asked["reflection"] >= 3
    assert model.asked["variants"] == 0
    variants = caller.variants(found["id"])
    finalist = next(one for one in variants if one.get("isFinalist"))
    assert world.gain(finalist["content"]) > 10
    assert {one["generation"] for one in variants} >= {0, 1}
    assert finalist["search"]["state"] == "finalist"
    kept = [edit for edit in finalist["edits"] if edit["state"] == "kept"]
    assert all(edit["text"] in finalist["content"] for edit in kept if edit["operation"] != "delete")
    assert all(edit["evidence"] for edit in kept)


def test_evidence_stands_in_the_conversations_that_it_names(searched):
    _, _, caller, found = searched()
    held = {one["id"]: one["content"] for one in caller.simulations(found["id"], includeContent="true")}
    quotes = 0
    for variant in caller.variants(found["id"]):
        for edit in variant["edits"]:
            for one in edit["evidence"]:
                content = (
                    held.get(one["conversationId"])
                    or caller.ask("GET", f"/conversations/{one['conversationId']}")["content"]
                )
                assert one["quote"].casefold() in content.casefold()
                quotes += 1
    assert quotes


def test_conversations_stay_within_the_budget_and_the_plan_says_what_was_spent(searched):
    _, model, caller, found = searched()
    plan = found["searchPlan"]
    held = caller.simulations(found["id"])
    by_stage = {
        stage: sum(one["stage"] == stage for one in held) for stage in ("screen", "confirm", "verify")
    }
    assert plan["search"]["spent"] == by_stage["screen"] <= plan["search"]["planned"]
    assert plan["confirmation"]["spent"] == by_stage["confirm"] <= plan["confirmation"]["planned"]
    assert plan["verification"]["spent"] == by_stage["verify"] <= plan["verification"]["planned"]
    # What the same settings cost without a search: two passes of screening, and eight of two arms, with 4 cells each.
    most = 4 * (4 + 3 + 2 * 8)
    assert by_stage["screen"] + by_stage["confirm"] <= most
    assert by_stage["screen"] <= most // 2
    assert model.conversations == len(held)
    assert plan["generations"] <= plan["generationsMax"]


def test_no_cell_of_the_search_decides(searched):
    _, _, caller, found = searched()
    held = caller.simulations(found["id"])
    searched_cells = {one["cell"] for one in held if one["stage"] == "screen"}
    deciding = {one["cell"] for one in held if one["stage"] != "screen"}
    assert deciding
    assert not searched_cells & deciding
    openings = {one["scenario"]["opening"] for one in held if one["stage"] == "screen"}
    assert not openings & {one["scenario"]["opening"] for one in held if one["stage"] != "screen"}


def test_a_search_with_given_personas_stays_with_them(begin):
    world = draw_world("additive", 3)
    caller = begin(WorldModel(world))
    caller.settings(**SMALL)
    prompt_id = world_prompt(caller, world)
    panel = sorted(one["id"] for one in caller.ask("GET", "/personas")["data"][:2])
    found = caller.ended(caller.start(prompt_id, variantCount=2, personaIds=panel)["id"])
    assert found["status"] == "completed", found["failure"]
    assert found["results"]["estimand"] == "panel"
    held = caller.simulations(found["id"], stage="screen")
    assert {one["persona"]["id"] for one in held} == set(panel)


def test_headroom_is_said_before_anything_is_spent(begin):
    world = draw_world("additive", 3)
    caller = begin(WorldModel(world))
    prompt_id = world_prompt(caller, world)
    made = caller.start(prompt_id)
    # One model found the issues and the failures, so what mending them could give is not told.
    assert made["headroom"]["enough"] is None
    assert made["headroom"]["text"] == CIRCULAR
    assert made["headroom"]["conversations"] == 40
    assert made["headroom"]["issues"]
    assert caller.get(made["id"])["headroom"] == made["headroom"]


@pytest.mark.parametrize(
    ("body", "pairs"),
    [
        ({}, 75),
        ({"mode": "validation", "search": "off"}, 240),
        # Two personas with three scenarios each in the place of five: 48 pairs without a search, 30 with it.
        ({"personas": 2}, 30),
    ],
)
def test_what_can_be_found_is_that_of_the_pairs_that_a_search_leaves(begin, body, pairs):
    world = draw_world("additive", 3)
    caller = begin(WorldModel(world))
    prompt_id = world_prompt(caller, world)
    body = dict(body)
    if (personas := body.pop("personas", None)) is not None:
        body["personaIds"] = [one["id"] for one in caller.ask("GET", "/personas")["data"][:personas]]
    made = caller.start(prompt_id, **body)
    theta = 0.65 if body.get("mode") == "validation" else 0.67
    assert made["headroom"]["pointsFindable"] == smallest_findable_points(pairs, e_threshold=9.0, theta=theta)


@pytest.mark.parametrize("how", ["off in the request", "off in the settings", "one variant", "no failures"])
def test_without_its_conditions_variants_are_written_at_once(begin, how):
    world = draw_world("additive", 3)
    model = AnsweringModel() if how == "no failures" else WorldModel(world)
    caller = begin(model)
    caller.settings(**SMALL)
    if how == "off in the settings":
        caller.ask("PATCH", "/settings", {"optimization": {"search": "off"}})
    prompt_id = caller.prompt() if how == "no failures" else world_prompt(caller, world)
    body = {"off in the request": {"search": "off"}, "one variant": {"variantCount": 1}}.get(how, {})
    found = written_at_once(caller, model, prompt_id, **body)
    assert model.asked["reflection"] == 0
    assert not any("search" in one for one in found["results"]["warnings"])


def written_at_once(caller, model, prompt_id, **body):
    """Optimize where variants must be written at once; gives the optimization."""
    found = caller.ended(caller.start(prompt_id, **{"variantCount": 3, **body})["id"])
    assert found["status"] == "completed", found["failure"]
    assert found["searchPlan"] is None
    assert model.asked["variants"] >= 1
    assert all("generation" not in one for one in caller.variants(found["id"]))
    return found


class IncapableModel(WorldModel):
    """Does everything but write edits."""

    def __init__(self, world, edits):
        super().__init__(world)
        self.edits = edits

    def __call__(self, asked):
        if asked.headers.get(PURPOSE) == "reflection" and self.edits is None:
            self.asked["reflection"] += 1
            return Say({"error": {"message": "This model's maximum context length is 4096."}}, status=400)
        return super().__call__(asked)

    def _reflection(self, _body):
        return self.edits


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ("I would rather not.", "The model could not be asked for edits"),
        (None, "maximum context length is 4096"),
        ({"edits": []}, "The model wrote no edits."),
        (
            {
                "edits": [
                    {
                        "operation": "add",
                        "text": "Be brief.",
                        "evidence": [{"conversation": "c1", "quote": "?!"}],
                    }
                ]
            },
            "What it says of the conversations does not stand in them.",
        ),
    ],
)
def test_a_model_that_writes_no_edits_writes_variants_and_the_result_says_why(begin, edits, reason):
    world = draw_world("additive", 3)
    model = IncapableModel(world, edits)
    caller = begin(model)
    caller.settings(**SMALL)
    found = written_at_once(caller, model, world_prompt(caller, world))
    assert model.asked["reflection"] >= 1
    (why,) = [one for one in found["results"]["warnings"] if one.startswith("There was no search")]
    assert reason in why


def test_a_budget_without_room_for_a_generation_and_a_confirmation_is_said(begin):
    world = draw_world("additive", 3)
    model = WorldModel(world)
    caller = begin(model)
    caller.settings(**{**SMALL, "maxIterations": 1})
    found = written_at_once(caller, model, world_prompt(caller, world))
    assert any("The budget pays for no generation" in one for one in found["results"]["warnings"])
    assert model.asked["reflection"] == 0


def test_no_candidate_repeats_what_customers_said(searched):
    world, _, caller, found = searched("copy-trap")
    own = [world.seed_prompt]
    said = LoggedWords(
        own, ["\n".join(f"{role}: {text}" for role, text in one.messages) for one in world.log]
    )
    variants = caller.variants(found["id"])
    assert len(variants) > 1
    assert [said.repeated(one["content"]).problems() for one in variants] == [[] for _ in variants]
