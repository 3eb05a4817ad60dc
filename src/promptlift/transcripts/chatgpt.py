"""The account export of ChatGPT: one tree of messages per conversation.

The branch shown last (``current_node`` up to the root) is the conversation. Branches abandoned by an edit or
a new answer are not imported, but counted.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Unreadable
from promptlift.transcripts.chat import CALL, RESULT, kind_of
from promptlift.transcripts.collector import ParsedConversation, ParsedMessage, is_something, limited

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.transcripts.chat import Kind
    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["conversation_of"]

_READ: Final = frozenset(
    {"mapping", "current_node", "conversation_id", "id", "title", "default_model_slug", "create_time"}
)
# Types of spoken content. Others (thoughts, user_editable_context, ...) were never said.
_SAID: Final = frozenset(
    {"text", "multimodal_text", "code", "execution_output", "tether_quote", "tether_browsing_display"}
)


def conversation_of(record: Record, collector: Collector) -> ParsedConversation:
    """Read the branch of a conversation that was shown last."""
    value = record.value if isinstance(record.value, dict) else {}
    mapping = value.get("mapping")
    if not isinstance(mapping, dict):
        raise Unreadable("the record has no mapping of messages")
    path = _path(mapping, value.get("current_node"))
    turns = limited(turn for node in path for turn in _turns(mapping[node], collector))
    abandoned = sum(_is_said(mapping[name]) for name in mapping.keys() - path.keys())
    if abandoned:
        collector.drop("mapping[] (abandoned branches)", abandoned)
    models = Counter(turn.model for turn in turns if turn.model)
    default = value.get("default_model_slug")
    start = value.get("create_time")
    conversation = ParsedConversation(
        turns,
        record.line,
        source_id=value.get("conversation_id") or value.get("id"),
        llm_model=models.most_common(1)[0][0] if models else default,
        metadata={"title": value["title"]} if is_something(value.get("title")) else {},
        started_at=collector.time(start, "create_time"),
    )
    collector.drop_unknown(value, _READ)
    return conversation


def _path(mapping: dict[str, Any], current: Any) -> dict[str, None]:
    """Return the node names from the root to the current node."""
    if not isinstance(current, str) or current not in mapping:
        raise Unreadable("current_node is not in the mapping, so it is not known which branch was shown")
    path: dict[str, None] = {}
    while isinstance(current, str) and current in mapping:
        if current in path:
            raise Unreadable("the mapping has a cycle")
        path[current] = None
        node = mapping[current]
        current = node.get("parent") if isinstance(node, dict) else None
    return dict.fromkeys(reversed(path))


def _is_said(node: Any) -> bool:
    message = node.get("message") if isinstance(node, dict) else None
    return isinstance(message, dict) and not _is_hidden(message)


def _is_hidden(message: dict[str, Any]) -> bool:
    metadata = message.get("metadata")
    hidden = isinstance(metadata, dict) and bool(metadata.get("is_visually_hidden_from_conversation"))
    return hidden or message.get("weight") == 0


def _turns(node: Any, collector: Collector) -> Iterator[ParsedMessage]:
    message = node.get("message") if isinstance(node, dict) else None
    if not isinstance(message, dict):
        return
    where = f"message {str(message.get('id'))[:40]}"
    content = message.get("content")
    content = content if isinstance(content, dict) else {}
    content_type = str(content.get("content_type"))
    if _is_hidden(message):
        collector.drop("mapping[].message (hidden)")
        return
    if content_type not in _SAID:
        collector.drop(f"mapping[].message ({content_type})")
        return
    author = message.get("author")
    kind = kind_of(author.get("role") if isinstance(author, dict) else None, where)
    text = _text(content, collector)
    if not text and kind != "user":
        collector.drop("mapping[].message (without text)")
        return
    role, text = _folded(kind, text, message.get("recipient"))
    metadata = message.get("metadata")
    model = metadata.get("model_slug") if isinstance(metadata, dict) else None
    yield ParsedMessage(
        role,
        text,
        collector.time(message.get("create_time"), "mapping[].message.create_time"),
        model if role == "assistant" and isinstance(model, str) and model else None,
    )


def _folded(kind: Kind, text: str, recipient: Any) -> tuple[Any, str]:
    if kind == "result":
        return "system", RESULT + text
    if kind == "assistant" and isinstance(recipient, str) and recipient not in ("", "all"):
        return "assistant", CALL + (text if text.startswith(f"{recipient}(") else f"{recipient}({text})")
    return ("assistant" if kind == "call" else kind), text


def _text(content: dict[str, Any], collector: Collector) -> str:
    parts = content.get("parts")
    if not isinstance(parts, list):
        text = content.get("text", content.get("result"))
        return text if isinstance(text, str) else ""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif is_something(part):
            name = part.get("content_type") if isinstance(part, dict) else type(part).__name__
            collector.drop(f"mapping[].message.content.parts[] ({name})")
    return "\n".join(texts)
