"""The tables of the specification as shapes: which fields an answer has, and of which type.

What an answer has beyond them is in the schema's models, by which ``/openapi.json`` and the typed client check it.
"""

from __future__ import annotations

import re
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def text(value: Any) -> bool:
    return isinstance(value, str)


def time(value: Any) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def maybe(kind: Any) -> Any:
    """The type, or null where the specification says nothing about absence."""
    return lambda value: value is None or not differences(value, kind)


def one_of(*values: str) -> Any:
    return lambda value: value in values


def listed(kind: Any) -> Any:
    return lambda value: isinstance(value, list) and not any(differences(item, kind) for item in value)


def differences(value: Any, shape: Any, path: str = "answer") -> list[str]:
    """What of a value is not as the shape says; a shape is a type check or a dict of fields that must be there."""
    if not isinstance(shape, dict):
        return [] if shape(value) else [f"{path} is {value!r}"]
    if not isinstance(value, dict):
        return [f"{path} is no object"]
    found = [f"{path}.{name} is missing" for name in shape.keys() - value.keys()]
    for name in shape.keys() & value.keys():
        found += differences(value[name], shape[name], f"{path}.{name}")
    return sorted(found)


SENTIMENT = one_of("positive", "neutral", "negative")

PAGINATION = {"total": count, "limit": count, "offset": count}
DONE = {"success": flag, "message": text}
