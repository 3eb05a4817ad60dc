"""Specification, service, client and agreement cases have the same endpoints."""

from __future__ import annotations

import importlib

from agreement.covered import COVERED
from support.wire import KEYLESS, OFFERED, SPECIFIED, description

# The modules with cases: also when this file runs alone, all of them count.
CASES = (
    "test_conversation_updates",
    "test_endpoints",
    "test_optimizations",
    "test_personas",
    "test_reviews",
    "test_versions",
)


def test_every_endpoint_of_the_specification_has_a_case():
    """House rule: an endpoint without an agreement case between client and service does not exist."""
    for name in CASES:
        importlib.import_module(f"agreement.{name}")
    assert set(SPECIFIED) | set(OFFERED) == set(COVERED)


def test_the_service_has_these_endpoints_and_no_others(service):
    """House rule: what the service answers is in the specification, or in the list of what we offer beyond it."""
    paths = description(service.base_url)["paths"]
    answered = {
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, methods in paths.items()
        for method in methods
    }
    assert answered == set(SPECIFIED) | set(OFFERED) | set(KEYLESS)


def test_the_client_has_these_endpoints(client):
    """House rule: the client's table of endpoints has every path of the specification."""
    from promptlift.client.endpoints import ENDPOINTS

    known = {
        f"{endpoint.method} {endpoint.path.replace('{segment}', segment)}"
        for endpoint in ENDPOINTS.values()
        for segment in ("prompts", "agents")
    }
    assert set(SPECIFIED) <= known
