"""Recognise the format of a file by its content."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.rows import Columns
from promptlift.transcripts.structured import API_FIELDS
from promptlift.transcripts.tables import SEPARATORS, csv_header

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["format_of", "separator_of"]

_OWN_MESSAGE_FIELDS: Final = frozenset({"timestamp", "tokens", "model"})
_SCORE: Final = frozenset({"name", "value", "source", "data_type"})
_SCORE_CAMEL: Final = frozenset({"name", "value", "source", "dataType"})


def format_of(values: Iterable[Any], *, single: bool) -> str | None:
    """Name the format that most of the records have, ``None`` when none has one.

    Parameters
    ----------
    values
        The first records of a file.
    single
        Whether a plain ``{"messages": [...]}`` is the service's own format; in JSON Lines it is OpenAI's.
    """
    found = Counter(name for name in map(_format_of_record, values) if name is not None)
    chats = found.pop("messages", 0)
    own = found["structured"] or (single and not found["openai"])
    found["structured" if own else "openai"] += chats + (found.pop("openai", 0) if own else 0)
    name, count = found.most_common(1)[0]
    return name if count else None


def separator_of(head: str) -> str | None:
    """Find the separator with which a text is a table of a known format."""
    for separator in SEPARATORS:
        columns = csv_header(head, separator)
        if len(columns) > 1 and _format_of_record(dict.fromkeys(columns, "")) is not None:
            return separator
    return None


def _format_of_record(value: Any) -> str | None:
    if isinstance(value, list):
        return "messages" if value and isinstance(value[0], dict) and "role" in value[0] else None
    if not isinstance(value, dict):
        return None
    keys = value.keys()
    for name, holds in (
        ("chatgpt", "mapping" in keys and isinstance(value["mapping"], dict)),
        ("sharegpt", any(isinstance(value.get(key), list) for key in ("conversations", "conversation"))),
        ("langsmith", {"run_type", "inputs"} <= keys),
        ("phoenix", "span_kind" in keys or any(str(key).startswith("attributes.") for key in keys)),
        ("langfuse-scores", keys >= _SCORE or keys >= _SCORE_CAMEL),
        ("langfuse", {"type", "input", "output"} <= keys and not keys.isdisjoint({"trace_id", "traceId"})),
    ):
        if holds:
            return name
    if "messages" in keys:
        return _chat_format(value)
    if Columns(keys).complete:
        return "rows"
    return "structured" if "content" in keys else None


def _chat_format(value: dict[str, Any]) -> str:
    messages = value["messages"]
    messages = [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    if not API_FIELDS.isdisjoint(value) or any(not _OWN_MESSAGE_FIELDS.isdisjoint(m) for m in messages):
        return "structured"
    for message in messages:
        if message.get("role") in ("tool", "function", "developer") or isinstance(
            message.get("content"), list
        ):
            return "openai"
        if "tool_calls" in message or "function_call" in message:
            return "openai"
    return "openai" if "tools" in value else "messages"
