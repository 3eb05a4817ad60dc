"""A search through the service: generations, budget, what the API says of it, and when there is none."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from benchmarks.prompt_world.model import PURPOSE, WorldModel
from benchmarks.prompt_world.world import draw_world
from promptlift.schema.search import CIRCULAR
from promptlift.stats import smallest_findable_points
from support.optimizing_caller import calling
from support.searching import SMALL, world_prompt
from support.service_process import wait_until
from support.stub_endpoint import Say

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A world in which an optimization searched, what its model was asked, who asks, and the ended optimization."""
    world = draw_world("additive", 3)
    model = WorldModel(world)
    with calling(model, tmp_path_factory.mktemp("searched")) as caller:
        caller.settings(**SMALL)
        prompt_id = world_prompt(caller, world)
        model.forget()
        found = caller.ended(caller.start(prompt_id, mode="exploratory", variantCount=3)["id"])
        assert found["status"] == "completed", found["failure"]
        yield world, Counter(model.asked, conversations=model.conversations), caller, found


def test_a_search_learns_from_failures_that_it_quotes_and_its_finalist_is_better(searched):
    world, asked, caller, found = searched
    assert asked["reflection"] >= 3
    assert asked["variants"] == 0
    variants = caller.variants(found["id"])
    finalist = next(one for one in variants if one.get("isFinalist"))
    assert world.gain(finalist["content"]) > 10
    assert {one["generation"] for one in variants} >= {0, 1}
    assert finalist["search"]["state"] == "finalist"
    kept = [edit for edit in finalist["edits"] if edit["state"] == "kept"]
    assert all(edit["text"] in finalist["content"] for edit in kept if edit["operation"] != "delete")
    assert all(edit["evidence"] for edit in kept)
    assert all(edit["effectLow"] < edit["effect"] < edit["effectHigh"] for edit in kept)
    held = {one["id"]: one["content"] for one in caller.simulations(found["id"], includeContent="true")}
    for one in (one for variant in variants for edit in variant["edits"] for one in edit["evidence"]):
        place = one["conversationId"]
        content = held.get(place) or caller.ask("GET", f"/conversations/{place}")["content"]
        assert one["quote"].casefold() in content.casefold()


def test_texts_have_their_length_and_what_is_known_of_its_cost(searched):
    _, _, caller, found = searched
    for one in caller.variants(found["id"]):
        length = one["length"]
        assert length["words"] == len(one["content"].split())
        # Two messages of the user in each logged conversation.
        assert length["tokensPerConversation"] == pytest.approx(2 * len(one["content"]) / 4)
        assert length["costPerMonth"] is None
    arms = [{"name": "As it is", "promptId": found["promptId"]}]
    prices = {"stub": {"input": 2.5, "output": 10}}
    body = {"arms": arms, "prices": prices, "scenarioSet": {"count": 1}}
    caller.ask("POST", "/benchmarks", body)
    for one in caller.variants(found["id"]):
        tokens = one["length"]["tokensPerConversation"]
        assert one["length"]["costPerMonth"] == pytest.approx(tokens * 40 * 2.5 / 1e6)


def test_conversations_stay_within_the_budget_and_no_cell_of_the_search_decides(searched):
    _, asked, caller, found = searched
    plan = found["searchPlan"]
    held = caller.simulations(found["id"])
    by_stage = {
        stage: [one for one in held if one["stage"] == stage] for stage in ("screen", "confirm", "verify")
    }
    for part, stage in (("search", "screen"), ("confirmation", "confirm"), ("verification", "verify")):
        assert plan[part]["spent"] == len(by_stage[stage]) <= plan[part]["planned"]
    # What the same settings cost without a search: two passes of screening, and eight of two arms, with 6 cells each.
    most = 6 * (4 + 3 + 2 * 8)
    assert len(by_stage["screen"]) + len(by_stage["confirm"]) <= most
    assert asked["conversations"] == len(held)
    assert plan["generations"] <= plan["generationsMax"]
    deciding = by_stage["confirm"] + by_stage["verify"]
    assert deciding
    for what in (lambda one: one["cell"], lambda one: one["scenario"]["opening"]):
        assert not set(map(what, by_stage["screen"])) & set(map(what, deciding))


def test_the_search_has_half_of_the_log_and_the_decision_the_rest_in_its_mix(searched):
    _, _, caller, found = searched
    quoted = [
        one["conversationId"]
        for variant in caller.variants(found["id"])
        for edit in variant["edits"]
        for one in edit["evidence"]
    ]
    with closing(sqlite3.connect(caller.service.data / "promptlift.db")) as connection:
        kept = connection.execute("SELECT pool, search FROM optimizations WHERE id = ?", [found["id"]])
        pool, search = map(json.loads, kept.fetchone())
        cells = connection.execute(
            "SELECT stage, scenario FROM optimization_cells WHERE optimization_id = ?", [found["id"]]
        ).fetchall()
    read = set(search["read"])
    sources = [(stage == "screen", json.loads(scenario).get("conversationId")) for stage, scenario in cells]
    assert any(not searching for searching, one in sources if one)
    assert all((one in read) == searching for searching, one in sources if one)
    assert {one for one in quoted if not one.startswith("sim_")} <= read
    rest = [weight > 1 for one, weight in pool if one not in read]
    assert len(read) - len(rest) in (0, 1, 2)
    assert sum(rest) == pytest.approx(sum(weight > 1 for _, weight in pool) / 2, abs=0.5)
    # Drawn at random: not the failures first.
    assert sum(rest[: sum(rest)]) not in (0, sum(rest))


def test_a_search_with_given_personas_stays_with_them(searched):
    _, _, caller, before = searched
    panel = sorted(one["id"] for one in caller.ask("GET", "/personas")["data"][:2])
    found = caller.ended(caller.start(before["promptId"], variantCount=2, personaIds=panel)["id"])
    assert found["status"] == "completed", found["failure"]
    assert found["results"]["estimand"] == "panel"
    held = caller.simulations(found["id"], stage="screen")
    assert {one["persona"]["id"] for one in held} == set(panel)


def test_headroom_is_said_before_anything_is_spent(searched):
    _, _, caller, before = searched
    caller.settings(maxIterations=10, personaCount=5, scenariosPerSimulation=3)
    panel = [one["id"] for one in caller.ask("GET", "/personas")["data"][:2]]
    asked = [
        ({}, 105, 0.67),
        ({"mode": "validation", "search": "off"}, 240, 0.65),
        # Two personas with three scenarios each in the place of five: 48 pairs without a search, 42 with it.
        ({"personaIds": panel}, 42, 0.67),
    ]
    for body, pairs, theta in asked:
        made = caller.start(before["promptId"], **body)
        caller.ask("POST", f"/optimizations/{made['id']}/stop")
        headroom = made["headroom"]
        # One model found the issues and the failures, so what mending them could give is not told.
        assert (headroom["enough"], headroom["text"]) == (None, CIRCULAR)
        assert headroom["conversations"] == 40
        assert headroom["issues"]
        # What can be found is that of the pairs that a search leaves.
        assert headroom["pointsFindable"] == smallest_findable_points(pairs, e_threshold=9.0, theta=theta)
        assert caller.get(made["id"])["headroom"] == headroom
    caller.settings(**SMALL)


class IncapableModel(WorldModel):
    """Does everything but write other edits than ``edits``; ``None`` refuses to write any."""

    edits = None

    def __call__(self, asked):
        if asked.headers.get(PURPOSE) == "reflection" and self.edits is None:
            self.asked["reflection"] += 1
            return Say({"error": {"message": "This model's maximum context length is 4096."}}, status=400)
        return super().__call__(asked)

    def _reflection(self, _body):
        return self.edits


@pytest.fixture(scope="module")
def incapable(tmp_path_factory):
    """A model that writes no edits, who asks, and a prompt with logged failures."""
    world = draw_world("additive", 3)
    model = IncapableModel(world)
    with calling(model, tmp_path_factory.mktemp("incapable")) as caller:
        prompt_id = world_prompt(caller, world)
        yield model, caller, prompt_id


def written_at_once(caller, model, prompt_id, **body):
    """Optimize until variants are written, which must be at once; gives the warnings."""
    model.forget()
    optimization_id = caller.start(prompt_id, **{"variantCount": 3, **body})["id"]
    wait_until(lambda: caller.variants(optimization_id), what="variants are written")
    found = caller.get(optimization_id)
    caller.ask("POST", f"/optimizations/{optimization_id}/stop")
    assert found["searchPlan"] is None
    assert model.asked["variants"] >= 1
    assert all("generation" not in one for one in caller.variants(optimization_id))
    return found["results"]["warnings"]


def test_without_its_conditions_variants_are_written_at_once(incapable):
    model, caller, prompt_id = incapable
    caller.settings(**SMALL)
    without_failures = caller.prompt(content=model.world.seed_prompt)
    for switch, wanted, body in (
        ("on", prompt_id, {"search": "off"}),
        ("off", prompt_id, {}),
        ("on", prompt_id, {"variantCount": 1}),
        ("on", without_failures, {}),
    ):
        caller.ask("PATCH", "/settings", {"optimization": {"search": switch}})
        warnings = written_at_once(caller, model, wanted, **body)
        assert model.asked["reflection"] == 0
        assert not any("search" in one for one in warnings)


UNFOUNDED = {"operation": "add", "text": "Be brief.", "evidence": [{"conversation": "c1", "quote": "?!"}]}


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ("I would rather not.", "The model could not be asked for edits"),
        (None, "maximum context length is 4096"),
        ({"edits": []}, "The model wrote no edits."),
        ({"edits": [UNFOUNDED]}, "Its quotation is not in the conversation."),
    ],
)
def test_a_model_that_writes_no_edits_writes_variants_and_the_result_says_why(incapable, edits, reason):
    model, caller, prompt_id = incapable
    model.edits = edits
    caller.settings(**SMALL)
    warnings = written_at_once(caller, model, prompt_id, search="on")
    assert model.asked["reflection"] >= 1
    (why,) = [one for one in warnings if one.startswith("There was no search")]
    assert reason in why


def test_a_budget_without_room_for_a_generation_and_a_confirmation_is_said(incapable):
    model, caller, prompt_id = incapable
    caller.settings(**{**SMALL, "maxIterations": 1})
    warnings = written_at_once(caller, model, prompt_id, search="on")
    assert any("The budget pays for no generation" in one for one in warnings)
    assert model.asked["reflection"] == 0
