"""A message of a conversation, prepared for display."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.inert import shorten, visible
from promptlift.schema.transcript import CallParts, result_of, split_call

if TYPE_CHECKING:
    from datetime import datetime


def _call_in_words(call: CallParts) -> str:
    """Return a readable call: the name, and below it each argument on its own line."""
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


# Origin of a tool result in a simulated conversation, by its ``toolResult``.
_HOW: Final = {
    "replayed": "replayed from a logged conversation",
    "likeness": "imitated from logged calls",
    "unknown": "the agent has no such tool",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as shown, harmless and cut to a length; or a gap (role ``gap``) that describes the omission.

    Attributes
    ----------
    role
        Who wrote it; ``tool call`` and ``tool result`` for messages without a role in the format.
    content
        Its text.
    cut
        Number of characters omitted from its end.
    detail
        Additional information, in small print.
    at
        When it was written, if shown as a time.
    """

    role: str
    content: str
    cut: int = 0
    detail: str = ""
    at: datetime | None = None

    @classmethod
    def shown(cls, role: str, content: str, limit: int, **about: Any) -> Turn:
        """Return a message from outside without control characters, cut to ``limit`` characters."""
        kept, cut = shorten(visible(content), limit)
        return cls(role, kept, cut, **about)

    @classmethod
    def said(cls, role: str, content: str, limit: int, *, how: Any = None, detail: str = "") -> Turn:
        """Return a message of a transcript as ``shown``, recognizing tool calls and results.

        Parameters
        ----------
        how
            ``toolResult`` of the message, which comes from outside: anything.
        """
        if role == "assistant" and (call := split_call(content)) is not None:
            return cls.shown("tool call", _call_in_words(call), limit, detail=detail)
        if role == "system" and (result := result_of(content)) is not None:
            words = _HOW.get(how, "") if isinstance(how, str) else ""
            about = " · ".join(part for part in (words, detail) if part)
            return cls.shown("tool result", result, limit, detail=about)
        return cls.shown(role, content, limit, detail=detail)
