"""Which endpoints the agreement cases are for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.schema.model import ApiModel

# Whose account is there once in each naming scheme.
both_schemes = pytest.mark.parametrize("wire", ["prompt", "agent"], indirect=True)
COVERED: dict[str, list[str]] = {}


def covers(*endpoints: str) -> Callable[[Any], Any]:
    """Say which endpoints a case is for."""

    def mark(function: Any) -> Any:
        for endpoint in endpoints:
            COVERED.setdefault(endpoint, []).append(function.__name__)
        return function

    return mark


def both(method: str, path: str) -> list[str]:
    """The same endpoint in both schemes."""
    return [f"{method} /{segment}{path}" for segment in ("prompts", "agents")]


def same(model: ApiModel, body: dict[str, Any]) -> bool:
    """Whether a typed answer holds what was on the wire, under the name of the prompt scheme."""
    expected = dict(body)
    if "agentId" in expected and "promptId" not in expected:
        expected["promptId"] = expected.pop("agentId")
    return model.to_wire() == expected
