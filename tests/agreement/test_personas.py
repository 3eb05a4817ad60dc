"""Personas, on the wire and through the client."""

from __future__ import annotations

import pytest

from agreement.covered import covers, same
from promptlift.service.simulations.personas import library

ANNA = {"name": "Anna ☎", "description": "Is in a hurry.\r\nSays so. "}


@pytest.fixture
def wire(new_account):
    """Personas have no scheme of their own."""
    return new_account()


def add(wire, **changes):
    answer = wire.ask("POST", "/personas", {**ANNA, **changes})
    assert answer.status == 201, answer
    return answer.body


@covers("GET /personas")
def test_list_personas(wire, client):
    ids = [add(wire, name=f"p{n}")["id"] for n in range(3)]
    body = wire.get("/personas")
    assert set(body) == {"data", "pagination"}
    assert body["pagination"] == {"total": 3 + len(library()), "limit": 100, "offset": 0}
    assert [one["id"] for one in body["data"]] == [*ids[::-1], *(one.id for one in library())][:100]
    assert [one["builtIn"] for one in body["data"][:4]] == [False, False, False, True]
    assert same(client.personas.list(), body)
    whole = [
        one
        for offset in range(0, 3 + len(library()), 2)
        for one in wire.get(f"/personas?limit=2&offset={offset}")["data"]
    ]
    assert [one["id"] for one in whole] == [*ids[::-1], *(one.id for one in library())]
    assert wire.get("/personas?offset=10000")["data"] == []
    assert same(client.personas.list(limit=1, offset=2), wire.get("/personas?limit=1&offset=2"))


@covers("POST /personas", "GET /personas/{id}", "PATCH /personas/{id}", "DELETE /personas/{id}")
def test_a_persona_is_created_read_changed_and_deleted(wire, client):
    body = add(wire)
    path = f"/personas/{body['id']}"
    assert {**body, **ANNA} == body == wire.get(path)
    assert (body["builtIn"], body["createdAt"] is None) == (False, False)
    assert same(client.personas.get(body["id"]), body)
    created = client.personas.create(**ANNA)
    assert set(created.to_wire()) == set(body)
    assert wire.get(f"/personas/{created.id}")["description"] == ANNA["description"]
    answer = wire.ask("PATCH", path, {"name": "Berta"})
    assert (answer.status, answer.body) == (200, {**body, "name": "Berta"})
    changed = client.personas.update(body["id"], description="Is calm.").to_wire()
    assert changed == {**body, "name": "Berta", "description": "Is calm."} == wire.get(path)
    assert wire.ask("PATCH", path, {}).body == changed
    answer = wire.ask("DELETE", path)
    assert (answer.status, answer.body) == (200, {"success": True, "message": "Persona deleted"})
    assert client.personas.delete(created.id).to_wire() == answer.body
    for method in ("GET", "DELETE", "PATCH"):
        assert wire.ask(method, path, {"name": "x"} if method == "PATCH" else None).status == 404
    assert wire.get("/personas")["pagination"]["total"] == len(library())


def test_the_library_cannot_be_changed(wire, client):
    path = f"/personas/{library()[3].id}"
    before = wire.get(path)
    assert same(client.personas.get(library()[3].id), before)
    for method, body in (("PATCH", {"name": "x"}), ("DELETE", None)):
        answer = wire.ask(method, path, body)
        assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
        assert "create one of your own" in answer.error["message"]
    assert wire.get(path) == before
