"""Benchmarks over real sockets: which texts and models run, what a failing model does, and scenario sets that stay."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from support.answering_model import AnsweringModel
from support.optimizing_caller import Caller, calling
from support.service_process import wait_until
from support.stub_endpoint import Say

pytestmark = pytest.mark.slow

LOGGED = "User: My parcel {n} is late, where is it?\nAssistant: It is solved: tomorrow.\nUser: Thanks."


class Benchmarks(Caller):
    """Asks for benchmarks."""

    def begin(self, *arms, expect=200, **body):
        body.setdefault("scenarioSet", {"count": 6, "source": "model"})
        return self.ask(
            "POST", "/benchmarks", {"arms": list(arms), "maxTurns": 2, "seed": 3, **body}, expect=expect
        )

    def over(self, made, **query):
        path = f"/benchmarks/{made['id']}"
        wait_until(
            lambda: self.ask("GET", path)["status"] not in ("queued", "running"), what="the benchmark ends"
        )
        return self.ask("GET", path, **query)

    def conversations(self, made, **query):
        return self.ask("GET", f"/benchmarks/{made['id']}/conversations", limit=100, **query)["data"]


@pytest.fixture(scope="module")
def model():
    return AnsweringModel(better=0.3)


@pytest.fixture(scope="module")
def caller(model, tmp_path_factory):
    with (
        calling(model, tmp_path_factory.mktemp("benchmarks"), PROMPTLIFT_LLM_PATIENCE="1") as opened,
        closing(Benchmarks(opened.service)) as asking,
    ):
        yield asking


@pytest.fixture
def faulty(model):
    """Lets a test answer in the model's place."""
    yield model
    model.fault = None


def test_every_arm_runs_its_own_text_on_its_own_model(caller, faulty):
    asked = set()

    def note(one):
        if one.headers["x-promptlift-purpose"] == "agent":
            asked.add((one.body["model"], one.body["messages"][0]["content"]))

    faulty.fault = note
    prompt = caller.prompt(content="First text.", llmModel="gpt-4o")
    caller.ask("PATCH", f"/prompts/{prompt}", {"content": "Second text."})
    versions = caller.ask("GET", f"/prompts/{prompt}/versions")["data"]
    other = caller.prompt(content="Another prompt.", llmModel="gpt-4o-mini")
    made = caller.begin(
        {"promptId": prompt},
        {"promptId": prompt, "versionId": versions[1]["id"], "name": "Before"},
        {"promptId": prompt, "llmModel": "gpt-4.1"},
        {"agentId": other},
    )
    # What becomes of the prompt later does not affect it.
    caller.ask("PATCH", f"/prompts/{prompt}", {"content": "Third text."})
    found = caller.over(made)
    assert found["status"] == "completed"
    assert asked == {
        ("gpt-4o", "Second text."),
        ("gpt-4o", "First text."),
        ("gpt-4.1", "Second text."),
        ("gpt-4o-mini", "Another prompt."),
    }
    names = [arm["name"] for arm in found["arms"]]
    assert names == ["Parcels", "Before", "Parcels on gpt-4.1", "Parcels (2)"]
    # The same cells for all.
    openings = [{one["scenario"]["opening"] for one in caller.conversations(made, arm=n)} for n in range(4)]
    assert len(openings[0]) == 6
    assert openings[0] == openings[1] == openings[2] == openings[3]


def test_tokens_and_prices_give_costs_and_the_cheapest(caller):
    prompt = caller.prompt()
    prices = {"gpt-4o": {"input": 2.0, "output": 8.0}, "gpt-4o-mini": {"input": 0.2, "output": 0.8}}
    made = caller.begin(
        {"promptId": prompt, "llmModel": "gpt-4o"}, {"promptId": prompt, "llmModel": "gpt-4o-mini"}, prices=prices,
        scenarioSet={"count": 30, "source": "model"},
    )  # fmt: skip
    results = caller.over(made, margin=20)["results"]
    for number, arm in enumerate(results["arms"]):
        held = caller.conversations(made, arm=number)
        # The stub counts 10 and 5 tokens an answer.
        assert arm["inputTokens"] == pytest.approx(sum(10 * one["turns"] for one in held) / len(held))
        price = prices[arm["llmModel"]]
        cost = (arm["inputTokens"] * price["input"] + arm["outputTokens"] * price["output"]) / 1e6
        assert arm["costPerConversation"] == pytest.approx(cost)
        assert arm["costPerCompleted"] == pytest.approx(cost / (arm["taskCompletion"] / 100))
        assert not arm["tokensEstimated"]
    # The stub answers the same whatever the model is called.
    (pair,) = results["comparisons"]
    assert (pair["n10"], pair["n01"], pair["notWorse"]) == (0, 0, True)
    assert results["acceptable"] == [0, 1]
    assert (results["cheapest"]["number"], results["cheapest"]["basis"]) == (1, "price")
    strict = caller.over(made, margin=0.5)["results"]
    assert (strict["acceptable"], strict["cheapest"]["number"]) == ([0], 0)


def test_an_arm_whose_model_is_gone_is_given_up_and_the_others_go_on(caller, faulty):
    gone = Say({"error": {"message": "no such model here"}}, status=404)
    faulty.fault = lambda one: gone if one.body["model"] == "gpt-4.1" else None
    prompt = caller.prompt()
    made = caller.begin(
        {"promptId": prompt}, {"promptId": prompt, "llmModel": "gpt-4.1"}, {"promptId": prompt}
    )
    found = caller.over(made)
    assert found["status"] == "completed"
    assert [(arm["n"], arm["dropped"]) for arm in found["results"]["arms"]] == [(6, 0), (0, 6), (6, 0)]
    assert found["results"]["arms"][1]["taskCompletion"] is None
    assert found["results"]["warnings"]
    assert "no such model here" in caller.conversations(made, arm=1)[0]["error"]
    # What failed for want of a model is not claimed to be as good.
    assert found["results"]["acceptable"] in ([0], [0, 2])


def test_a_benchmark_fails_with_the_reason_and_resumes_where_it_was(caller, faulty):
    refused = Say({"error": {"message": "wrong key"}}, status=401)
    faulty.fault = lambda one: refused if one.headers["x-promptlift-purpose"] == "persona" else None
    prompt = caller.prompt()
    made = caller.begin({"promptId": prompt}, {"promptId": prompt})
    failed = caller.over(made)
    assert failed["status"] == "failed"
    assert "wrong key" in failed["failure"]
    faulty.fault = None
    resumed = caller.ask("POST", f"/benchmarks/{made['id']}/resume")
    assert (resumed["status"], resumed["failure"]) == ("queued", None)
    found = caller.over(made)
    assert found["status"] == "completed"
    # Conversations that were lost to the failure were held again.
    assert [(arm["n"], arm["dropped"]) for arm in found["results"]["arms"]] == [(6, 0), (6, 0)]


def test_scenarios_come_from_logged_conversations_and_stay_what_they_were(caller):
    prompt = caller.prompt()
    ids = caller.log(prompt, [LOGGED.format(n=n) for n in range(5)])
    made = caller.begin(
        {"promptId": prompt}, scenarioSet={"source": "conversations", "count": 4, "name": "May"}
    )
    found = caller.over(made)
    set_id = found["scenarioSet"]["id"]
    kept = caller.ask("GET", f"/scenario-sets/{set_id}")
    assert (kept["name"], kept["count"], len(kept["scenarios"])) == ("May", 4, 4)
    assert {one["conversationId"] for one in kept["scenarios"]} < set(ids)
    assert all(one["opening"].startswith("My parcel") for one in kept["scenarios"])
    # Another benchmark, another text, the same cells.
    again = caller.begin({"promptId": caller.prompt(content="Other.")}, scenarioSet={"id": set_id})
    caller.over(again)
    cells = [
        [(one["cell"], one["scenario"], one["persona"]) for one in caller.conversations(one)]
        for one in (made, again)
    ]
    assert cells[0] == cells[1]
    named = caller.begin({"promptId": prompt}, scenarioSet={"conversationIds": ids[1:3]})
    caller.over(named)
    chosen = caller.ask("GET", f"/scenario-sets/{named['scenarioSet']['id']}")["scenarios"]
    assert [one["conversationId"] for one in chosen] == ids[1:3]


def test_too_few_logged_conversations_make_a_smaller_set_and_none_fail_with_what_to_do(caller):
    prompt = caller.prompt()
    wanted = {"source": "conversations", "count": 9}
    failed = caller.over(caller.begin({"promptId": prompt}, scenarioSet=wanted))
    assert failed["status"] == "failed"
    assert '{"source": "model"}' in failed["failure"]
    caller.log(prompt, [LOGGED.format(n=n) for n in range(2)])
    found = caller.over(caller.begin({"promptId": prompt}, scenarioSet=wanted))
    assert (found["status"], found["scenarioSet"]["count"]) == ("completed", 2)
    assert found["progress"] == {"conversationsDone": 2, "conversationsTotal": 2, "fraction": 1.0}


def test_arms_and_scenarios_that_are_not_there_are_named(caller):
    prompt = caller.prompt()
    for arm, field in (
        ({}, "promptId"),
        ({"promptId": "prm_none"}, "promptId"),
        ({"promptId": prompt, "versionId": "ver_999999"}, "versionId"),
        ({"promptId": prompt, "variantId": "var_none"}, "variantId"),
        ({"promptId": prompt, "versionId": "ver_1", "variantId": "var_1"}, "variantId"),
        ({"promptId": prompt, "llmModel": "gpt-4oo"}, "llmModel"),
        ({"promptId": prompt, "agentId": "other"}, "agentId"),
    ):
        error = caller.begin({"promptId": prompt}, arm, expect=400)["error"]
        assert (error["code"], list(error["details"])) == ("VALIDATION_ERROR", [f"arms[1].{field}"])
    for wanted, field in (
        ({"id": "set_none"}, "id"),
        ({"version": 2}, "version"),
        ({"promptId": "prm_none"}, "promptId"),
        ({"conversationIds": ["cnv_none"]}, "conversationIds[0]"),
    ):
        error = caller.begin({"promptId": prompt}, scenarioSet=wanted, expect=400)["error"]
        assert list(error["details"]) == [f"scenarioSet.{field}"]


def test_a_deleted_benchmark_begins_nothing_more(caller, model):
    prompt = caller.prompt()
    made = caller.begin({"promptId": prompt}, scenarioSet={"count": 150, "source": "model"})
    path = f"/benchmarks/{made['id']}"
    wait_until(lambda: caller.ask("GET", path)["progress"]["conversationsDone"] > 3, what="it makes progress")
    answer = caller.ask("POST", "/benchmarks/bulk", {"action": "delete", "jobIds": [made["id"]]})
    assert answer["deleted"] == [made["id"]]
    caller.ask("GET", path, expect=404)
    begun = sum(model.conversations.values())
    caller.over(caller.begin({"promptId": prompt}))
    # Those of the other benchmark, and at most one for each place at a time that was already on its way.
    assert sum(model.conversations.values()) <= begun + 6 + 12
    assert made["scenarioSet"]["id"] in json.dumps(caller.ask("GET", "/scenario-sets"))
