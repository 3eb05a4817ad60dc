"""Chat messages taken out of what tracing tools wrap them in."""

from __future__ import annotations

import json
from typing import Any, Final

from promptlift.transcripts.collector import is_something

__all__ = ["chat_messages", "decoded", "inside", "whole_run"]

_LANGCHAIN_ROLES: Final = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "function",
}
_LANGCHAIN_FIELDS: Final = ("content", "tool_calls", "name", "tool_call_id")
# Where an input or output keeps its messages or its text; the first that holds something is taken.
_WRAPPERS: Final = (
    *("messages", "message", "choices", "generations"),
    *(
        "input",
        "inputs",
        "output",
        "outputs",
        "question",
        "answer",
        "content",
        "query",
        "prompt",
        "user_input",
    ),
    *("response", "result", "completion", "text", "output_text", "chat_history"),
)
# Where the APIs of Anthropic and OpenAI (responses) take the system prompt, beside the messages.
_SYSTEM: Final = ("system", "instructions")


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
        return [_message(item, role) for item in inner]
    if not isinstance(value, dict):
        return []
    if "role" in value or "kwargs" in value or _langchain_role(value) is not None:
        return [_message(value, role)]
    inside = next((value[name] for name in _WRAPPERS if is_something(value.get(name))), None)
    messages = chat_messages(inside, role)
    system = next((value[name] for name in _SYSTEM if is_something(value.get(name))), None)
    if messages and isinstance(system, str | list):
        messages = [{"role": "system", "content": system}, *messages]
    return messages


def whole_run(history: list[Any], answer: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return what a run was asked and what it answered; some give the whole conversation back as their output."""
    if answer[: len(history)] == history:
        answer = answer[len(history) :]
    elif len(answer) > 1 and any(_is_users(message) for message in answer):
        return answer[:-1], answer[-1:]
    return history, answer


def _is_users(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in ("user", "human")


def _message(item: Any, role: str) -> Any:
    """Return a chat message with role and content of what LangChain or a choice of an answer wraps."""
    if isinstance(item, str):
        return {"role": role, "content": item}
    if not isinstance(item, dict):
        return item
    if isinstance(item.get("message"), dict):
        return _message(item["message"], role)
    item = _unpacked(item)
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
    return _LANGCHAIN_ROLES.get(name)
