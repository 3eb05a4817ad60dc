"""Versions of a prompt's text and going back to one, on the wire and through the client."""

from __future__ import annotations

import pytest

from agreement.covered import both, both_schemes, covers, same
from agreement.test_outbox import outbox
from support import shapes
from support.shapes import differences
from support.shapes.prompts import RESTORED, VERSION


@pytest.fixture
def root(wire):
    return f"/{wire.scheme.segment}"


@pytest.fixture
def edited(wire, root):
    """A prompt with three texts."""
    prompt_id = wire.add_prompt(content="first\r\n ☎ ")
    for text in ("second", "third"):
        assert wire.ask("PATCH", f"{root}/{prompt_id}", {"content": text}).status == 200
    return prompt_id


@both_schemes
@covers(*both("GET", "/{id}/versions"))
def test_list_versions(wire, client, root, edited):
    body = wire.get(f"{root}/{edited}/versions")
    assert set(body) == {"data", "pagination"}
    assert body["pagination"] == {"total": 3, "limit": 20, "offset": 0}
    for item in body["data"]:
        assert differences(item, VERSION) == []
    assert [(one["number"], one["content"], one["origin"], one["isLive"]) for one in body["data"]] == [
        (3, "third", "updated", True),
        (2, "second", "updated", False),
        (1, "first\r\n ☎ ", "created", False),
    ]
    assert same(client.prompts.versions(edited), body)
    page = wire.get(f"{root}/{edited}/versions?limit=1&offset=2")
    assert page == {"data": body["data"][2:], "pagination": {"total": 3, "limit": 1, "offset": 2}}
    assert same(client.prompts.versions(edited, limit=1, offset=2), page)


@both_schemes
@covers(*both("POST", "/{id}/restore"))
def test_restore_a_version(wire, client, root, edited, database):
    live, second, first = wire.get(f"{root}/{edited}/versions")["data"]
    told = len(outbox(database, wire))
    answer = wire.ask("POST", f"{root}/{edited}/restore", {"versionId": first["id"]})
    assert answer.status == 200
    assert differences(answer.body, {**RESTORED, wire.scheme.link: shapes.text}) == []
    assert answer.body["previousVersionId"] == live["id"]
    prompt = wire.get(f"{root}/{edited}")
    assert prompt["content"] == "first\r\n ☎ "
    newest = wire.get(f"{root}/{edited}/versions")["data"][0]
    assert (newest["id"], newest["origin"]) == (answer.body["versionId"], "restored")
    (event,) = outbox(database, wire)[told:]
    assert event == (
        "prompt.updated",
        edited,
        {
            "promptId": edited,
            "promptName": "Support",
            "updateType": "restored",
            "appliedAt": prompt["updatedAt"],
        },
    )
    restored = client.prompts.restore(edited, version_id=second["id"])
    assert restored.prompt_id == edited
    assert set(restored.to_wire()) == {"promptId", *RESTORED}
    assert wire.get(f"{root}/{edited}")["content"] == "second"
    again = wire.ask("POST", f"{root}/{edited}/restore", {"versionId": second["id"]})
    assert (again.body["changed"], again.body["versionId"]) == (False, restored.version_id)


def test_what_is_no_version_of_this_prompt_is_refused(wire, root, edited):
    other = wire.get(f"{root}/{wire.add_prompt()}/versions")["data"][0]["id"]
    mine = wire.get(f"{root}/{edited}/versions")["data"][0]["id"]
    near = (mine.replace("ver_", "ver_0"), mine.upper(), mine.removeprefix("ver_"), f" {mine}", "ver_²")
    for version_id in (other, "none", "ver_", "ver_-1", f"ver_{9**40}", *near):
        answer = wire.ask("POST", f"{root}/{edited}/restore", {"versionId": version_id})
        assert (answer.error["code"], set(answer.error["details"])) == ("NOT_FOUND", {"versionId"})
    assert wire.get(f"{root}/{edited}")["content"] == "third"


def test_a_restore_that_was_meant_for_another_version_is_refused(wire, root, edited):
    live, second, first = wire.get(f"{root}/{edited}/versions")["data"]
    answer = wire.ask(
        "POST", f"{root}/{edited}/restore", {"versionId": first["id"], "ifVersionId": second["id"]}
    )
    assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
    assert answer.error["details"]["liveVersionId"] == live["id"]
    assert wire.get(f"{root}/{edited}")["content"] == "third"
