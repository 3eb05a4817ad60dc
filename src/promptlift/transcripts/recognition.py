"""Recognize the format of a file by its content."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Boundary
from promptlift.transcripts.gemini import is_contents
from promptlift.transcripts.helicone import is_request
from promptlift.transcripts.helpdesk import is_intercom, is_zendesk
from promptlift.transcripts.inspect_ai import is_log
from promptlift.transcripts.langfuse import is_langfuse
from promptlift.transcripts.langsmith import is_example
from promptlift.transcripts.mlflow import is_trace
from promptlift.transcripts.otlp import is_spans
from promptlift.transcripts.preferences import is_dpo
from promptlift.transcripts.responses import is_batch, is_responses
from promptlift.transcripts.rows import Columns
from promptlift.transcripts.sharegpt import is_sharegpt
from promptlift.transcripts.structured import API_FIELDS
from promptlift.transcripts.tables import SEPARATORS, csv_header
from promptlift.transcripts.weave import is_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["format_of", "separator_of", "widest_separator"]

_OWN_MESSAGE_FIELDS: Final = frozenset({"timestamp", "tokens", "model"})
_SCORE: Final = frozenset({"name", "value", "source", "data_type"})
_SCORE_CAMEL: Final = frozenset({"name", "value", "source", "dataType"})


# The formats of tools by what only their records have; the first match is used.
_TOOLS: Final[tuple[tuple[str, Callable[[dict[str, Any]], bool]], ...]] = (
    ("chatgpt", lambda value: isinstance(value.get("mapping"), dict)),
    ("claude", lambda value: isinstance(value.get("chat_messages"), list)),
    ("intercom", is_intercom),
    ("zendesk", is_zendesk),
    ("inspect", is_log),
    ("mlflow", is_trace),
    ("weave", is_call),
    ("helicone", is_request),
    ("otlp", is_spans),
    ("openai-batch", is_batch),
    ("openai-dpo", is_dpo),
    ("gemini", is_contents),
    (
        "sharegpt",
        lambda value: any(isinstance(value.get(key), list) for key in ("conversations", "conversation")),
    ),
    ("langsmith", lambda value: {"run_type", "inputs"} <= value.keys() or is_example(value)),
    (
        "phoenix",
        lambda value: "span_kind" in value or any(str(key).startswith("attributes.") for key in value),
    ),
    ("langfuse-scores", lambda value: value.keys() >= _SCORE or value.keys() >= _SCORE_CAMEL),
    ("langfuse", is_langfuse),
    ("openai-responses", lambda value: is_responses(value) or _has_response(value)),
)


def _has_response(value: dict[str, Any]) -> bool:
    return is_responses(value.get("request"), value.get("response"))


def format_of(values: Iterable[Any], *, single: bool) -> str | None:
    """Return the format of most of the records, ``None`` if none has one.

    Parameters
    ----------
    values
        The first records of a file.
    single
        Whether a plain ``{"messages": [...]}`` is the service's own format; in JSON Lines it is OpenAI's.
    """
    found: Counter[str] = Counter()
    for value in values:
        with Boundary(lambda _: None):  # problems of a record are reported when it is read
            found.update(name for name in [_format_of_record(value)] if name is not None)
    chats = found.pop("messages", 0)
    own = found["structured"] or (single and not found["openai"])
    found["structured" if own else "openai"] += chats + (found.pop("openai", 0) if own else 0)
    name, count = found.most_common(1)[0]
    return name if count else None


def separator_of(head: str) -> str | None:
    """Find the separator that makes a text a table of a known format."""
    for separator in SEPARATORS:
        columns = csv_header(head, separator)
        if len(columns) > 1 and _format_of_record(dict.fromkeys(columns, "")) is not None:
            return separator
    return None


def widest_separator(head: str) -> str | None:
    """Find the separator that makes most columns of the first line of a text."""
    widest = max(SEPARATORS, key=lambda separator: len(csv_header(head, separator)))
    return widest if len(csv_header(head, widest)) > 1 else None


def _format_of_record(value: Any) -> str | None:
    if isinstance(value, list):
        return "messages" if value and isinstance(value[0], dict) and "role" in value[0] else None
    if not isinstance(value, dict):
        return None
    for name, holds in _TOOLS:
        if holds(value):
            return name
    keys = value.keys()
    if "messages" in keys:
        return _chat_format(value)
    if Columns(keys).complete:
        return "rows"
    return "structured" if "content" in keys else "sharegpt" if is_sharegpt(value) else None


def _chat_format(value: dict[str, Any]) -> str:
    messages = value["messages"]
    messages = [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    if not API_FIELDS.isdisjoint(value) or any(not _OWN_MESSAGE_FIELDS.isdisjoint(m) for m in messages):
        return "structured"
    for message in messages:
        if message.get("role") in ("tool", "function", "developer") or isinstance(
            message.get("content"), list
        ):
            return "openai"
        if "tool_calls" in message or "function_call" in message:
            return "openai"
    return "openai" if "tools" in value else "messages"
