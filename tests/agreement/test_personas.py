"""Personas, on the wire and through the client."""

from __future__ import annotations

import pytest

from agreement.covered import covers, same
from promptlift.service.simulations.personas import library
from support.hostile import ENCODABLE
from support.shapes import differences
from support.shapes.optimizations import PERSONA

ANNA = {"name": "Anna ☎", "description": "Is in a hurry.\r\nSays so. "}


@pytest.fixture
def wire(new_account):
    """Personas have no scheme of their own."""
    return new_account()


def add(wire, **changes):
    answer = wire.ask("POST", "/personas", {**ANNA, **changes})
    assert answer.status == 201, answer
    return answer.body


@covers("POST /personas")
def test_create_persona(wire, client):
    body = add(wire)
    assert differences(body, PERSONA) == []
    assert {**body, **ANNA} == body
    assert (body["builtIn"], body["createdAt"] is None) == (False, False)
    created = client.personas.create(**ANNA)
    assert set(created.to_wire()) == set(body)
    assert wire.get(f"/personas/{created.id}")["description"] == ANNA["description"]


@covers("GET /personas")
def test_list_personas(wire, client):
    ids = [add(wire, name=f"p{n}")["id"] for n in range(3)]
    body = wire.get("/personas")
    assert set(body) == {"data", "pagination"}
    assert body["pagination"] == {"total": 3 + len(library()), "limit": 100, "offset": 0}
    for item in body["data"]:
        assert differences(item, PERSONA) == []
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


@covers("GET /personas/{id}")
def test_get_persona(wire, client):
    for persona_id in (add(wire)["id"], library()[0].id):
        body = wire.get(f"/personas/{persona_id}")
        assert differences(body, PERSONA) == []
        assert same(client.personas.get(persona_id), body)


@covers("PATCH /personas/{id}")
def test_update_persona(wire, client):
    before = add(wire)
    answer = wire.ask("PATCH", f"/personas/{before['id']}", {"name": "Berta"})
    assert answer.status == 200
    assert answer.body == {**before, "name": "Berta"} == wire.get(f"/personas/{before['id']}")
    changed = client.personas.update(before["id"], description="Is calm.")
    assert changed.to_wire() == {**before, "name": "Berta", "description": "Is calm."}
    assert wire.ask("PATCH", f"/personas/{before['id']}", {}).body == changed.to_wire()


@covers("DELETE /personas/{id}")
def test_delete_persona(wire, client):
    first, second = add(wire)["id"], add(wire)["id"]
    answer = wire.ask("DELETE", f"/personas/{first}")
    assert (answer.status, answer.body) == (200, {"success": True, "message": "Persona deleted"})
    assert client.personas.delete(second).to_wire() == answer.body
    for method in ("GET", "DELETE"):
        assert wire.ask(method, f"/personas/{first}").status == 404
    assert wire.ask("PATCH", f"/personas/{first}", {"name": "x"}).status == 404
    assert wire.get("/personas")["pagination"]["total"] == len(library())


def test_the_library_cannot_be_changed(wire):
    persona_id = library()[3].id
    before = wire.get(f"/personas/{persona_id}")
    for method, body in (("PATCH", {"name": "x"}), ("DELETE", None)):
        answer = wire.ask(method, f"/personas/{persona_id}", body)
        assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
        assert "create one of your own" in answer.error["message"]
    assert wire.get(f"/personas/{persona_id}") == before


def test_bad_input_is_told_by_field(wire):
    persona_id = add(wire)["id"]
    for body, path in (
        ({"description": "d"}, "name"),
        ({"name": "n"}, "description"),
        ({**ANNA, "name": " "}, "name"),
        ({**ANNA, "name": "n" * 201}, "name"),
        ({**ANNA, "description": "\n"}, "description"),
        ({**ANNA, "description": "a\x00b"}, "description"),
        ({**ANNA, "description": "d" * 10_001}, "description"),
        ({**ANNA, "name": 7}, "name"),
        ({**ANNA, "description": None}, "description"),
    ):
        answer = wire.ask("POST", "/personas", body)
        assert (answer.status, answer.error["code"]) == (400, "VALIDATION_ERROR")
        assert set(answer.error["details"]) == {path}
        if path in body:
            assert wire.ask("PATCH", f"/personas/{persona_id}", {path: body[path]}).status == 400
    for query in ("limit=0", "limit=101", "offset=-1"):
        assert wire.ask("GET", f"/personas?{query}").status == 400
    for path in ("/personas/%00", f"/personas/{'x' * 500}", "/personas/none"):
        assert wire.ask("GET", path).status == 404
    assert wire.get("/personas")["pagination"]["total"] == 1 + len(library())


def test_hostile_texts_come_back_as_they_were(wire):
    hostile = [one for one in ENCODABLE if "\x00" not in one and one.strip() and len(one) <= 200]
    assert len(hostile) > 40
    for one in hostile:
        body = add(wire, name=one, description=one)
        assert wire.get(f"/personas/{body['id']}") == body
        assert (body["name"], body["description"]) == (one, one)
