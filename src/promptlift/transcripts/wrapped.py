"""Chat messages taken out of what tracing tools wrap them in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.chat import kind_in
from promptlift.transcripts.collector import is_something
from promptlift.transcripts.payloads import item_messages, parts_messages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.transcripts.collector import Collector

__all__ = [
    "at",
    "chat_messages",
    "decoded",
    "drop_parameters",
    "first",
    "inside",
    "system_messages",
    "whole_run",
]

_LANGCHAIN_ROLES: Final = {"human": "user", "ai": "assistant"}
_SAME_ROLES: Final = ("system", "tool", "function")
_LANGCHAIN_FIELDS: Final = ("content", "tool_calls", "name", "tool_call_id")
# Where an input or output keeps its messages or its text; the first that holds something is taken.
_WRAPPERS: Final = (
    *("messages", "message", "choices", "generations", "contents", "candidates"),
    *("input", "inputs", "output", "outputs", "question", "answer", "content", "query", "prompt"),
    *("user_input", "response", "result", "completion", "text", "output_text", "chat_history"),
)
# Several answers to choose from.
_ALTERNATIVES: Final = ("choices", "candidates", "generations")
# Where the APIs of Anthropic, OpenAI (Responses) and Gemini take the system prompt, beside the messages.
_SYSTEM: Final = ("system", "instructions", "systemInstruction", "system_instruction")
_KNOWN: Final = frozenset({*_WRAPPERS, *_SYSTEM, "model", "role", "type", "id", "config", "self"})


def decoded(value: Any) -> Any:
    """Return what a JSON text holds; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return value
    return value


def inside(value: Any, name: str) -> dict[str, Any]:
    """Return the object under a name, an empty one where there is none."""
    found = decoded(value.get(name)) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def at(value: Any, path: str) -> Any:
    """Return the value at a path, whose names may be one or nested; ``None`` where there is none."""
    if not isinstance(value, dict):
        return None
    if value.get(path) is not None:
        return value[path]
    head, _, tail = path.partition(".")
    return at(decoded(value.get(head)), tail) if tail else None


def first(value: Any, paths: Iterable[str]) -> Any:
    """Return the value at the first of some paths that holds something, ``None`` where none does."""
    return next((found for path in paths if is_something(found := at(value, path))), None)


def chat_messages(value: Any, role: str) -> list[Any]:
    """Return the chat messages of an input or output, however it wraps them.

    Parameters
    ----------
    value
        A list of messages, one message, text, or an object that holds one of these under a usual name.
    role
        Who said it when the value is only text.
    """
    value = decoded(value)
    if isinstance(value, str):
        return [{"role": role, "content": value}] if value else []
    if isinstance(value, list):
        # LangChain batches: a list of one list of messages.
        inner = value[0] if value and isinstance(value[0], list) else value
        return [message for item in inner for message in _messages(item, role)]
    if not isinstance(value, dict):
        return []
    if "role" in value or "kwargs" in value or "parts" in value or _langchain_role(value) is not None:
        return _messages(value, role)
    name = next((name for name in _WRAPPERS if is_something(value.get(name))), None)
    found = decoded(value.get(name))
    messages = chat_messages(_first_of(found) if name in _ALTERNATIVES else found, role)
    # An answer of the Responses API repeats the instructions of its request.
    system = system_messages(value) if role == "user" else []
    return [*system, *messages] if messages else []


def drop_parameters(request: Any, collector: Collector, path: str) -> None:
    """Count what a request says besides messages, model and instructions, such as its temperature and its tools."""
    if isinstance(request, dict):
        collector.drop_unknown(request, _KNOWN, prefix=f"{path}.")
        collector.drop_unknown(inside(request, "config"), _KNOWN, prefix=f"{path}.config.")


def system_messages(request: Any) -> list[Any]:
    """Return the system prompt that a request keeps beside its messages."""
    places = (request if isinstance(request, dict) else {}, inside(request, "config"))
    found = next((place[name] for place in places for name in _SYSTEM if is_something(place.get(name))), None)
    if isinstance(found, dict) and "parts" in found:
        return parts_messages({**found, "role": "system"}, "system")
    if isinstance(found, list) and any(isinstance(one, dict) and "role" in one for one in found):
        return chat_messages(found, "system")
    return [{"role": "system", "content": found}] if isinstance(found, str | list) else []


def _first_of(answers: Any) -> Any:
    """Return the first of several answers to one request; LangChain keeps them in a list for each of several requests."""
    if not isinstance(answers, list) or not answers:
        return answers
    return _first_of(answers[0]) if isinstance(answers[0], list) else answers[:1]


def whole_run(history: list[Any], answer: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return what a run was asked and what it answered; some give the whole conversation back as their output."""
    if answer[: len(history)] == history:
        answer = answer[len(history) :]
    elif len(answer) > 1 and any(kind_in(message) == "user" for message in answer):
        return answer[:-1], answer[-1:]
    return history, answer


def _messages(item: Any, role: str) -> list[Any]:
    """Return the chat messages of one item of an input or output; mostly it is one."""
    if not isinstance(item, dict):
        return [{"role": role, "content": item} if isinstance(item, str) else item]
    # A choice of an answer, or a candidate of Gemini.
    for name in ("message", "content"):
        inner = item.get(name)
        if "role" not in item and isinstance(inner, dict):
            return _messages(inner, role if name == "message" else "model")
    if "parts" in item and "content" not in item:
        return parts_messages(item, role)
    of_item = item_messages(item)
    return [_message(item, role)] if of_item is None else of_item


def _message(item: dict[str, Any], role: str) -> dict[str, Any]:
    """Return a chat message with role and content of what LangChain wraps."""
    item = _unpacked(item)
    if item.get("type") == "message" and "role" in item:
        return {name: item[name] for name in ("role", "content") if name in item}
    if "role" not in item and _langchain_role(item) is not None:
        return {"role": _langchain_role(item), **{k: item[k] for k in _LANGCHAIN_FIELDS if k in item}}
    if "role" not in item and isinstance(item.get("text"), str):
        return {"role": role, "content": item["text"]}
    return item


def _unpacked(item: dict[str, Any]) -> dict[str, Any]:
    """Return the message inside LangChain's ``kwargs`` or ``data``, with its type."""
    inside = next((item[name] for name in ("kwargs", "data") if isinstance(item.get(name), dict)), None)
    if inside is None:
        return item
    identity = item.get("id")
    name = str(identity[-1]) if isinstance(identity, list) and identity else str(item.get("type"))
    return {"type": name, **inside}


def _langchain_role(item: dict[str, Any]) -> str | None:
    name = str(item.get("type")).lower().removesuffix("chunk").removesuffix("message")
    return name if name in _SAME_ROLES else _LANGCHAIN_ROLES.get(name)
