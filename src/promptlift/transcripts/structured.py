"""The service's own format, and the chat format of OpenAI: records with ``messages``.

Both have the same shape; the service's adds ``metadata`` and message times, models and tokens, OpenAI's adds
tools. Bodies of ``POST /conversations``, with ``content`` as text, are read here too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Unreadable
from promptlift.schema.metadata import scores_in
from promptlift.transcripts.chat import fold
from promptlift.transcripts.collector import Collector, ParsedConversation, is_something
from promptlift.transcripts.plain import split_messages
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import at

if TYPE_CHECKING:
    from promptlift.transcripts.sources import Record

__all__ = ["API_FIELDS", "conversation_of"]

_STARTS: Final = ("startedAt", "started_at", "createdAt", "created_at")
_MODELS: Final = ("llmModel", "llm_model", "model")
_COMPANIES: Final = ("companyName", "company_name")
_KEYS: Final = ("idempotencyKey", "idempotency_key")
API_FIELDS: Final = frozenset({"status", *_MODELS[:2], *_COMPANIES, *_KEYS})
# Fields of a conversation, each with its possible names.
_FIELDS: Final = {
    "source_id": ("sourceId", "source_id", "conversationId", "conversation_id", "id"),
    "status": ("status",),
    "llm_model": _MODELS,
    "company_name": _COMPANIES,
    "key": _KEYS,
}
_USAGE: Final = {
    "input_tokens": ("inputTokens", "input_tokens", "usage.input_tokens", "usage.prompt_tokens"),
    "output_tokens": ("outputTokens", "output_tokens", "usage.output_tokens", "usage.completion_tokens"),
    "cost": ("cost", "totalCost", "total_cost", "usage.cost"),
    "latency_ms": ("latencyMs", "latency_ms"),
}
_INSIDE: Final = frozenset({"messages", "metadata"})


def conversation_of(record: Record, collector: Collector) -> ParsedConversation:
    """Read a record with messages or content."""
    value = {"messages": record.value} if isinstance(record.value, list) else record.value
    if not isinstance(value, dict):
        raise Unreadable("the record is not an object with messages or content")
    name = "messages" if is_something(value.get("messages")) or "content" not in value else "content"
    conversation = ParsedConversation([], record.line)
    if name == "messages":
        _take_messages(conversation, value, collector, prefix="")
    else:
        _take_content(conversation, value["content"], collector)
    scores = scores_in(value)
    conversation.metadata = {**scores, **conversation.metadata}
    used = {name, "metadata", *scores}
    for field, names in _FIELDS.items():
        found = next((one for one in names if is_something(value.get(one))), None)
        if found is not None:
            setattr(conversation, field, value[found])
            used.add(found)
    start = next((key for key in _STARTS if is_something(value.get(key))), "")
    if start and not any(message.timestamp for message in conversation.messages):
        conversation.started_at = collector.time(value[start], start)
        used.add(start)
    amounts: dict[str, float] = {}
    for what, paths in _USAGE.items():
        for path in paths:
            counted = amount(at(value, path))
            if counted is not None:
                amounts[what] = counted
                used.add(path.partition(".")[0])
                break
    conversation.usage.add_call(**amounts)
    conversation.system_prompt = _system_of(value)
    if conversation.system_prompt is not None:
        used.add("system")
    collector.drop_unknown(value, frozenset(used))
    return conversation


def _system_of(value: dict[str, Any]) -> str | None:
    """Return the system prompt of a record that has it apart from its messages, as in Anthropic's API."""
    system = value.get("system")
    if not is_something(system) or not isinstance(system, str | list):
        return None
    turns = fold([{"role": "system", "content": system}], Collector(""))
    return turns[0].content or None


def _take_messages(
    conversation: ParsedConversation, value: dict[str, Any], collector: Collector, *, prefix: str
) -> None:
    messages = value.get("messages")
    if isinstance(messages, str) and messages.lstrip().startswith("["):
        messages = _parsed(messages, "messages")
    if not isinstance(messages, list):
        shown = "no messages" if messages is None else "messages that are not a list"
        raise Unreadable(f"the record has {shown}; it needs messages or content")
    conversation.messages = fold(messages, collector, path=f"{prefix}messages[]")
    metadata = value.get("metadata")
    if isinstance(metadata, str) and metadata.lstrip().startswith("{"):
        metadata = _parsed(metadata, "metadata")
    if isinstance(metadata, dict):
        conversation.metadata = {**conversation.metadata, **metadata}
    elif is_something(metadata):
        collector.drop(f"{prefix}metadata (not an object)")


def _take_content(conversation: ParsedConversation, content: Any, collector: Collector) -> None:
    if isinstance(content, str) and content.lstrip("\ufeff \t\r\n").startswith("{"):
        content = _parsed(content.lstrip("\ufeff"), "content")
    if isinstance(content, dict):
        _take_messages(conversation, content, collector, prefix="content.")
        collector.drop_unknown(content, _INSIDE, prefix="content.")
    elif isinstance(content, str) and content.strip():
        conversation.messages = split_messages(content, collector)
    elif isinstance(content, list):
        conversation.messages = fold(content, collector, path="content[]")
    else:
        raise Unreadable("content is empty or not text")


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{what} looks like JSON but is not: {error}") from error
