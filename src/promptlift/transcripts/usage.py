"""What the calls of a conversation cost and how long they took, as far as the source says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.transcript import CALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from promptlift.transcripts.collector import ParsedMessage

__all__ = ["UsageSums", "amount", "count_tool_calls", "count_tool_errors", "milliseconds"]

_MOST: Final = 2.0**53


@dataclass(slots=True)
class UsageSums:
    """Sums over the calls of a model; a sum of nothing is ``None``.

    Attributes
    ----------
    input_tokens, output_tokens, cost
        Sums, as far as calls say them.
    waited_ms, answers
        Time until answers in milliseconds, and how many answers it is for.
    tool_calls, tool_errors
        Calls of tools, and those that failed.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    waited_ms: float = 0.0
    answers: int = 0
    tool_calls: int | None = None
    tool_errors: int | None = None

    @property
    def latency_ms(self) -> float | None:
        """Mean time until an answer."""
        return round(self.waited_ms / self.answers, 3) if self.answers else None

    def add_call(
        self,
        *,
        input_tokens: float | None = None,
        output_tokens: float | None = None,
        cost: float | None = None,
        latency_ms: float | None = None,
    ) -> None:
        """Add one call of a model."""
        if input_tokens is not None:
            self.input_tokens = (self.input_tokens or 0) + round(input_tokens)
        if output_tokens is not None:
            self.output_tokens = (self.output_tokens or 0) + round(output_tokens)
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        if latency_ms is not None:
            self.waited_ms += latency_ms
            self.answers += 1

    def add(self, other: UsageSums) -> None:
        """Add the sums of another part of the conversation."""
        for name in ("input_tokens", "output_tokens", "cost", "tool_calls", "tool_errors"):
            more = getattr(other, name)
            if more is not None:
                setattr(self, name, (getattr(self, name) or 0) + more)
        self.waited_ms += other.waited_ms
        self.answers += other.answers


def amount(value: Any) -> float | None:
    """Read an amount that is zero or more, ``None`` when the value is none."""
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < _MOST else None


def milliseconds(begun: datetime | None, ended: datetime | None) -> float | None:
    """Return the time between two moments, ``None`` when one is unknown or they are the wrong way round."""
    if begun is None or ended is None or ended < begun:
        return None
    return (ended - begun).total_seconds() * 1000


def count_tool_calls(messages: Iterable[ParsedMessage]) -> int:
    """Count the calls of tools among the messages of a conversation."""
    return sum(message.role == "assistant" and message.content.startswith(CALL) for message in messages)


def count_tool_errors(messages: Sequence[Any]) -> int:
    """Count the results of tools that say themselves that they are errors, as LangChain and Anthropic write them."""
    count = 0
    for message in messages:
        if not isinstance(message, dict):
            continue
        count += message.get("status") == "error" and message.get("role") in ("tool", "function")
        content = message.get("content")
        if isinstance(content, list):
            count += sum(isinstance(part, dict) and part.get("is_error") is True for part in content)
    return count
