"""The topics of a prompt on the wire and through the client: found by themselves, and changed by a person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agreement.covered import both, covers, same
from promptlift.schema.naming import SCHEMES
from promptlift.schema.topics import Topic
from support.service_process import wait_until
from support.topical import topical

pytestmark = pytest.mark.slow


def topics_of(wire, ids):
    return {one: (wire.get(f"/conversations/{one}/insights")["topics"] or [None])[0] for one in ids}


@covers(*both("GET", "/{id}/topics"), *both("PATCH", "/{id}/topics"))
def test_topics_are_found_placed_and_changed_and_every_change_is_undone(wire, client):
    prompt_id = wire.add_prompt()
    path = f"/prompts/{prompt_id}/topics"
    assert wire.ask("GET", path).status == 404
    table = topical("English", 80)
    truth = dict(
        zip([wire.log(prompt_id, content) for content in table["content"]], table["truth"], strict=True)
    )
    wire.wait_for_insights(prompt_id)
    wait_until(lambda: wire.ask("GET", path).status == 200, what="topics are found")
    wait_until(lambda: not wire.get(path)["placing"], what="conversations are placed")
    found = wire.get(path)
    assert {len(one) for one in found["topics"]} == {len(Topic.model_fields)}
    first = client.prompts.topics(prompt_id)
    assert same(first, found)
    ids = [*truth][:40]

    def placed():
        return topics_of(wire, ids)

    before = placed()
    assert set(before.values()) - {None} <= {one["name"] for one in found["topics"]}
    assert list(before.values()).count(None) <= 4
    refunds = next(one for one in found["topics"] if before_is(before, truth, one["name"], "refund"))

    def change(topic, **changes):
        return wire.ask("PATCH", path, {"topic": topic["id"], **changes})

    def becomes(wanted):
        assert placed() == wanted
        listed = wire.get(f"/conversations?includeInsights=true&limit=100&{wire.scheme.link}={prompt_id}")
        names = {one["id"]: next(iter(one["insights"]["topics"]), None) for one in listed["data"]}
        assert {one: names[one] for one in ids} == wanted

    since = wire.get("/conversations?updatedSince=2020-01-01T00:00:00Z")["asOf"]
    renamed = {one: "Refunds" if name == refunds["name"] else name for one, name in before.items()}
    assert change(refunds, name="Refunds").status == 200
    becomes(renamed)
    changed = wire.get(f"/conversations?updatedSince={since}&includeInsights=true&limit=100")
    assert {*ids} <= {one["id"] for one in changed["data"]}
    other = next(one for one in found["topics"] if one["id"] != refunds["id"])
    assert change(other, name="Refunds").status == 400
    merged = {one: "Refunds" if name == other["name"] else name for one, name in renamed.items()}
    assert change(other, mergedInto=refunds["id"]).status == 200
    assert change(refunds, mergedInto=other["id"]).status == 400
    becomes(merged)
    client.prompts.update_topic(prompt_id, other["id"], merged_into=None)
    becomes(renamed)
    change(refunds, excluded=True)
    becomes({one: None if name == "Refunds" else name for one, name in renamed.items()})
    change(refunds, excluded=False, pinned=True)
    becomes(renamed)
    # A restored name is no other topic's.
    third = next(one for one in found["topics"] if one["id"] not in (refunds["id"], other["id"]))
    change(other, name=refunds["words"])
    change(third, name=f"{refunds['words']} (2)")
    assert f"{refunds['words']} (3)" in [one["name"] for one in change(refunds, name=None).body["topics"]]
    for one in (other, third):
        change(one, name=None)
    # Under its other name it is the same.
    agents = replace(wire, scheme=SCHEMES["agent"])
    assert same(client.prompts.topics(prompt_id), agents.get(f"/agents/{prompt_id}/topics"))
    agents.ask(
        "PATCH", f"/agents/{prompt_id}/topics", {"topic": refunds["id"], "name": None, "pinned": False}
    )
    becomes(before)
    assert client.prompts.topics(prompt_id).topics == first.topics
    assert change({"id": 999}, pinned=True).status == 404
    # A conversation that is logged now is placed when it is judged.
    new = wire.log(prompt_id, table["content"][0])
    wire.wait_for_insights(prompt_id)
    assert topics_of(wire, [new])[new] == before[ids[0]]


def before_is(before, truth, name, topic):
    mine = [truth[one] for one, found in before.items() if found == name]
    return bool(mine) and max(set(mine), key=mine.count) == topic
