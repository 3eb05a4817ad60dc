"""A prompt whose text is not known, and texts that were live for a while, on the wire and through the client."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agreement.covered import both_schemes
from agreement.test_errors import same
from promptlift import errors

STAND_IN = "Imported; its text is not known."
SINCE = "2025-10-01T09:00:00.000Z"


@pytest.fixture
def root(wire):
    return f"/{wire.scheme.segment}"


@both_schemes
def test_an_optimization_of_an_unknown_text_is_refused_until_it_is_given(wire, client, root):
    prompt_id = wire.add_prompt(content=STAND_IN, contentKnown=False)
    answer = wire.ask("POST", "/optimizations", {wire.scheme.link: prompt_id})
    assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
    assert answer.error["details"] == {wire.scheme.link: "has no known text yet"}
    assert f"lift.update_prompt('{prompt_id}', content=…)" in answer.error["message"]
    assert f"promptlift import --prompt {prompt_id} --text FILE" in answer.error["message"]
    with pytest.raises(errors.InvalidState) as caught:
        client.optimizations.create(prompt_id=prompt_id)
    assert same(caught.value, answer)
    assert wire.get("/usage")["optimizations"]["used"] == 0
    (version,) = wire.get(f"{root}/{prompt_id}/versions")["data"]
    assert (version["number"], version["content"]) == (1, None)
    # The first text takes the place of the stand-in, also where it turns out to be the same words.
    for content in (STAND_IN, "You help."):
        imported = wire.add_prompt(content=STAND_IN, contentKnown=False)
        client.prompts.update(imported, content=content, live_from=SINCE)
        (version,) = wire.get(f"{root}/{imported}/versions")["data"]
        assert (version["content"], version["origin"], version["createdAt"]) == (content, "created", SINCE)
        assert wire.ask("POST", "/optimizations", {wire.scheme.link: imported}).status == 201


def test_the_mark_is_told_wherever_the_text_is(wire, client, root):
    for known in (False, True):
        made = wire.ask(
            "POST",
            root,
            {"name": "n", "content": STAND_IN, "llmModel": "gpt-4o", "contentKnown": known},
        ).body
        listed = next(one for one in wire.get(root)["data"] if one["id"] == made["id"])
        got = wire.get(f"{root}/{made['id']}")
        assert [one["contentKnown"] for one in (made, listed, got)] == [known] * 3
        assert [one["content"] for one in (made, listed, got)] == [STAND_IN] * 3
        assert client.prompts.get(made["id"]).content_known is known
    made = client.prompts.create(name="n", content="c", llm_model="gpt-4o")
    assert made.content_known is True


def test_a_text_says_since_when_it_is_live(wire, client, root):
    since = datetime(2025, 10, 1, 9, tzinfo=UTC)
    made = client.prompts.create(name="n", content="first", llm_model="gpt-4o", live_from=since)
    assert (
        wire.ask("PATCH", f"{root}/{made.id}", {"content": "second", "liveFrom": "2025-10-15"}).status == 200
    )
    versions = wire.get(f"{root}/{made.id}/versions")["data"]
    assert [(one["content"], one["createdAt"]) for one in versions] == [
        ("second", "2025-10-15T00:00:00.000Z"),
        ("first", SINCE),
    ]
    answer = wire.ask("PATCH", f"{root}/{made.id}", {"content": "third", "liveFrom": SINCE})
    assert (answer.status, answer.error["details"]) == (
        400,
        {
            "liveFrom": "must not be before 2025-10-15T00:00:00.000Z, since when the current text has been in use"
        },
    )
    answer = wire.ask("PATCH", f"{root}/{made.id}", {"content": "third", "liveFrom": "2999-01-01"})
    assert (answer.status, answer.error["details"]) == (400, {"liveFrom": "must not be in the future"})
    assert wire.get(f"{root}/{made.id}")["content"] == "second"
