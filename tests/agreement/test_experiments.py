"""Experiments on the wire and through the client: who gets which version, and what is refused."""

from __future__ import annotations

import pytest

from agreement.covered import both, both_schemes, covers, same
from promptlift.schema.experiments import ASSIGNMENT, Assignment


@pytest.fixture
def root(wire):
    return f"/{wire.scheme.segment}"


@pytest.fixture
def edited(wire, root):
    """A prompt with three texts."""
    prompt_id = wire.add_prompt(content="first")
    for text in ("second", "third"):
        assert wire.ask("PATCH", f"{root}/{prompt_id}", {"content": text}).status == 200
    return prompt_id


@pytest.fixture
def start(wire, root, edited):
    def send(**weights):
        return wire.ask("POST", f"{root}/{edited}/experiments", {"weights": weights})

    return send


@both_schemes
@covers(*both("GET", "/{id}/resolve"))
def test_resolve_a_text(wire, root, edited, start):
    versions = {one["number"]: one["id"] for one in wire.get(f"{root}/{edited}/versions")["data"]}
    path = f"{root}/{edited}/resolve?unit=user-1"
    plain = wire.get(path)
    assert plain == {
        wire.scheme.link: edited,
        "content": "third",
        "llmModel": "gpt-4o",
        "versionId": versions[3],
        "variantId": None,
    }
    tag = wire.ask("GET", path).headers["etag"]
    assert wire.ask("GET", path, headers={"If-None-Match": tag}).status == 304
    made = start(v1=0.5)
    assert made.status == 201
    answer = wire.ask("GET", path, headers={"If-None-Match": tag})
    assert answer.status == 200  # seen at once
    assert [arm["content"] for arm in answer.body["experiment"]["arms"]] == ["third", "first"]
    assignment = Assignment.read(answer.body["assignmentId"])
    assert assignment.experiment_id == made.body["id"] == answer.body["experiment"]["id"]
    assert answer.body["content"] == ["third", "first"][assignment.arm]
    assert answer.body["versionId"] == versions[[3, 1][assignment.arm]]
    assert "user-1" not in answer.raw.decode()
    assert wire.get(path) == answer.body
    assert {wire.get(f"{root}/{edited}/resolve?unit={n}")["content"] for n in range(20)} == {"first", "third"}


@both_schemes
@covers(*both("POST", "/{id}/experiments"), *both("GET", "/{id}/experiments"))
def test_start_and_list_experiments(wire, client, root, edited, start):
    first = start(v2=0.25)
    assert first.status == 201
    names = [(arm["number"], arm["name"], arm["weight"]) for arm in first.body["arms"]]
    assert names == [(0, "v3", 0.75), (1, "v2", 0.25)]
    assert wire.ask("POST", f"/experiments/{first.body['id']}/stop").status == 200
    second = client.prompts.experiment(edited, weights={"v1": 0.2, "v3": 0.8})
    body = wire.get(f"{root}/{edited}/experiments")
    assert [(one["id"], one["status"]) for one in body["data"]] == [
        (second.id, "running"),
        (first.body["id"], "stopped"),
    ]
    for model, item in zip(client.prompts.experiments(edited).data, body["data"], strict=True):
        assert same(model, item)


@both_schemes
@covers("GET /experiments/{id}", "POST /experiments/{id}/stop", "POST /experiments/{id}/apply")
def test_stop_and_apply_an_experiment(wire, client, root, edited, start):
    made = start(v1=0.5).body["id"]
    assert same(client.experiments.get(made), wire.get(f"/experiments/{made}"))
    stopped = client.experiments.stop(made, reason="enough")
    assert (stopped.status, stopped.reason) == ("stopped", "enough")
    again = wire.ask("POST", f"/experiments/{made}/stop")
    assert (again.status, again.error["code"], again.error["message"]) == (
        409,
        "INVALID_STATE",
        "The experiment is stopped: enough",
    )
    undecided = wire.ask("POST", f"/experiments/{made}/apply")
    assert (undecided.status, undecided.error["code"]) == (409, "INVALID_STATE")
    assert "arm" in undecided.error["details"]
    applied = client.experiments.apply(made, arm=1, note="sure")
    assert applied.status == "applied"
    assert wire.get(f"{root}/{edited}")["content"] == "first"
    assert wire.get(f"{root}/{edited}/versions")["data"][0]["id"] == applied.applied_version_id
    assert wire.ask("POST", f"/experiments/{made}/apply", {"arm": 1}).status == 409
    assert "assignmentId" not in wire.get(f"{root}/{edited}/resolve?unit=1")
    action = wire.get("/actions")["data"][0]
    assert (action["kind"], action["note"]) == ("apply", "sure")
    assert wire.ask("POST", f"/actions/{action['id']}/undo").status == 200
    assert wire.get(f"{root}/{edited}")["content"] == "third"


@covers("GET /calibration")
def test_what_simulations_were_worth(wire, client):
    found = client.experiments.calibration()
    assert same(found, wire.get("/calibration"))
    assert (found.data, found.share) == ([], None)
    assert "not known yet" in found.sentence


def test_weights_that_make_no_experiment_are_refused(wire, root, edited, start):
    for weights, field in (
        ({"v1": 0.6, "v2": 0.6}, "weights"),  # over 1
        ({"v1": 0.5, "v2": 0.5}, "weights"),  # nothing is left for the current version
        ({"v1": 0.5, "v3": 0.4}, "weights"),  # the current one is named, so they must add up
        ({"v3": 1.0}, "weights"),
        ({"v1": 0.0}, "weights.v1"),
        ({"v1": -0.5}, "weights.v1"),
        ({"v4": 0.5}, "weights.v4"),
        ({"v0": 0.5}, "weights.v0"),
        ({"ver_0": 0.5}, "weights.ver_0"),
        ({"var_000000000000000000000000": 0.5}, "weights.var_000000000000000000000000"),
        ({}, "weights"),
    ):
        refused = start(**weights)
        assert (refused.status, refused.error["code"]) == (400, "VALIDATION_ERROR")
        assert list(refused.error["details"]) == [field]
    assert wire.get(f"{root}/{edited}/experiments")["data"] == []


def test_what_cannot_be_is_refused(wire, root, edited, start):
    for query in ("", "?unit=", "?unit=%20", "?unit=%00"):
        refused = wire.ask("GET", f"{root}/{edited}/resolve{query}")
        assert (refused.status, refused.error["code"]) == (400, "VALIDATION_ERROR")
        assert list(refused.error["details"]) == ["unit"]
    made = start(v1=0.5).body["id"]
    second = start(v2=0.5)
    assert (second.status, second.error["code"]) == (409, "INVALID_STATE")
    assert second.error["details"] == {"experimentId": made}
    unknown = wire.add_prompt(content="?", contentKnown=False)
    for answer in (
        wire.ask("GET", f"{root}/{unknown}/resolve?unit=1"),
        wire.ask("POST", f"{root}/{unknown}/experiments", {"weights": {"v1": 0.5}}),
    ):
        assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
        assert "give the prompt its text" in answer.error["message"]


@pytest.mark.parametrize("how", ["edited", "restored", "deleted"])
def test_a_text_that_changes_meanwhile_stops_the_experiment(wire, root, edited, start, how):
    made = start(v1=0.5).body["id"]
    if how == "edited":
        assert wire.ask("PATCH", f"{root}/{edited}", {"content": "fourth"}).status == 200
    elif how == "restored":
        second = wire.get(f"{root}/{edited}/versions")["data"][1]["id"]
        assert wire.ask("POST", f"{root}/{edited}/restore", {"versionId": second}).status == 200
    else:
        assert wire.ask("DELETE", f"/prompts/{edited}").status == 200
    found = wire.get(f"/experiments/{made}")
    reason = "The prompt was deleted" if how == "deleted" else "The text of the prompt was changed meanwhile"
    assert (found["status"], found["reason"]) == ("stopped", reason)
    refused = wire.ask("POST", f"/experiments/{made}/apply", {"arm": 1})
    if how != "deleted":
        assert (refused.status, refused.error["code"]) == (409, "INVALID_STATE")
        assert reason in refused.error["message"]
        assert "assignmentId" not in wire.get(f"{root}/{edited}/resolve?unit=1")


def test_the_assignment_travels_with_the_conversation(wire, root, edited, start):
    made = start(v1=0.5).body["id"]
    given = wire.get(f"{root}/{edited}/resolve?unit=u")
    wire.log(edited, metadata={ASSIGNMENT: given["assignmentId"], "channel": "web"})
    late = wire.log(edited)
    assert (
        wire.ask("PATCH", f"/conversations/{late}", {"metadata": {ASSIGNMENT: given["assignmentId"]}}).status
        == 200
    )
    wire.log(edited, metadata={ASSIGNMENT: "nonsense"})
    arm = wire.get(f"/experiments/{made}")["arms"][Assignment.read(given["assignmentId"]).arm]
    assert (arm["units"], arm["conversations"]) == (1, 2)


def test_a_ramp_begins_with_few_units_and_names_one_version(wire, root, edited):
    path = f"{root}/{edited}/experiments"
    for weights in ({"v1": 0.5}, {"v1": 1.0, "v2": 1.0}, {"v1": 0.5, "v2": 0.5}):
        refused = wire.ask("POST", path, {"weights": weights, "ramp": True})
        assert (refused.status, refused.error["code"]) == (400, "VALIDATION_ERROR")
        assert "one version with the weight 1" in refused.error["details"]["weights"]
    current = wire.ask("POST", path, {"weights": {"v3": 1.0}, "ramp": True})
    assert current.error["details"] == {"weights": "name only v3, the current version; name another one"}
    made = wire.ask("POST", path, {"weights": {"v1": 1.0}, "ramp": True})
    assert made.status == 201
    assert [arm["weight"] for arm in made.body["arms"]] == [0.95, 0.05]
    assert made.body["ramp"] == [{"share": 0.05, "since": made.body["createdAt"]}]
    assert wire.ask("POST", f"/experiments/{made.body['id']}/apply", {"arm": 1}).status == 200
    assert wire.get(f"{root}/{edited}")["content"] == "first"
