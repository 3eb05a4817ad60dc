"""Gemini: requests with ``contents`` of ``role`` and ``parts``, with or without their answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.chat import fold
from promptlift.transcripts.collector import ParsedConversation, is_something
from promptlift.transcripts.reading import Unreadable
from promptlift.transcripts.usage import UsageSums, amount
from promptlift.transcripts.wrapped import inside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_contents", "read_gemini"]

_SYSTEM: Final = ("systemInstruction", "system_instruction")
_IDS: Final = ("id", "key", "conversation_id")
_READ: Final = frozenset({"contents", "request", "response", "candidates", "model", *_SYSTEM, *_IDS})


def is_contents(value: dict[str, Any]) -> bool:
    """Whether a record is a request of Gemini."""
    asked = inside(value, "request") or value
    contents = asked.get("contents")
    return (
        isinstance(contents, list)
        and bool(contents)
        and isinstance(contents[0], dict)
        and "parts" in contents[0]
    )


def read_gemini(records: Iterable[Record], collector: Collector) -> None:
    """Read requests, one conversation from each."""
    collector.add_each(records, _conversation)


def _conversation(record: Record, collector: Collector) -> ParsedConversation:
    value = record.value if isinstance(record.value, dict) else {}
    asked = value["request"] if isinstance(value.get("request"), dict) else value
    answered = value["response"] if isinstance(value.get("response"), dict) else value
    contents = asked.get("contents")
    if not isinstance(contents, list):
        raise Unreadable("the record has no list of contents")
    system = next((asked[name] for name in _SYSTEM if is_something(asked.get(name))), None)
    candidates = answered.get("candidates")
    answer = candidates[0].get("content") if isinstance(candidates, list) and candidates else None
    contents = [*contents, *([{"role": "model", **answer}] if isinstance(answer, dict) else [])]
    messages = [message for content in contents for message in _messages(content, "user")]
    if system is not None:
        messages = [
            *_messages(system if isinstance(system, dict) else {"parts": system}, "system"),
            *messages,
        ]
    collector.drop_unknown(value, _READ)
    usage, counts = UsageSums(), answered.get("usageMetadata")
    if isinstance(counts, dict):
        usage.add_call(
            input_tokens=amount(counts.get("promptTokenCount")),
            output_tokens=amount(counts.get("candidatesTokenCount")),
        )
    return ParsedConversation(
        fold(messages, collector, path="contents[]"),
        record.line,
        source_id=next((value[name] for name in _IDS if is_something(value.get(name))), None),
        llm_model=answered.get("modelVersion") or value.get("model") or asked.get("model"),
        usage=usage,
    )


def _messages(content: Any, role: str) -> list[dict[str, Any]]:
    """Return the chat messages of one content: its texts, calls of functions, and their results."""
    if not isinstance(content, dict):
        raise Unreadable("one of the contents is not an object")
    # An instruction is the system's, whatever role it is given.
    role = role if role == "system" else content.get("role") or role
    parts = content.get("parts")
    parts = [{"text": parts}] if isinstance(parts, str) else parts if isinstance(parts, list) else [parts]
    messages: list[dict[str, Any]] = []
    for part in parts:
        if not isinstance(part, dict) or part.get("thought") is True:
            continue
        call = part.get("functionCall") or part.get("function_call")
        result = part.get("functionResponse") or part.get("function_response")
        if isinstance(call, dict):
            messages.append({"role": "assistant", "content": None, "tool_calls": [{"function": call}]})
        elif isinstance(result, dict):
            messages.append({"role": "tool", "content": [{"text": _json(result.get("response"))}]})
        elif messages and isinstance(messages[-1]["content"], list) and messages[-1]["role"] == role:
            messages[-1]["content"].append(_part(part))
        else:
            messages.append({"role": role, "content": [_part(part)]})
    return messages


def _part(part: dict[str, Any]) -> dict[str, Any]:
    return part if isinstance(part.get("text"), str) else {"type": next(iter(part), "empty part")}


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
