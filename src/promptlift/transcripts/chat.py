"""Chat messages of any tool folded into the three roles of the content format.

A tool call becomes an assistant message ``[tool call] name({json arguments})``, its result a system message
``[tool result] ...``. A reply with text and calls becomes several messages.
"""

from __future__ import annotations

import itertools
import json
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from promptlift.errors import TranscriptError
from promptlift.schema.boundary import Unreadable
from promptlift.transcripts.collector import CALL, RESULT, ParsedMessage, is_something, limited

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from promptlift.schema.transcript import Role
    from promptlift.transcripts.collector import Collector

__all__ = [
    "CALL",
    "KNOWN_ROLES",
    "RESULT",
    "Kind",
    "call_text",
    "check_roles",
    "fold",
    "folded",
    "kind_in",
    "kind_of",
]

Kind = Literal["user", "assistant", "system", "call", "result"]

_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(
        ("user", "human", "customer", "visitor", "end-user", "end_user", "lead", "contact"), "user"
    ),
    **dict.fromkeys(("assistant", "ai", "gpt", "agent", "bot", "model", "chatbot", "chatgpt"), "assistant"),
    **dict.fromkeys(("operator", "admin", "staff", "representative", "team"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "observation", "tool_result", "function_response"), "result"),
    **dict.fromkeys(("function_call", "tool_call"), "call"),
}
KNOWN_ROLES: Final = ", ".join(_KINDS)
_ROLES_OF_TOOLS: Final[dict[str, tuple[Role, str]]] = {
    "call": ("assistant", CALL),
    "result": ("system", RESULT),
}

_ROLE_KEYS: Final = ("role", "from")
_TEXT_KEYS: Final = ("content", "value")
_TIME_KEYS: Final = ("timestamp", "created_at", "createdAt")
_READ: Final = frozenset(
    {*_ROLE_KEYS, *_TEXT_KEYS, *_TIME_KEYS, "model", "tokens", "tool_calls", "function_call", "refusal"}
)


def check_roles(roles: Mapping[str, str] | None) -> dict[str, str]:
    """Return the meanings of roles by their names in lower case.

    Raises
    ------
    TranscriptError
        If a meaning is unknown.
    """
    checked = {name.strip().lower(): role.strip().lower() for name, role in (roles or {}).items()}
    for name, role in checked.items():
        if role not in _KINDS:
            raise TranscriptError(
                f"The role {name!r} cannot mean {role!r}; give user, assistant, system or tool, such as {name}=user"
            )
    return checked


def kind_of(role: Any, where: str, roles: Mapping[str, str] | None = None) -> Kind:
    """Return the meaning of a role.

    Parameters
    ----------
    role
        Role in the source.
    where
        Names the message in the reason why it cannot be read.
    roles
        The user's meanings of unknown roles.

    Raises
    ------
    Unreadable
        If the role is unknown.
    """
    name = role.strip().lower() if isinstance(role, str) else ""
    kind = _KINDS.get((roles or {}).get(name, name))
    if kind is None:
        shown = "no role" if role is None else f"the role {str(role)[:40]!r}"
        hint = f'; say what it means: --role "{str(role)[:40]}=user"' if name else ""
        raise Unreadable(f"{where} has {shown}; known roles are {KNOWN_ROLES}{hint}")
    return kind


def kind_in(message: Any) -> Kind | None:
    """Return the meaning of a message's role, ``None`` if it has no known one."""
    role = _role_in(message) if isinstance(message, dict) else None
    return _KINDS.get(role.strip().lower()) if isinstance(role, str) else None


def _role_in(message: dict[str, Any]) -> Any:
    return next((message[key] for key in _ROLE_KEYS if message.get(key) is not None), None)


def call_text(name: Any, arguments: Any) -> str:
    """Format a tool call as ``name({json arguments})``."""
    if not isinstance(arguments, str):
        arguments = "{}" if arguments is None else json.dumps(arguments, ensure_ascii=False, default=str)
    return f"{name or 'unnamed'}({arguments})"


def fold(
    messages: Sequence[Any],
    collector: Collector,
    *,
    path: str = "messages[]",
) -> list[ParsedMessage]:
    """Fold the chat messages of a conversation into the three roles.

    Parameters
    ----------
    messages
        Messages of the source: objects with ``role`` and ``content`` (or ``from`` and ``value``), tool calls
        as OpenAI, LangChain or Anthropic write them, and perhaps ``timestamp``, ``model`` and ``tokens``.
    collector
        Counts what is dropped.
    path
        Path of the messages in the source, for the counts.

    Raises
    ------
    Unreadable
        A message cannot be read, or there are too many.
    """
    return limited(folded(messages, collector, path=path))


def folded(
    messages: Sequence[Any], collector: Collector, *, path: str = "messages[]"
) -> Iterator[ParsedMessage]:
    """Fold chat messages one by one, like `fold`."""
    for index, message in enumerate(messages):
        where = f"message {index + 1}"
        if not isinstance(message, dict):
            raise Unreadable(f"{where} is not an object with role and content")
        timestamp, model, tokens = _details(message, collector, path)
        pieces = _pieces(message, collector, path, where)
        collector.drop_unknown(message, _READ, prefix=f"{path}.")
        for kind, text in pieces:
            role, mark = _ROLES_OF_TOOLS.get(kind, (cast("Role", kind), ""))
            yield ParsedMessage(role, mark + text, timestamp, model if role == "assistant" else None, tokens)
            tokens = None  # those of a reply are counted once, however many messages it becomes


def _details(
    message: dict[str, Any], collector: Collector, path: str
) -> tuple[datetime | None, str | None, int | float | None]:
    """Return the time, model and token count of a message."""
    key = next((k for k in _TIME_KEYS if is_something(message.get(k))), "timestamp")
    model = message.get("model")
    if model is not None and not isinstance(model, str):
        collector.drop(f"{path}.model (not text)")
        model = None
    time = collector.time(message.get(key), f"{path}.{key}")
    return time, model or None, collector.tokens(message.get("tokens"), f"{path}.tokens")


def _pieces(message: dict[str, Any], collector: Collector, path: str, where: str) -> list[tuple[Kind, str]]:
    kind = kind_of(_role_in(message), where, collector.roles)
    key = next((k for k in _TEXT_KEYS if k in message), None)
    calls = _calls(message, collector, path)
    pieces = _content_pieces(kind, message[key] if key else None, collector, f"{path}.{key}", where)
    if kind == "call":
        pieces = [(kind, _call_of_text(text)) for kind, text in pieces]
    if not pieces and isinstance(message.get("refusal"), str):
        pieces = [(kind, message["refusal"])]
    elif calls:
        pieces = [piece for piece in pieces if piece[1]]
    elif not pieces and kind == "result":
        pieces = [(kind, "")]
    elif not pieces and key is None:
        raise Unreadable(f"{where} has no content")
    elif not pieces:
        collector.drop(f"{path} (without text)")
    return [*pieces, *(("call", call) for call in calls)]


def _calls(message: dict[str, Any], collector: Collector, path: str) -> list[str]:
    calls = message.get("tool_calls") or []
    if isinstance(message.get("function_call"), dict):
        calls = [*calls, {"function": message["function_call"]}]
    texts = []
    for call in calls:
        if not isinstance(call, dict):
            raise Unreadable(f"a tool call is not an object: {str(call)[:60]}")
        function = call["function"] if isinstance(call.get("function"), dict) else call
        arguments = next((function[k] for k in ("arguments", "args", "input") if k in function), None)
        if is_something(call.get("id")):
            collector.drop(f"{path}.tool_calls[].id")
        texts.append(call_text(function.get("name"), arguments))
    return texts


def _call_of_text(text: str) -> str:
    """Format a call that is JSON (``{"name", "arguments"}``) as ``name({json})``; keep other text."""
    if text.lstrip().startswith("{"):
        try:
            call = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            return call_text(call["name"], call.get("arguments"))
    return text.removeprefix(CALL)


def _content_pieces(
    kind: Kind, content: Any, collector: Collector, path: str, where: str
) -> list[tuple[Kind, str]]:
    if content is None:
        return []
    if isinstance(content, str):
        return [(kind, content)]
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        raise Unreadable(f"{where} has a {_type_name(content)} as content; it must be text")
    pieces: list[tuple[Kind, str]] = []
    parts = (_part(kind, part, collector, path) for part in content)
    # Consecutive texts are one message; each call, and each result within a reply, is a separate message.
    for of_kind, alike in itertools.groupby(filter(None, parts), key=itemgetter(0)):
        texts = [text for _, text in alike]
        pieces += [(of_kind, "\n".join(texts))] if of_kind == kind else [(of_kind, text) for text in texts]
    # A message of images alone stays a message; the images are counted.
    return pieces or [(kind, "")]


def _part(kind: Kind, part: Any, collector: Collector, path: str) -> tuple[Kind, str] | None:
    if isinstance(part, str):
        return kind, part
    if not isinstance(part, dict):
        collector.drop(f"{path}[] ({_type_name(part)})")
        return None
    name = part.get("type")
    if name == "tool_use":
        return "call", call_text(part.get("name"), part.get("input"))
    if name == "tool_result":
        texts = _content_pieces(kind, part.get("content"), collector, f"{path}[].content", "a tool result")
        return "result", "\n".join(text for _, text in texts)
    text = next((part[k] for k in ("text", "refusal") if isinstance(part.get(k), str)), None)
    if text is not None:
        return kind, cast("str", text)
    collector.drop(f"{path}[] ({name or 'without type'})")
    return None


def _type_name(value: Any) -> str:
    return {"bool": "boolean", "int": "number", "float": "number", "list": "list", "dict": "object"}.get(
        type(value).__name__, type(value).__name__
    )
