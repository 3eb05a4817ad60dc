"""Benchmarks and scenario sets, on the wire and through the client."""

from __future__ import annotations

import json

import pytest

from agreement.covered import covers, same
from support.service_process import wait_until

PRICES = {"gpt-4o": {"input": 2.5, "output": 10.0}}


@pytest.fixture
def wire(new_account):
    """Benchmarks have no scheme of their own."""
    return new_account()


def begin(wire, arms=None, **fields):
    if arms is None:
        arms = [{"promptId": wire.add_prompt(content=f"You help {n}.")} for n in range(2)]
    fields.setdefault("scenarioSet", {"count": 3})
    answer = wire.ask("POST", "/benchmarks", {"arms": arms, "seed": 7, "maxTurns": 4, **fields})
    assert answer.status == 200, answer
    return answer.body


def ended(wire, benchmark_id):
    wait_until(
        lambda: wire.get(f"/benchmarks/{benchmark_id}")["status"] not in ("queued", "running"),
        what="the benchmark ends",
    )
    return wire.get(f"/benchmarks/{benchmark_id}")


@covers("POST /benchmarks")
def test_create_benchmark(wire, client):
    body = begin(wire, name="Spring", prices=PRICES, objective="Help")
    assert (body["name"], body["status"], body["results"]) == ("Spring", "queued", None)
    assert (body["rehearsal"], body["objective"], body["prices"]) == (True, "Help", PRICES)
    assert body["progress"] == {"conversationsDone": 0, "conversationsTotal": 6, "fraction": 0.0}
    assert [arm["content"] for arm in body["arms"]] == ["You help 0.", "You help 1."]
    made = client.benchmarks.create(
        arms=[{"prompt_id": body["arms"][0]["promptId"], "llm_model": "gpt-4o-mini"}],
        scenario_set={"count": 2, "source": "model"},
    )
    assert set(made.to_wire()) == set(body)
    assert made.arms[0].llm_model == "gpt-4o-mini"
    for one in (body["id"], made.id):
        ended(wire, one)


@covers("GET /benchmarks/{id}", "GET /benchmarks/{id}/conversations")
def test_get_benchmark(wire, client):
    made = begin(wire, prices=PRICES)
    body = ended(wire, made["id"])
    assert body["status"] == "completed", body
    results = body["results"]
    assert [(one["number"], one["n"], one["dropped"]) for one in results["arms"]] == [(0, 3, 0), (1, 3, 0)]
    assert [(one["number"], one["reference"], one["n"]) for one in results["comparisons"]] == [(1, 0, 3)]
    assert (results["margin"], results["level"], results["reference"]) == (5.0, 0.95, 0)
    assert results["final"]
    assert same(client.benchmarks.get(made["id"]), body)
    other = wire.get(f"/benchmarks/{made['id']}?reference=1&margin=12.5&level=0.9")["results"]
    assert (other["reference"], other["margin"], other["level"]) == (1, 12.5, 0.9)
    asked = client.benchmarks.get(made["id"], reference=1, margin=12.5, level=0.9)
    assert asked.results.to_wire() == other
    assert wire.ask("GET", f"/benchmarks/{made['id']}?reference=2").error["details"].keys() == {"reference"}

    listed = wire.get(f"/benchmarks/{made['id']}/conversations?arm=1&limit=2")
    assert listed["pagination"] == {"total": 3, "limit": 2, "offset": 0}
    assert [(one["cell"], one["arm"]) for one in listed["data"]] == [(1, 1), (2, 1)]
    whole = wire.get(f"/benchmarks/{made['id']}/conversations?includeContent=true")
    assert json.loads(whole["data"][0]["content"])["messages"][0]["role"] == "user"
    assert same(client.benchmarks.conversations(made["id"], include_content=True), whole)


@covers("GET /benchmarks")
def test_list_benchmarks(wire, client):
    prompt = wire.add_prompt()
    ids = [begin(wire, [{"promptId": prompt}], scenarioSet={"count": 1})["id"] for _ in range(3)]
    for one in ids:
        ended(wire, one)
    body = wire.get("/benchmarks")
    assert body["pagination"] == {"total": 3, "limit": 20, "offset": 0}
    assert [one["id"] for one in body["data"]] == ids[::-1]
    assert same(client.benchmarks.list(), body)
    assert wire.get("/benchmarks?status=failed")["data"] == []
    assert [one["id"] for one in wire.get("/benchmarks?limit=1&offset=1")["data"]] == [ids[1]]


@covers("POST /benchmarks/bulk")
def test_delete_benchmarks(wire, client):
    prompt = wire.add_prompt()
    first, second, third = (
        begin(wire, [{"promptId": prompt}], scenarioSet={"count": 2})["id"] for _ in range(3)
    )
    answer = wire.ask("POST", "/benchmarks/bulk", {"action": "delete", "jobIds": [first, "bmk_none", first]})
    assert (answer.status, answer.body) == (
        200,
        {"success": True, "message": "1 benchmark deleted", "deleted": [first], "notFound": ["bmk_none"]},
    )
    assert wire.ask("GET", f"/benchmarks/{first}").status == 404
    assert client.benchmarks.bulk(job_ids=[second, third]).deleted == [second, third]
    assert wire.get("/benchmarks")["pagination"]["total"] == 0


@covers("POST /benchmarks/{id}/stop", "POST /benchmarks/{id}/resume")
def test_stop_and_resume_a_benchmark(wire, client):
    # So many that it cannot have ended before it is stopped.
    made = begin(wire, scenarioSet={"count": 400, "source": "model"})
    stopped = wire.ask("POST", f"/benchmarks/{made['id']}/stop", {"reason": "seen enough"})
    assert stopped.status == 200
    assert (stopped.body["status"], stopped.body["stopReason"]) == ("stopped", "seen enough")
    refused = wire.ask("POST", f"/benchmarks/{made['id']}/stop")
    assert (refused.status, refused.error["code"]) == (409, "INVALID_STATE")
    resumed = wire.ask("POST", f"/benchmarks/{made['id']}/resume")
    assert (resumed.body["status"], resumed.body["stopReason"]) == ("queued", None)
    assert wire.ask("POST", f"/benchmarks/{made['id']}/resume").status == 409
    assert client.benchmarks.stop(made["id"], reason="again").status == "stopped"
    assert client.benchmarks.resume(made["id"]).status == "queued"
    client.benchmarks.bulk(job_ids=[made["id"]])


@covers("GET /scenario-sets", "GET /scenario-sets/{id}")
def test_scenario_sets(wire, client):
    made = begin(wire)
    ended(wire, made["id"])
    listed = wire.get("/scenario-sets")
    assert same(client.scenario_sets.list(), listed)
    set_id = made["scenarioSet"]["id"]
    body = wire.get(f"/scenario-sets/{set_id}")
    assert [one["number"] for one in body["scenarios"]] == [1, 2, 3]
    assert same(client.scenario_sets.get(set_id), body)

    grown = begin(wire, scenarioSet={"id": set_id, "count": 5})
    assert (grown["scenarioSet"]["id"], grown["scenarioSet"]["version"]) == (set_id, 2)
    ended(wire, grown["id"])
    newest = wire.get(f"/scenario-sets/{set_id}")["scenarios"]
    assert newest[:3] == body["scenarios"]
    assert len(newest) == 5
    assert wire.get(f"/scenario-sets/{set_id}?version=1") == body
    assert client.scenario_sets.get(set_id, version=1).to_wire() == body
    again = begin(wire, scenarioSet={"id": set_id, "version": 1})
    assert again["scenarioSet"] == made["scenarioSet"]
    ended(wire, again["id"])
