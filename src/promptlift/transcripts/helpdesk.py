"""Zendesk and Intercom: tickets and conversations as their APIs give them. Their CSV files are tables of messages."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.chat import MessageDetails, fold
from promptlift.transcripts.collector import ParsedConversation, is_something
from promptlift.transcripts.reading import Unreadable
from promptlift.transcripts.wrapped import inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_intercom", "is_zendesk", "read_intercom", "read_zendesk"]

_TAG: Final = re.compile(r"<(?:br|/p|/div|/li)[^>]*>", re.IGNORECASE)
_ANY_TAG: Final = re.compile(r"<[a-zA-Z/][^>]*>")
_OVER: Final = ("closed", "solved")
_TICKET_READ: Final = frozenset(
    {
        "id",
        "subject",
        "description",
        "status",
        "created_at",
        "requester_id",
        "comments",
        "tags",
        "channel",
        "via",
        "priority",
    }
)
_INTERCOM_READ: Final = frozenset(
    {
        "id",
        "type",
        "title",
        "source",
        "conversation_parts",
        "created_at",
        "state",
        "tags",
        "contacts",
        "priority",
        "open",
    }
)


def is_zendesk(value: dict[str, Any]) -> bool:
    """Whether a record is a ticket with its comments, or a page of them."""
    page = value.get("tickets")
    if isinstance(page, list) and page and isinstance(page[0], dict):
        value = page[0]
    comments = value.get("comments")
    return isinstance(comments, list) and bool({"requester_id", "subject", "ticket_id"} & value.keys())


def is_intercom(value: dict[str, Any]) -> bool:
    """Whether a record is a conversation, or a page of them."""
    page = value.get("conversations")
    if isinstance(page, list) and page and isinstance(page[0], dict):
        value = page[0]
    return "conversation_parts" in value or (value.get("type") == "conversation" and "source" in value)


def read_zendesk(records: Iterable[Record], collector: Collector) -> None:
    """Read tickets: each is one conversation; notes that only agents see are left out."""
    collector.add_each(_pages(records, "tickets"), _ticket)


def read_intercom(records: Iterable[Record], collector: Collector) -> None:
    """Read conversations; notes that only teammates see are left out."""
    collector.add_each(_pages(records, "conversations"), _intercom)


def _pages(records: Iterable[Record], name: str) -> Iterator[Record]:
    for record in records:
        page = record.value.get(name) if isinstance(record.value, dict) else None
        for value in page if isinstance(page, list) else [record.value]:
            yield record._replace(value=value)


def _ticket(record: Record, collector: Collector) -> ParsedConversation:
    value = record.value if isinstance(record.value, dict) else {}
    comments = value.get("comments")
    if not isinstance(comments, list):
        raise Unreadable("the ticket has no comments; export it with them (GET /api/v2/tickets/ID/comments)")
    requester, said = value.get("requester_id"), []
    for comment in comments:
        if not isinstance(comment, dict) or comment.get("public") is False:
            collector.drop("comments[] (internal note)")
            continue
        role = "user" if comment.get("author_id") == requester else "assistant"
        author = comment.get("author")
        if isinstance(author, dict) and is_something(author.get("role")):
            role = author["role"]
        text = comment.get("plain_body") or comment.get("body") or plain(comment.get("html_body"))
        said.append((role, text, comment.get("created_at")))
    collector.drop_unknown(value, _TICKET_READ)
    via = value.get("via")
    channel = value.get("channel") or (via.get("channel") if isinstance(via, dict) else None)
    return _of_said(
        said,
        record,
        collector,
        source_id=value.get("id") or value.get("ticket_id"),
        title=value.get("subject"),
        status="completed" if str(value.get("status")).lower() in _OVER else "in_progress",
        metadata={
            "userId": str(requester) if is_something(requester) else None,
            "channel": channel if isinstance(channel, str) else None,
            "tags": value.get("tags"),
            "priority": value.get("priority"),
        },
    )


def _intercom(record: Record, collector: Collector) -> ParsedConversation:
    value = record.value if isinstance(record.value, dict) else {}
    source = inside(value, "source")
    parts = value.get("conversation_parts")
    parts = parts.get("conversation_parts") if isinstance(parts, dict) else parts
    said = (
        [(_author(source), plain(source.get("body")), value.get("created_at"))] if source.get("body") else []
    )
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict) or part.get("part_type") == "note":
            collector.drop("conversation_parts[] (internal note)")
        elif not is_something(part.get("body")):
            collector.drop("conversation_parts[] (without text)")
        else:
            said.append((_author(part), plain(part["body"]), part.get("created_at")))
    collector.drop_unknown(value, _INTERCOM_READ)
    tags = value.get("tags")
    tags = tags.get("tags") if isinstance(tags, dict) else tags
    author = inside(source, "author")
    return _of_said(
        said,
        record,
        collector,
        source_id=value.get("id"),
        title=value.get("title") or source.get("subject"),
        status="completed" if value.get("state") == "closed" else "in_progress",
        metadata={
            "userId": author.get("id"),
            "channel": source.get("type"),
            "tags": [one.get("name") for one in tags if isinstance(one, dict)]
            if isinstance(tags, list)
            else None,
            "priority": value.get("priority"),
        },
    )


def _author(part: dict[str, Any]) -> Any:
    author = part.get("author")
    return author.get("type") if isinstance(author, dict) else None


def _of_said(
    said: list[tuple[Any, Any, Any]],
    record: Record,
    collector: Collector,
    *,
    source_id: Any,
    title: Any,
    status: str,
    metadata: dict[str, Any],
) -> ParsedConversation:
    messages = [{"role": role, "content": text or ""} for role, text, _ in said]
    details = {
        index: MessageDetails(collector.time(time, "created_at")) for index, (_, _, time) in enumerate(said)
    }
    return ParsedConversation(
        fold(messages, collector, details=details),
        record.line,
        source_id=source_id,
        status=status,
        title=plain(title) if isinstance(title, str) else None,
        metadata={name: value for name, value in metadata.items() if is_something(value)},
    )


def plain(text: Any) -> str:
    """Return the text of HTML."""
    if not isinstance(text, str):
        return ""
    return html.unescape(_ANY_TAG.sub("", _TAG.sub("\n", text))).strip()
