"""Which endpoints the agreement cases are for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from promptlift.schema.model import ApiModel

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """Whether a typed answer holds what was on the wire, under the name of the prompt scheme, and knows all of it."""
    expected = dict(body)
    if "agentId" in expected and "promptId" not in expected:
        expected["promptId"] = expected.pop("agentId")
    return is_known(model) and model.to_wire() == expected


def is_known(answer: Any) -> bool:
    """Whether the schema has every field of an answer."""
    if isinstance(answer, list):
        return all(map(is_known, answer))
    if not isinstance(answer, ApiModel):
        return True
    # Both names of the link are sent, and one is read.
    return set(answer.model_extra or ()) <= {"agentId"} and is_known([*vars(answer).values()])
