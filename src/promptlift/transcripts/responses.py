"""OpenAI: requests and answers of the Responses API, batches, and preference pairs (DPO)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.chat import fold
from promptlift.transcripts.collector import ParsedConversation, is_something
from promptlift.transcripts.reading import Unreadable
from promptlift.transcripts.traces import Call, read_traces
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import chat_messages, decoded, inside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["from_responses", "is_batch", "is_dpo", "is_responses", "read_batch", "read_dpo", "read_responses"]

_SIDES: Final = ("preferred_output", "non_preferred_output")
_BATCH_READ: Final = frozenset({"custom_id", "body", "response", "method", "url", "id"})
_SILENT: Final = ("reasoning", "web_search_call", "file_search_call", "item_reference")


def is_responses(asked: Any, answered: Any = None) -> bool:
    """Whether a request or an answer is one of the Responses API."""
    if isinstance(answered, dict) and answered.get("object") == "response":
        return True
    if isinstance(asked, dict) and asked.get("object") == "response":
        return True
    return isinstance(asked, dict) and "input" in asked and "messages" not in asked and "model" in asked


def is_batch(value: dict[str, Any]) -> bool:
    """Whether a record is a line of a batch: a request, or its answer."""
    return "custom_id" in value and ("body" in value or "response" in value)


def is_dpo(value: dict[str, Any]) -> bool:
    """Whether a record is a preference pair."""
    return "input" in value and not set(_SIDES).isdisjoint(value)


def from_responses(asked: Any, answered: Any) -> tuple[list[Any], list[Any]]:
    """Return history and answer of a call of the Responses API as chat messages."""
    asked = asked if isinstance(asked, dict) else {}
    answered = answered if isinstance(answered, dict) else {}
    said = asked.get("input")
    history = [{"role": "user", "content": said}] if isinstance(said, str) else _items(said, "user")
    instructions = asked.get("instructions") or answered.get("instructions")
    if isinstance(instructions, str):
        history.insert(0, {"role": "system", "content": instructions})
    elif isinstance(instructions, list):
        history = [*_items(instructions, "system"), *history]
    return history, _items(answered.get("output"), "assistant")


def _items(items: Any, role: str) -> list[Any]:
    messages: list[Any] = []
    for item in items if isinstance(items, list) else ():
        kind = item.get("type", "message") if isinstance(item, dict) else "message"
        if kind == "message":
            messages.append(
                {"role": item.get("role", role), "content": item.get("content")}
                if isinstance(item, dict)
                else item
            )
        elif kind in ("function_call", "custom_tool_call", "mcp_call"):
            call = {"name": item.get("name"), "arguments": item.get("arguments", item.get("input"))}
            messages.append({"role": "assistant", "content": None, "tool_calls": [{"function": call}]})
            if kind == "mcp_call" and item.get("output") is not None:
                messages.append({"role": "tool", "content": item["output"]})
        elif kind in ("function_call_output", "custom_tool_call_output"):
            messages.append({"role": "tool", "content": item.get("output")})
        elif kind not in _SILENT:
            messages.append({"role": role, "content": f"[{kind}]"})
    return messages


def read_responses(records: Iterable[Record], collector: Collector) -> None:
    """Read answers of the Responses API, each with its request where the record has it."""
    read_traces(records, collector, _response)


def _response(record: dict[str, Any], collector: Collector) -> Call:
    asked = decoded(record.get("request")) if isinstance(decoded(record.get("request")), dict) else record
    answered = (
        decoded(record.get("response")) if isinstance(decoded(record.get("response")), dict) else record
    )
    return _call(record.get("id"), asked, answered, collector)


def _call(source: Any, asked: dict[str, Any], answered: dict[str, Any], collector: Collector) -> Call:
    if is_responses(asked, answered):
        history, answer = from_responses(asked, answered)
    else:
        history, answer = chat_messages(asked, "user"), chat_messages(answered, "assistant")
    usage = inside(answered, "usage")
    conversation = answered.get("conversation") or asked.get("conversation")
    conversation = conversation.get("id") if isinstance(conversation, dict) else conversation
    prompt = inside(asked, "prompt") or inside(answered, "prompt")
    metadata = answered.get("metadata") or asked.get("metadata")
    user = answered.get("user") or asked.get("user")
    return Call(
        conversation or source or answered.get("id"),
        history,
        answer,
        collector.time(
            answered.get("completed_at") or answered.get("created_at") or answered.get("created"),
            "created_at",
        ),
        answered.get("model") or asked.get("model"),
        amount(usage.get("output_tokens", usage.get("completion_tokens"))),
        {
            **(metadata if isinstance(metadata, dict) else {}),
            **({"userId": user} if is_something(user) else {}),
        },
        trace=answered.get("id") or source,
        input_tokens=amount(usage.get("input_tokens", usage.get("prompt_tokens"))),
        prompt_name=prompt.get("id"),
        prompt_version=prompt.get("version"),
    )


def read_batch(records: Iterable[Record], collector: Collector) -> None:
    """Read the lines of batches; requests and answers with one ``custom_id`` are one conversation."""
    pairs: dict[str, dict[str, Any]] = {}
    lines: dict[str, Record] = {}
    for record in collector.sound(records):
        value = record.value if isinstance(record.value, dict) else {}
        name = str(value.get("custom_id"))
        pair = pairs.setdefault(name, {})
        lines.setdefault(name, record)
        collector.drop_unknown(value, _BATCH_READ)
        if isinstance(value.get("body"), dict):
            pair["asked"] = value["body"]
        response = value.get("response")
        if isinstance(response, dict):
            pair["answered"] = response.get("body")
    for name, pair in pairs.items():
        if not isinstance(pair.get("asked"), dict):
            collector.problem(
                lines[name].line,
                f"the answer {name!r} has no request; give the input file of the batch in the same file",
            )
    whole = ((name, pair) for name, pair in pairs.items() if isinstance(pair.get("asked"), dict))
    read_traces(
        (lines[name]._replace(value={"custom_id": name, **pair}) for name, pair in whole),
        collector,
        _of_batch,
    )


def _of_batch(record: dict[str, Any], collector: Collector) -> Call:
    answered = record.get("answered")
    return _call(
        record["custom_id"], record["asked"], answered if isinstance(answered, dict) else {}, collector
    )


def read_dpo(records: Iterable[Record], collector: Collector) -> None:
    """Read preference pairs: the conversation with the preferred answer."""
    collector.add_each(records, _preferred)


def _preferred(record: Record, collector: Collector) -> ParsedConversation:
    value = record.value if isinstance(record.value, dict) else {}
    asked = decoded(value.get("input"))
    answer = decoded(value.get("preferred_output"))
    if not is_something(answer):
        raise Unreadable("the pair has no preferred_output")
    collector.drop_unknown(value, frozenset({"input", "preferred_output"}))
    messages = [*chat_messages(asked, "user"), *chat_messages(answer, "assistant")]
    return ParsedConversation(fold(messages, collector), record.line)
