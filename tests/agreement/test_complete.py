"""Specification, service, client and agreement cases have the same endpoints."""

from __future__ import annotations

import importlib
from pathlib import Path

from agreement.covered import COVERED
from support.wire import BESIDE, KEYLESS, OFFERED, SPECIFIED, description


def test_every_endpoint_of_the_specification_has_a_case():
    """House rule: an endpoint without an agreement case between client and service does not exist."""
    # Also when this file runs alone, all cases count.
    for file in Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(f"agreement.{file.stem}")
    assert set(SPECIFIED) | set(OFFERED) == set(COVERED)


def test_the_description_has_these_endpoints_and_no_others(service):
    """House rule: what the service describes is in the specification, or in what we offer beyond it."""
    paths = description(service.base_url)["paths"]
    described = {
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, methods in paths.items()
        for method in methods
    }
    assert described == set(SPECIFIED) | set(OFFERED) | set(KEYLESS) | set(BESIDE)
