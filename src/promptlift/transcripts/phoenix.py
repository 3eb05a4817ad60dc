"""Phoenix: spans with the OpenInference attributes, as JSON Lines or Parquet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.spans.messages import unflatten
from promptlift.transcripts.collector import is_something
from promptlift.transcripts.sessions import Call, Step
from promptlift.transcripts.traces import read_traces
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import chat_messages, decoded, whole_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["read_phoenix"]

_ATTRIBUTES: Final = (
    *("openinference.span.kind", "session.id", "user.id", "metadata", "tag.tags"),
    *("llm.model_name", "llm.token_count.prompt", "llm.token_count.completion", "llm.token_count.total"),
    *("llm.cost.total", "llm.input_messages", "llm.output_messages", "llm.prompt_template.version"),
    *("prompt.name", "prompt.version", "agent.name"),
    *("input.value", "output.value", "input.mime_type", "output.mime_type"),
)
_READ: Final = frozenset(
    {
        *(
            "span_kind",
            "attributes",
            "context",
            "context.trace_id",
            "context.span_id",
            "start_time",
            "end_time",
        ),
        *("status_code",),
        *(f"attributes.{name}" for name in _ATTRIBUTES),
    }
)
_NUMBER: Final = re.compile(r"\.\d+")
_PROMPT: Final = ("prompt.name", "agent.name")
_VERSION: Final = ("prompt.version", "llm.prompt_template.version")


def read_phoenix(records: Iterable[Record], collector: Collector) -> None:
    """Read spans: the model calls of one session, or of one trace, are one conversation."""
    read_traces(records, collector, _call)


def _call(record: dict[str, Any], collector: Collector) -> Call | Step | None:
    kind = str(record.get("span_kind") or _attribute(record, "openinference.span.kind")).upper()
    trace = _at(record, "context.trace_id")
    if kind != "LLM":
        collector.drop(f"spans of kind {kind}")
        if kind in ("TOOL", "RETRIEVER"):
            return Step(trace, failed=str(record.get("status_code")).upper() == "ERROR")
        if is_something(record.get("parent_id")) or not is_something(_attribute(record, "output.value")):
            return None
    else:
        collector.drop_unknown(record, _READ)
        attributes = decoded(record.get("attributes"))
        flat = attributes if isinstance(attributes, dict) else {}
        others = (name for name in flat if "." in name and not name.startswith(_ATTRIBUTES))
        for name in others:
            collector.drop(f"attributes.{_NUMBER.sub('[]', name)}")
    return _of_span(record, collector, trace, whole=kind != "LLM")


def _of_span(record: dict[str, Any], collector: Collector, trace: Any, *, whole: bool) -> Call:
    session = _attribute(record, "session.id")
    metadata = _metadata(record)
    prompt, version = (
        next((value for name in names if is_something(value := _attribute(record, name))), None)
        for names in (_PROMPT, _VERSION)
    )
    own = {
        "userId": _attribute(record, "user.id"),
        "sessionId": session,
        "tags": _attribute(record, "tag.tags"),
        "promptName": prompt,
        "promptVersion": version,
    }
    history, answer = _messages(record, "input", "user"), _messages(record, "output", "assistant")
    if whole:
        history, answer = whole_run(history, answer)
    return Call(
        session if is_something(session) else trace,
        history,
        answer,
        collector.time(record.get("end_time"), "end_time"),
        _attribute(record, "llm.model_name"),
        collector.tokens(
            _attribute(record, "llm.token_count.completion"), "attributes.llm.token_count.completion"
        ),
        {
            **metadata,
            **{name: value for name, value in own.items() if is_something(value)},
        },
        started=collector.time(record.get("start_time"), "start_time"),
        trace=trace,
        span=_at(record, "context.span_id"),
        input_tokens=collector.tokens(
            _attribute(record, "llm.token_count.prompt"), "attributes.llm.token_count.prompt"
        ),
        cost=amount(_attribute(record, "llm.cost.total")),
        prompt_name=prompt,
        prompt_version=version,
        title=record.get("name") if whole else None,
        whole=whole,
    )


def _attribute(record: dict[str, Any], name: str) -> Any:
    flat = record.get(f"attributes.{name}")
    return flat if flat is not None else _at(decoded(record.get("attributes")), name)


def _metadata(record: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata: one value in exports of tables, flattened to dotted names by the REST API."""
    whole = decoded(_attribute(record, "metadata"))
    if isinstance(whole, dict):
        return whole
    attributes = decoded(record.get("attributes"))
    flat = attributes if isinstance(attributes, dict) else {}
    return {
        name.removeprefix("metadata."): value for name, value in flat.items() if name.startswith("metadata.")
    }


def _at(value: Any, name: str) -> Any:
    """Return the value of a dotted name, written flat or nested."""
    if not isinstance(value, dict):
        return None
    if name in value:
        return value[name]
    head, _, tail = name.partition(".")
    return _at(decoded(value.get(head)), tail) if tail else None


def _messages(record: dict[str, Any], side: str, role: str) -> list[Any]:
    messages = decoded(_attribute(record, f"llm.{side}_messages"))
    if messages is None and isinstance(decoded(record.get("attributes")), dict):
        messages = unflatten(decoded(record["attributes"]), f"llm.{side}_messages")
    if isinstance(messages, list) and messages:
        return [_message(message) for message in messages]
    return chat_messages(_attribute(record, f"{side}.value"), role)


def _message(message: Any) -> Any:
    """Return a chat message from one that names its fields ``message.role``, flat or nested."""
    if not isinstance(message, dict):
        return message
    parts = _at(message, "message.contents")
    content = _at(message, "message.content")
    calls = _at(message, "message.tool_calls")
    found = {
        "role": _at(message, "message.role"),
        "content": [_part(part) for part in parts]
        if content is None and isinstance(parts, list)
        else content,
        "tool_calls": [_tool_call(call) for call in calls] if isinstance(calls, list) else None,
        "name": _at(message, "message.name"),
        "tool_call_id": _at(message, "message.tool_call_id"),
    }
    return {name: value for name, value in found.items() if value is not None or name in ("role", "content")}


def _part(part: Any) -> dict[str, Any]:
    return {"type": _at(part, "message_content.type"), "text": _at(part, "message_content.text")}


def _tool_call(call: Any) -> dict[str, Any]:
    return {
        "id": _at(call, "tool_call.id"),
        "function": {
            "name": _at(call, "tool_call.function.name"),
            "arguments": _at(call, "tool_call.function.arguments"),
        },
    }
