"""How a partial settings object changes the whole one."""

from __future__ import annotations

from typing import Any


def merge(whole: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the provided fields changed; the arguments are not modified."""
    merged = dict(whole)
    for name, value in change.items():
        before = merged.get(name)
        merged[name] = merge(before, value) if isinstance(value, dict) and isinstance(before, dict) else value
    return merged
