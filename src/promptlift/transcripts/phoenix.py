"""Phoenix: spans with the OpenInference attributes, as JSON Lines or Parquet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.spans.messages import unflatten
from promptlift.transcripts.fields import CallFields
from promptlift.transcripts.wrapped import at, chat_messages, decoded, first, inside

if TYPE_CHECKING:
    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sessions import Call, Step

__all__ = ["call_of"]

_NUMBER: Final = re.compile(r"\.\d+")
_SPAN: Final = CallFields(
    asked=("attributes.input.value",),
    answered=("attributes.output.value",),
    trace=("context.trace_id",),
    session=("attributes.session.id",),
    span=("context.span_id",),
    started=("start_time",),
    ended=("end_time",),
    model=("attributes.llm.model_name",),
    input_tokens=("attributes.llm.token_count.prompt",),
    output_tokens=("attributes.llm.token_count.completion",),
    cost=("attributes.llm.cost.total",),
    prompt_name=("attributes.prompt.name", "attributes.agent.name"),
    prompt_version=("attributes.prompt.version", "attributes.llm.prompt_template.version"),
    user=("attributes.user.id",),
    tags=("attributes.tag.tags",),
    others=(
        *("status_code", "attributes.metadata"),
        *(
            "attributes.llm.token_count.total",
            "attributes.llm.input_messages",
            "attributes.llm.output_messages",
        ),
        *("attributes.input.mime_type", "attributes.output.mime_type"),
    ),
    kind=("span_kind", "attributes.openinference.span.kind"),
    calls=("LLM",),
    tools=("TOOL", "RETRIEVER"),
    parent=("parent_id",),
    status=("status_code",),
    run_title=("name",),
)
# Prefixes of attributes that are read.
_READ: Final = tuple(
    name.removeprefix("attributes.") for name in _SPAN.names if name.startswith("attributes.")
)


def call_of(record: dict[str, Any], collector: Collector) -> Call | Step | None:
    """Read a span: the model calls of one session, or of one trace, are one conversation."""
    kind = str(first(record, _SPAN.kind)).upper()
    if kind in _SPAN.calls:
        for name in inside(record, "attributes"):
            if "." in name and not name.startswith(_READ):
                collector.drop(f"attributes.{_NUMBER.sub('[]', name)}")
    return _SPAN.take(
        record,
        collector,
        kind,
        metadata=_metadata(record),
        history=_messages(record, "input", "user"),
        answer=_messages(record, "output", "assistant"),
    )


def _metadata(record: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata: one value in exports of tables, flattened to dotted names by the REST API."""
    whole = decoded(at(record, "attributes.metadata"))
    if isinstance(whole, dict):
        return whole
    flat = inside(record, "attributes")
    return {
        name.removeprefix("metadata."): value for name, value in flat.items() if name.startswith("metadata.")
    }


def _messages(record: dict[str, Any], side: str, role: str) -> list[Any]:
    messages = decoded(at(record, f"attributes.llm.{side}_messages"))
    if messages is None:
        messages = unflatten(inside(record, "attributes"), f"llm.{side}_messages")
    if isinstance(messages, list) and messages:
        return [_message(message) for message in messages]
    return chat_messages(at(record, f"attributes.{side}.value"), role)


def _message(message: Any) -> Any:
    """Return a chat message from one with fields named like ``message.role``, flat or nested."""
    if not isinstance(message, dict):
        return message
    parts = at(message, "message.contents")
    content = at(message, "message.content")
    calls = at(message, "message.tool_calls")
    if content is None and isinstance(parts, list):
        content = [{name: at(part, f"message_content.{name}") for name in ("type", "text")} for part in parts]
    found = {
        "role": at(message, "message.role"),
        "content": content,
        "tool_calls": [_tool_call(call) for call in calls] if isinstance(calls, list) else None,
        "name": at(message, "message.name"),
        "tool_call_id": at(message, "message.tool_call_id"),
    }
    return {name: value for name, value in found.items() if value is not None or name in ("role", "content")}


def _tool_call(call: Any) -> dict[str, Any]:
    return {
        "id": at(call, "tool_call.id"),
        "function": {
            "name": at(call, "tool_call.function.name"),
            "arguments": at(call, "tool_call.function.arguments"),
        },
    }
