"""An answer of any asked-for shape, for purposes that the rehearsal has no lines for."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["fill"]

_DEPTH: Final = 12
_TEXT: Final = "Rehearsal"


def fill(schema: dict[str, Any]) -> Any:
    """Give the plainest value that fits a JSON schema: first choices, smallest numbers, one item a list."""
    return _fill(schema, schema.get("$defs", {}), 0)


def _fill(node: dict[str, Any], definitions: dict[str, Any], depth: int) -> Any:
    other = _other(node, definitions)
    if other is not None:
        return None if depth > _DEPTH else _fill(other, definitions, depth + 1)
    kind = node.get("type")
    if kind == "object":
        parts = (node.get("properties") or {}).items()
        return {name: _fill(one, definitions, depth + 1) for name, one in parts if depth <= _DEPTH}
    if kind == "array":
        count = max(1, int(node.get("minItems", 1))) if depth <= _DEPTH else 0
        return [_fill(node.get("items", {}), definitions, depth + 1) for _ in range(count)]
    return _plainest(node)


def _other(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any] | None:
    """The schema that stands for this one."""
    if "$ref" in node:
        found: dict[str, Any] = definitions.get(str(node["$ref"]).rsplit("/", 1)[-1], {})
        return found
    for several in ("anyOf", "oneOf", "allOf"):
        if several in node:
            return dict(node[several][0])
    return None


def _plainest(node: dict[str, Any]) -> Any:
    for fixed in (node.get("enum"), [node["const"]] if "const" in node else None):
        if fixed:
            return fixed[0]
    if node.get("type") in ("integer", "number"):
        return node.get("minimum", 0)
    if node.get("type") in ("boolean", "null"):
        return False if node["type"] == "boolean" else None
    return _TEXT.ljust(int(node.get("minLength", 0)), ".")[: int(node.get("maxLength", 10_000))]
