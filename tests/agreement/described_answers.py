"""Cases of Schemathesis for ``/openapi.json``: no server error, and no answer that the description does not know.

``test_schemathesis.py`` runs them in a process of their own: they are made when they are collected, which takes seconds,
and every process of the tests would collect them. ``DESCRIBED_URL`` and ``DESCRIBED_KEY`` name the account.
"""

from __future__ import annotations

import os

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
from support.wire import Wire

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


# What changes something is one function under both names of a prompt.
API = schemathesis.openapi.from_dict(description()).exclude(
    lambda found: "/agents" in found.operation.path and found.operation.method != "get"
)


@pytest.fixture(scope="module")
def wire():
    return Wire(os.environ["DESCRIBED_URL"], os.environ["DESCRIBED_KEY"])


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
