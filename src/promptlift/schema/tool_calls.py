"""Calls of tools as a transcript writes them: an assistant's ``[tool call] name({json})``, a system's ``[tool result] …``."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from promptlift.schema.transcript import CALL, RESULT

__all__ = ["CallParts", "call_in_words", "result_of", "split_call"]

NAME_CHARS: Final = 100

_CALL: Final = re.compile(
    rf"\A{re.escape(CALL.strip())}[ \t]*([\w./:-]{{1,{NAME_CHARS}}})[ \t]*\((.*)\)\s*\Z", re.DOTALL
)


class CallParts(NamedTuple):
    """The name of a tool, and its arguments as they are written."""

    name: str
    arguments: str


def split_call(text: str) -> CallParts | None:
    """Return the parts of a call; ``None`` for anything else."""
    found = _CALL.match(text.strip())
    return None if found is None else CallParts(found[1], found[2])


def result_of(text: str) -> str | None:
    """Return what a tool gave; ``None`` where a message is no result."""
    mark = RESULT.strip()
    return text.removeprefix(mark).strip() if text.startswith(mark) else None


def call_in_words(call: CallParts) -> str:
    """Return a call for people: the name, and below it each argument on a line of its own."""
    try:
        found: Any = json.loads(call.arguments or "{}")
        if found == {}:
            return f"{call.name}()"
        if isinstance(found, dict):
            lines = [f"  {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in found.items()]
            return "\n".join([call.name, *lines])
    except (ValueError, RecursionError):
        pass
    return f"{call.name}({call.arguments})"
