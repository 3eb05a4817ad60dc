"""Judges of one's own, on the wire and through the client."""

from __future__ import annotations

import pytest

from agreement.covered import covers, same
from promptlift.service.store.database import Database
from support.answering_model import serving
from support.judging_model import QUESTION, JudgingModel, world
from support.service_process import ServiceProcess, wait_until
from support.wire import open_account


@pytest.fixture(scope="module")
def judging(tmp_path_factory):
    """A service whose model judges by a hidden rubric; gives it and a maker of accounts."""
    data = tmp_path_factory.mktemp("judging")
    with serving(JudgingModel()) as env:
        running = ServiceProcess(data, env=env).start()
        database = Database(f"sqlite:///{data / 'promptlift.db'}")
        try:
            yield lambda: open_account(running.base_url, database)
        finally:
            database.close()
            running.stop()


@pytest.fixture
def wire(judging):
    return judging()


@pytest.fixture
def client(wire, connect):
    return connect(wire)


def make(wire, **fields):
    answer = wire.ask("POST", "/judges", {"name": "refund", "question": QUESTION, **fields})
    assert answer.status in (200, 201), answer
    return answer.body


def log_world(wire, count=30):
    """Log conversations; gives the prompt and the owner's answers by conversation."""
    prompt, made = wire.add_prompt(), world(count)
    return prompt, {wire.log(prompt, text): made.truth[key] for key, text in made.texts.items()}


def ended(wire, run_id):
    wait_until(
        lambda: wire.get(f"/judge-runs/{run_id}")["status"] not in ("queued", "running"), what="the run ends"
    )
    return wire.get(f"/judge-runs/{run_id}")


@covers("POST /judges", "GET /judges/{id}", "GET /judges", "GET /judges/{id}/versions")
def test_a_changed_text_is_a_new_version_and_the_same_text_is_not(wire, client):
    first = make(wire)
    assert (first["version"], first["origin"], first["examples"]) == (1, "written", [])
    again = wire.ask("POST", "/judges", {"name": "refund", "question": QUESTION})
    assert (again.status, again.body) == (200, first)
    example = {"text": "User: hi", "answer": False}
    second = make(wire, rubric="Only clear promises count.", examples=[example])
    assert (second["id"], second["version"], second["versions"]) == (first["id"], 2, 2)
    assert second["examples"] == [example]
    other = client.judges.create(name="kind", question="Was it kind?", llm_model="gpt-4o")
    assert (other.version, other.llm_model) == (1, "gpt-4o")

    body = wire.get("/judges")
    assert [(one["name"], one["version"]) for one in body["data"]] == [("kind", 1), ("refund", 2)]
    assert same(client.judges.list(), body)
    assert wire.get("/judges?limit=1&offset=1")["data"] == [second]
    versions = wire.get(f"/judges/{first['id']}/versions")
    assert [one["version"] for one in versions["data"]] == [2, 1]
    assert same(client.judges.versions(first["id"]), versions)
    assert same(client.judges.get(first["id"], version=1), wire.get(f"/judges/{first['id']}?version=1"))
    assert wire.get(f"/judges/{first['id']}")["version"] == 2
    assert wire.ask("GET", f"/judges/{first['id']}?version=3").status == 404
    refused = wire.ask("POST", "/judges", {"name": " ", "question": QUESTION, "llmModel": "gtp-4o"})
    assert set(refused.error["details"]) == {"name"}
    assert (
        "llmModel"
        in wire.ask("POST", "/judges", {"name": "x", "question": QUESTION, "llmModel": "gtp-4o"}).error[
            "details"
        ]
    )


@covers("POST /judges/{id}/plan", "POST /judges/{id}/backfill", "GET /judge-runs", "GET /judge-runs/{id}")
@covers("GET /judges/{id}/verdicts")
def test_a_backfill_costs_what_was_planned_and_judges_each_conversation_once(wire, client):
    prompt, truth = log_world(wire)
    other = wire.add_prompt()
    wire.log(other)
    judge = make(wire)["id"]
    price = {"input": 1.0, "output": 2.0}
    plan = wire.ask("POST", f"/judges/{judge}/plan", {"promptId": prompt, "price": price})
    assert plan.status == 200
    assert (plan.body["conversations"], plan.body["calls"], plan.body["callsMax"]) == (30, 30, 60)
    assert plan.body["cost"] == pytest.approx(
        (plan.body["inputTokens"] + 2 * plan.body["outputTokens"]) / 1e6
    )
    assert same(client.judges.plan(judge, prompt_id=prompt, price=price), plan.body)
    assert wire.ask("POST", f"/judges/{judge}/plan").body["conversations"] == 31

    begun = wire.ask("POST", f"/judges/{judge}/backfill", {"promptId": prompt, "price": price})
    assert begun.status == 200
    found = ended(wire, begun.body["id"])
    assert (found["status"], found["progress"]) == ("completed", {"done": 30, "failed": 0, "total": 30})
    # The stub counts 100 tokens in and 20 out for every answer.
    assert found["usage"] == {"modelCalls": 30, "tokens": 3_600, "cost": pytest.approx(0.0042)}
    assert same(client.judge_runs.get(found["id"]), found)
    listed = wire.get("/judge-runs")
    assert same(client.judge_runs.list(judge_id=judge), listed)
    assert [one["id"] for one in listed["data"]] == [found["id"]]

    page = wire.get(f"/judges/{judge}/verdicts?limit=100")
    assert page["pagination"]["total"] == 30
    assert {one["conversationId"] for one in page["data"]} == set(truth)
    assert same(client.judges.verdicts(judge, limit=100), page)
    assert wire.get(f"/judges/{judge}/verdicts?promptId={other}")["data"] == []
    rest = client.judges.backfill(judge)
    assert ended(wire, rest.id)["usage"]["modelCalls"] == 1
    assert wire.ask("POST", f"/judges/{judge}/plan").body["alreadyJudged"] == 31
    details = wire.ask("POST", f"/judges/{judge}/plan", {"maxCost": 1.0}).error["details"]
    assert set(details) == {"price"}


@covers("POST /judge-runs/{id}/stop", "POST /judge-runs/{id}/resume", "DELETE /judges/{id}")
def test_stop_resume_and_delete(wire, client):
    log_world(wire, 40)  # more than are judged side by side
    judge = make(wire)["id"]
    begun = wire.ask("POST", f"/judges/{judge}/backfill", {"maxTokens": 1}).body
    found = ended(wire, begun["id"])
    assert found["status"] == "stopped"
    assert found["stopReason"].startswith("The limit of 1 tokens is reached.")
    resumed = wire.ask("POST", f"/judge-runs/{begun['id']}/resume")
    assert (resumed.status, resumed.body["status"]) == (200, "queued")
    ended(wire, begun["id"])
    assert same(client.judge_runs.get(begun["id"]), wire.get(f"/judge-runs/{begun['id']}"))
    refused = wire.ask("POST", f"/judge-runs/{begun['id']}/stop", {"reason": "late"})
    assert (refused.status, refused.error["code"]) == (409, "INVALID_STATE")
    done = ended(wire, client.judges.backfill(judge).id)
    assert done["status"] == "completed"
    assert wire.ask("POST", f"/judge-runs/{done['id']}/resume").status == 409
    assert wire.ask("DELETE", f"/judges/{judge}").body == {"success": True, "message": "Judge deleted"}
    assert wire.ask("GET", f"/judge-runs/{begun['id']}").status == 404
    assert client.judges.list().data == []


@covers("POST /judges/{id}/align")
def test_align(wire, client):
    _, truth = log_world(wire, 60)
    judge = make(wire)["id"]
    labels = [{"conversationId": one, "value": value} for one, value in truth.items()]
    begun = wire.ask("POST", f"/judges/{judge}/align", {"labels": labels, "seed": 3})
    assert begun.status == 200
    found = ended(wire, begun.body["id"])
    assert found["alignment"]["improved"], found
    assert wire.get(f"/judges/{judge}")["origin"] == "aligned"
    assert same(client.judge_runs.get(found["id"]), found)
    few = wire.ask("POST", f"/judges/{judge}/align", {"labels": labels[:10]})
    assert (few.status, set(few.error["details"])) == (400, {"labels"})
    assert (
        client.judges.align(
            judge, labels=[{"conversation_id": one, "value": value} for one, value in truth.items()]
        ).kind
        == "alignment"
    )
