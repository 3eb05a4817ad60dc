"""Messages of model calls in all forms written by instrumentations, folded into the three roles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from promptlift.schema.boundary import Unreadable
from promptlift.schema.limits import JSON_DEPTH
from promptlift.schema.transcript import CALL, RESULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from promptlift.schema.transcript import Role


class SpanTurn(NamedTuple):
    """A text and its speaker."""

    role: Role
    text: str


_ROLES: Final[Mapping[str, Role]] = {
    **dict.fromkeys(("assistant", "ai", "model", "bot", "agent", "chatbot"), "assistant"),
    **dict.fromkeys(("system", "developer", "instruction"), "system"),
}
_RESULT_ROLES: Final = ("tool", "function", "tool_result", "observation")
_NUMBER_DIGITS: Final = 9
# Parts of a message without spoken text.
_SILENT_PARTS: Final = ("reasoning", "thinking", "redacted_thinking")


def fold(messages: Any) -> list[SpanTurn]:
    """Fold messages into turns; parts that nobody said, such as reasoning, are left out.

    A tool call becomes an assistant turn ``[tool call] name({json})``, its result a system turn ``[tool result] …``, as
    in imported conversations.

    Parameters
    ----------
    messages
        A list of messages, one message, or JSON of either: with ``parts`` (semantic conventions since 1.37),
        with ``content`` and ``tool_calls`` (before, and the APIs of models), or plain text, which counts as a
        user's.
    """
    messages = decoded(messages)
    if isinstance(messages, str):
        return [SpanTurn("user", messages)] if messages.strip() else []
    if isinstance(messages, dict):
        messages = [messages]
    if not isinstance(messages, list):
        return []
    return [turn for message in messages for turn in _turns(message) if turn.text.strip()]


def split_system(turns: Iterable[SpanTurn]) -> tuple[str | None, list[SpanTurn]]:
    """Separate the instructions at the beginning from the conversation."""
    rest = list(turns)
    system = []
    while rest and rest[0].role == "system" and not rest[0].text.startswith(RESULT):
        system.append(rest.pop(0).text)
    return "\n\n".join(system) or None, rest


def text_of(value: Any) -> str:
    """Return the text of instructions: text, a list of parts, or JSON of one."""
    value = decoded(value)
    parts = value if isinstance(value, list) else [value]
    return "\n\n".join(filter(None, (_text(part) for part in parts)))


def unflatten(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Read a list that is spread over attributes such as ``prefix.0.role`` and ``prefix.0.tool_calls.1.name``.

    Raises
    ------
    Unreadable
        A name has more parts than messages have levels, or a number that is not a valid index.
    """
    tree: dict[str, Any] = {}
    start = f"{prefix}."
    for name, value in attributes.items():
        if not name.startswith(start):
            continue
        node = tree
        steps = name[len(start) :].split(".", JSON_DEPTH)
        if len(steps) > JSON_DEPTH or any(len(step) > _NUMBER_DIGITS and step.isdecimal() for step in steps):
            raise Unreadable(f"the attribute {name[:60]}… is not a field of a message")
        *path, last = steps
        for step in path:
            below = node.setdefault(step, {})
            node = below if isinstance(below, dict) else {}
        node.setdefault(last, value)
    return [one for one in _listed(tree) if isinstance(one, dict)]


def _listed(tree: dict[str, Any]) -> list[Any]:
    return [_nested(tree[name]) for name in sorted((n for n in tree if n.isdecimal()), key=int)]


def _nested(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(name.isdecimal() for name in node):
        return _listed(node)
    return {name: _nested(below) for name, below in node.items()}


def decoded(value: Any) -> Any:
    """Decode text that is a JSON list or object."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def _turns(message: Any) -> Iterator[SpanTurn]:
    if isinstance(message, str):
        yield SpanTurn("user", message)
        return
    if not isinstance(message, dict):
        return
    # OpenInference puts each message, and each part of one, under its own name.
    message = message if "role" in message else _inner(message, "message")
    name = str(message.get("role") or "user").lower()
    is_result = name in _RESULT_ROLES
    role = _ROLES.get(name, "user")
    parts = message.get("parts")
    if parts is None:
        parts = message.get("content", message.get("contents"))
    said: list[str] = []
    for part in parts if isinstance(parts, list) else [parts]:
        marked = _tool_part(part, is_result=is_result)
        if marked is None:
            said.append(_text(part))
        else:
            yield from _said(role, said)
            said = []
            yield marked
    yield from _said(role, said)
    calls = decoded(message.get("tool_calls"))
    for call in calls if isinstance(calls, list) else ():
        yield _call(call)


def _inner(outer: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object under a name, or the outer one if there is none."""
    inner = outer.get(name)
    return inner if isinstance(inner, dict) else outer


def _said(role: Role, texts: list[str]) -> Iterator[SpanTurn]:
    text = "\n".join(filter(None, texts))
    if text:
        yield SpanTurn(role, text)


def _tool_part(part: Any, *, is_result: bool) -> SpanTurn | None:
    """Return the turn of a part that is a tool call or its result; ``None`` for any other part."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in ("tool_call", "tool_use", "server_tool_call", "function_call"):
        return _call(part)
    if kind in ("tool_call_response", "tool_result", "server_tool_call_response") or is_result:
        value = part
        if isinstance(part, dict):
            names = ("response", "result", "content", "server_tool_call_response", "text", "output")
            value = next((part[name] for name in names if part.get(name) is not None), "")
        text = value if isinstance(value, str) else text_of(value) or _json(value)
        return SpanTurn("system", RESULT + text)
    return None


def _call(call: Any) -> SpanTurn:
    if not isinstance(call, dict):
        return SpanTurn("assistant", CALL + _json(call))
    call = _inner(call, "tool_call")
    function = call.get("function")
    function = function if isinstance(function, dict) else call
    names = ("arguments", "args", "input", "server_tool_call")
    # Written the same whether or not the instrumentation has decoded the arguments, so that an answer is
    # recognized in later calls.
    arguments = decoded(next((function[name] for name in names if function.get(name) is not None), {}))
    shown = arguments if isinstance(arguments, str) else _json(arguments)
    return SpanTurn("assistant", f"{CALL}{function.get('name') or 'unnamed'}({shown})")


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # an integer beyond 64 bits, or half of a surrogate pair
        return json.dumps(value, default=str)


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    part = _inner(part, "message_content")
    kind = part.get("type", "text")
    if kind in _SILENT_PARTS:
        return ""
    for name in ("content", "text", "refusal"):
        if isinstance(part.get(name), str):
            # The bytes of a picture are not text.
            return "" if kind == "blob" else str(part[name])
    return "" if kind == "text" else f"[{part.get('modality') or kind}]"
