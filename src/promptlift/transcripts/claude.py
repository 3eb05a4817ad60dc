"""Claude.ai: the conversations of an account's data export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Unreadable
from promptlift.transcripts.chat import fold
from promptlift.transcripts.collector import ParsedConversation, is_something

if TYPE_CHECKING:
    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["conversation_of"]

_READ: Final = frozenset({"uuid", "name", "created_at", "updated_at", "chat_messages", "model", "summary"})
_MESSAGE_READ: Final = frozenset(
    {"uuid", "sender", "text", "content", "created_at", "updated_at", "attachments"}
)


def conversation_of(record: Record, collector: Collector) -> ParsedConversation:
    """Read one conversation."""
    value = record.value if isinstance(record.value, dict) else {}
    found = value.get("chat_messages")
    if not isinstance(found, list):
        raise Unreadable("the conversation has no list chat_messages")
    messages: list[dict[str, Any]] = []
    for message in found:
        if not isinstance(message, dict):
            raise Unreadable("a message is not an object")
        collector.drop_unknown(message, _MESSAGE_READ, prefix="chat_messages[].")
        content = _content(message)
        if not content:
            collector.drop("chat_messages[] (without text)")
            continue
        time = collector.time(message.get("created_at"), "chat_messages[].created_at")
        messages.append({"role": message.get("sender"), "content": content, "timestamp": time})
    collector.drop_unknown(value, _READ)
    return ParsedConversation(
        fold(messages, collector, path="chat_messages[]"),
        record.line,
        source_id=value.get("uuid"),
        llm_model=value.get("model"),
        title=value.get("name"),
        started_at=collector.time(value.get("created_at"), "created_at"),
    )


def _content(message: dict[str, Any]) -> list[Any] | str:
    """Return the text of a message, with the text of attached files but without thoughts."""
    parts = message.get("content")
    said = [
        part
        for part in (parts if isinstance(parts, list) else [])
        if not isinstance(part, dict) or part.get("type") not in ("thinking", "token_budget")
    ]
    if not any(
        is_something(part.get("text")) or part.get("type") != "text"
        for part in said
        if isinstance(part, dict)
    ):
        said = [{"type": "text", "text": message["text"]}] if is_something(message.get("text")) else []
    attached = message.get("attachments")
    for file in attached if isinstance(attached, list) else ():
        if isinstance(file, dict) and is_something(file.get("extracted_content")):
            said.append({"type": "text", "text": f"[{file.get('file_name')}]\n{file['extracted_content']}"})
    return said
