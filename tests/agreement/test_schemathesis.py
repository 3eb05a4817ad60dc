"""Schemathesis against ``/openapi.json``: no server error, and no answer that the description does not know."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from promptlift.service.routes.openapi import description

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@schemathesis.serializer("application/x-protobuf", "application/x-ndjson")
def as_it_is(_context, value):
    """Send what it makes up as it is."""
    return value if isinstance(value, bytes) else str(value).encode()


API = schemathesis.openapi.from_dict(description())


@pytest.fixture(scope="module")
def wire(service):
    """An account with something in it."""
    from promptlift.service.store.database import Database
    from support.wire import open_account

    database = Database(f"sqlite:///{service.data / 'promptlift.db'}")
    made = open_account(service.base_url, database)
    yield made
    # Nothing that was accepted makes a list, a view or the judge stumble.
    for prompt in made.get("/prompts?limit=100")["data"]:
        made.wait_for_insights(prompt["id"])
        made.get(f"/agents/{prompt['id']}/insights?days=all")
    for listed in (
        "conversations?includeInsights=true&includeContent=true&",
        "personas?",
        "actions?",
        "optimizations?",
    ):
        made.get(f"/{listed}limit=100")
    assert "Traceback" not in service.log.read_text()
    database.close()


@pytest.fixture(scope="module")
def ids(wire):
    """An id of every kind of resource that can be made at once."""
    prompt = wire.add_prompt()
    persona = wire.ask("POST", "/personas", {"name": "P", "description": "Calm."}).body
    return {
        "prompts": prompt,
        "agents": prompt,
        "conversations": wire.log(prompt),
        "personas": persona["id"],
    }


@API.parametrize()
@settings(
    max_examples=settings.default.max_examples // 5, deadline=None, suppress_health_check=list(HealthCheck)
)
def test_every_answer_is_described(case, wire, ids):
    made = ids.get(case.operation.path.removeprefix("/api/v1/").partition("/")[0])
    # Half of the requests are for what there is; a deleted one would hide the rest.
    if made and case.path_parameters and case.method != "DELETE" and len(case.path_parameters["id"]) % 2:
        case.path_parameters["id"] = made
    root = wire.base_url.removesuffix("/api/v1")
    case.call_and_validate(
        base_url=root, headers={"Authorization": f"Bearer {wire.key}"}, checks=CHECKS, timeout=60
    )
