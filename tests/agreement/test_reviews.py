"""What people think of variants, what they did, and undoing it: on the wire and through the client."""

from __future__ import annotations

import secrets
import threading

import pytest

from agreement.covered import both_schemes, covers, same
from promptlift.schema.naming import SCHEMES
from promptlift.service.store import accounts
from support.deployed import ORIGINAL, TEXTS, World
from support.wire import Wire


@pytest.fixture
def world(database):
    """An account of its own, with a prompt and rows of optimizations."""
    return World(database)


@pytest.fixture
def wire(request, world, service, database):
    key = f"test_{secrets.token_urlsafe(32)}"
    with database.write() as connection:
        accounts.add_key(connection, world.account, key, name="test")
    return Wire(service.base_url, key, world.account, SCHEMES[getattr(request, "param", "prompt")])


@pytest.fixture
def done(world):
    """A completed optimization: its path, and the ids of its variants."""
    made = world.optimization()
    return f"/optimizations/{made}", [world.variant(made, number) for number in range(3)]


@covers("PATCH /optimizations/{id}/review", "GET /optimizations/{id}/review")
def test_say_and_read_what_people_think(wire, client, done):
    path, (original, first, second) = done
    answer = wire.ask(
        "PATCH", f"{path}/review", {"variantId": second, "verdict": "keep", "note": "☎ \r\n ok "}
    )
    assert answer.status == 200
    assert answer.body | {"verdict": "keep", "note": "☎ \r\n ok "} == answer.body
    changed = client.reviews.update(path.rpartition("/")[2], variant_id=original, verdict="reject")
    assert (changed.verdict, changed.note) == ("reject", None)
    body = wire.get(f"{path}/review")
    assert [one["variantId"] for one in body["data"]] == [original, second]
    assert same(client.reviews.get(path.rpartition("/")[2]), body)
    # Only what is named changes; null and blank take back.
    assert wire.ask("PATCH", f"{path}/review", {"variantId": second, "note": " "}).body["note"] is None
    again = wire.ask("PATCH", f"{path}/review", {"variantId": second, "verdict": None}).body
    assert (again["verdict"], again["note"]) == (None, None)
    assert wire.ask("PATCH", f"{path}/review", {"variantId": second}).body == again
    assert wire.ask("PATCH", f"{path}/review", {"variantId": first}).body["verdict"] is None


@both_schemes
@covers("GET /actions")
def test_every_action_leaves_a_row(wire, client, world, done):
    path, (_, first, _) = done
    root = f"/{wire.scheme.segment}/{world.prompt_id}"
    created = wire.get(f"{root}/versions")["data"][0]["id"]
    applied = wire.ask("POST", f"{path}/apply", {"note": "the winner ☎"}).body
    same_again = wire.ask("POST", f"{path}/apply", {"variantId": first}).body
    restored = wire.ask("POST", f"{root}/restore", {"versionId": created, "note": "no"}).body
    running = world.optimization(status="queued", winner=None)
    assert wire.ask("POST", f"/optimizations/{running}/stop", {"reason": "too slow"}).status == 200
    assert wire.ask("POST", f"/optimizations/{running}/stop", {"reason": "again"}).status == 409
    assert wire.ask("POST", f"{path}/apply", {"variantId": "none"}).status == 400
    body = wire.get("/actions")
    assert body["pagination"] == {"total": 4, "limit": 20, "offset": 0}
    for item in body["data"]:
        assert item["promptId"] == item["agentId"] == world.prompt_id
    stop, restore, nothing, apply = body["data"]
    assert [one["kind"] for one in body["data"]] == ["stop", "restore", "apply", "apply"]
    assert (apply["id"], nothing["id"], restore["id"]) == tuple(
        one["actionId"] for one in (applied, same_again, restored)
    )
    assert (apply["fromVersionId"], apply["toVersionId"]) == (created, applied["versionId"])
    assert (apply["optimizationId"], apply["variantId"], apply["note"]) == (
        path.rpartition("/")[2], first, "the winner ☎",
    )  # fmt: skip
    assert nothing["fromVersionId"] == nothing["toVersionId"]
    assert (restore["fromVersionId"], restore["toVersionId"]) == (
        applied["versionId"], restored["versionId"],
    )  # fmt: skip
    assert (restore["optimizationId"], restore["note"]) == (None, "no")
    assert (stop["optimizationId"], stop["note"], stop["fromVersionId"]) == (running, "too slow", None)
    assert same(client.actions.list(), body)
    link = wire.scheme.link
    assert wire.get(f"/actions?{link}={world.prompt_id}&limit=1&offset=3")["data"] == [apply]
    assert wire.get(f"/actions?{link}=other")["data"] == []
    assert wire.get(f"/actions?optimizationId={running}")["data"] == [stop]
    assert same(
        client.actions.list(prompt_id=world.prompt_id, optimization_id=running, limit=2, offset=0),
        wire.get(f"/actions?{link}={world.prompt_id}&optimizationId={running}&limit=2&offset=0"),
    )


def test_a_text_of_no_variant_is_applied_as_an_edit_that_is_logged_and_undone(wire, world, done):
    path, (_, first, _) = done
    applied = wire.ask("POST", f"{path}/apply", {"variantId": first}).body
    refused = wire.ask(
        "POST", f"{path}/apply", {"content": "By hand.", "ifVersionId": applied["previousVersionId"]}
    )
    assert (refused.status, refused.error["code"]) == (409, "INVALID_STATE")
    assert refused.error["details"]["liveVersionId"] == applied["versionId"]
    assert wire.ask("POST", f"{path}/apply", {"content": "By hand.", "variantId": first}).status == 400
    assert world.text == TEXTS[1]
    assert wire.get("/actions")["pagination"]["total"] == 1
    body = {"content": "By hand.", "ifVersionId": applied["versionId"], "note": "without the fourth"}
    answer = wire.ask("POST", f"{path}/apply", body).body
    assert (answer["appliedVariantId"], answer["changed"]) == (None, True)
    assert world.text == "By hand."
    assert world.versions()[-1] == ("updated", "By hand.")
    assert world.events()[-1][1]["updateType"] == "manual"
    # Nothing of the variant is live any more, and nothing was measured of what is.
    assert world.states(path.rpartition("/")[2]) == ["superseded"]
    action = wire.get("/actions")["data"][0]
    assert (action["kind"], action["id"], action["variantId"]) == ("apply", answer["actionId"], None)
    assert (action["optimizationId"], action["note"]) == (path.rpartition("/")[2], "without the fourth")
    again = wire.ask(
        "POST", f"{path}/apply", {"content": "By hand.", "ifVersionId": applied["versionId"]}
    ).body
    assert (again["changed"], again["versionId"]) == (False, answer["versionId"])
    assert wire.ask("POST", f"/actions/{answer['actionId']}/undo").status == 200
    assert world.text == TEXTS[1]


@covers("POST /actions/{id}/undo")
def test_an_undo_brings_the_text_back_byte_for_byte(wire, client, world, done):
    path, (_, _, second) = done
    applied = wire.ask("POST", f"{path}/apply").body
    other = wire.ask("POST", f"{path}/apply", {"variantId": second}).body
    answer = wire.ask("POST", f"/actions/{other['actionId']}/undo", {"note": "worse"})
    assert answer.status == 200
    assert world.text == TEXTS[1]
    assert world.versions()[-1] == ("restored", TEXTS[1])
    undo, undone, first = wire.get("/actions")["data"]
    assert (undo["id"], undo["kind"], undo["undoes"], undo["note"]) == (
        answer.body["actionId"], "undo", other["actionId"], "worse",
    )  # fmt: skip
    assert (undone["undoneBy"], undone["undoneAt"]) == (undo["id"], undo["createdAt"])
    assert (undo["fromVersionId"], undo["toVersionId"]) == (other["versionId"], answer.body["versionId"])
    assert first["undoneBy"] is None
    # An undo can be undone as well.
    again = client.actions.undo(undo["id"])
    assert again.prompt_id == world.prompt_id
    assert world.text == TEXTS[2]
    assert applied["changed"]


def test_what_cannot_be_undone_is_refused_with_the_reason(wire, world, done):
    path, (original, _, _) = done
    applied = wire.ask("POST", f"{path}/apply").body

    def refused(action_id, words):
        answer = wire.ask("POST", f"/actions/{action_id}/undo")
        assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
        assert words in answer.error["message"]
        return answer.error["details"]

    root = f"/{wire.scheme.segment}/{world.prompt_id}"
    assert wire.ask("PATCH", root, {"content": "Somebody else."}).status == 200
    live = wire.get(f"{root}/versions")["data"][0]
    assert refused(applied["actionId"], "changed by someone else")["liveVersionId"] == live["id"]
    assert world.text == "Somebody else."
    # The same text again is another version: what became live since decides, not how it reads.
    assert wire.ask("PATCH", root, {"content": TEXTS[1]}).status == 200
    refused(applied["actionId"], "changed by someone else")
    back = wire.ask("POST", f"{path}/apply", {"variantId": original}).body
    assert wire.ask("POST", f"/actions/{back['actionId']}/undo").status == 200
    assert refused(back["actionId"], "undone already")["undoneBy"]
    nothing = wire.ask("POST", f"{path}/apply").body
    refused(nothing["actionId"], "changed no text")
    running = world.optimization(status="running", winner=None)
    wire.ask("POST", f"/optimizations/{running}/stop")
    refused(wire.get("/actions")["data"][0]["id"], "stop cannot be undone")
    assert wire.ask("DELETE", root).status == 200
    answer = wire.ask("POST", f"/actions/{applied['actionId']}/undo")
    assert (answer.status, answer.error["message"]) == (404, "Prompt not found")


def test_many_who_say_something_at_once_lose_nothing(wire, done):
    path, variants = done
    said = [
        {"variantId": one, **field}
        for one in variants
        for field in ({"note": f"n {one}"}, {"verdict": "keep"}, {})
    ]
    threads = [threading.Thread(target=wire.ask, args=("PATCH", f"{path}/review", body)) for body in said]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = wire.get(f"{path}/review")["data"]
    assert [(one["verdict"], one["note"]) for one in rows] == [("keep", f"n {one}") for one in variants]


def test_of_many_undos_at_once_one_is_carried_out(wire, world, done):
    applied = wire.ask("POST", f"{done[0]}/apply").body
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(wire.ask("POST", f"/actions/{applied['actionId']}/undo").status)
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [200, 409, 409, 409, 409, 409]
    assert world.text == ORIGINAL
    assert wire.get("/actions")["pagination"]["total"] == 2
