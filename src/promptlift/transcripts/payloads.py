"""Messages in the forms of single APIs: items of OpenAI's Responses, and parts of Gemini and of OpenTelemetry."""

from __future__ import annotations

import json
from typing import Any, Final

__all__ = ["item_messages", "parts_messages"]

_RESULT_ENDS: Final = "_output"
_CALL_END: Final = "_call"
# Fields of an item with the input of a tool call.
_ARGUMENTS: Final = ("arguments", "input", "action", "queries", "code", "operation")
_SILENT_ITEMS: Final = (
    *("reasoning", "item_reference", "compaction"),
    *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
)
_OTEL_ANSWERS: Final = ("response", "result", "content")


def item_messages(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the chat messages of an item of OpenAI's Responses API; ``None`` if it is not an item, or a message.

    A tool call counts, whoever runs the tool. Reasoning and references to other items are not spoken
    messages.
    """
    kind = item.get("type")
    if not isinstance(kind, str) or kind == "message" or "role" in item:
        return None
    if kind.endswith(_RESULT_ENDS):
        return [{"role": "tool", "content": item.get("output")}]
    if kind == "function_call" or (kind.endswith(_CALL_END) and "function" not in item):
        name = item.get("name") or kind.removesuffix(_CALL_END)
        asked = next((item[one] for one in _ARGUMENTS if item.get(one) is not None), None)
        call = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": name, "arguments": asked}}],
        }
        result = next((item[one] for one in ("output", "error") if isinstance(item.get(one), str)), None)
        return [call] if result is None else [call, {"role": "tool", "content": result}]
    return [] if kind in _SILENT_ITEMS else None


def parts_messages(content: dict[str, Any], role: str) -> list[dict[str, Any]]:
    """Return the chat messages of one content of Gemini, or of one message of OpenTelemetry: texts, calls and results.

    Parameters
    ----------
    content
        An object with ``parts``, and usually with a role.
    role
        The default role.
    """
    role = content.get("role") or role
    parts = content.get("parts")
    parts = [{"text": parts}] if isinstance(parts, str) else parts if isinstance(parts, list) else [parts]
    messages: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, str):
            part = {"text": part}  # noqa: PLW2901
        if (
            not isinstance(part, dict)
            or part.get("thought") is True
            or part.get("type") in ("reasoning", "thinking")
        ):
            continue
        call, result = _call(part), _result(part)
        if call is not None:
            messages.append({"role": "assistant", "content": None, "tool_calls": [{"function": call}]})
        elif result is not None:
            messages.append({"role": "tool", "content": result})
        elif messages and isinstance(messages[-1]["content"], list) and messages[-1]["role"] == role:
            messages[-1]["content"].append(_part(part))
        else:
            messages.append({"role": role, "content": [_part(part)]})
    return messages


def _call(part: dict[str, Any]) -> dict[str, Any] | None:
    found = part.get("functionCall") or part.get("function_call")
    if isinstance(found, dict):
        return found
    return part if part.get("type") == "tool_call" else None


def _result(part: dict[str, Any]) -> str | None:
    found = part.get("functionResponse") or part.get("function_response")
    if isinstance(found, dict):
        return _json(found.get("response"))
    if part.get("type") == "tool_call_response":
        return _json(next((part[name] for name in _OTEL_ANSWERS if part.get(name) is not None), ""))
    return None


def _part(part: dict[str, Any]) -> dict[str, Any]:
    text = next((part[name] for name in ("text", "content") if isinstance(part.get(name), str)), None)
    # The bytes of a picture are not text.
    if text is not None and part.get("type", "text") == "text":
        return {"type": "text", "text": text}
    return {"type": str(part.get("type") or next(iter(part), "empty part"))}


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
