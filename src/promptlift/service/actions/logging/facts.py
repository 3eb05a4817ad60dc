"""Columns of what is known about a conversation beside its content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.schema.conversations import FACTS

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNKNOWN: Final[dict[str, Any]] = dict.fromkeys(FACTS)


def facts_columns(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a new conversation: those of every fact, ``None`` where nothing is known."""
    return {**_UNKNOWN, **changed_columns(facts)}


def changed_columns(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of some facts."""
    columns = dict(facts)
    if "metadata" in columns:
        columns["metadata"] = orjson.dumps(columns["metadata"]).decode() if columns["metadata"] else None
    return columns
