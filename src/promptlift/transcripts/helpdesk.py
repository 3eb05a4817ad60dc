"""Zendesk and Intercom: tickets and conversations from their APIs. Their CSV files are tables of messages."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Unreadable
from promptlift.transcripts.chat import fold
from promptlift.transcripts.collector import ParsedConversation, is_something
from promptlift.transcripts.wrapped import inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["intercom_of", "is_intercom", "is_zendesk", "plain", "read_zendesk"]

_OVER: Final = ("closed", "solved")
_TICKET_READ: Final = frozenset(
    {
        *("id", "ticket_id", "subject", "description", "status", "created_at", "requester_id"),
        *("comments", "users", "tags", "channel", "via", "priority", "type", "satisfaction_rating"),
    }
)
_USERS: Final = "users"
# Endings of rating values that mean "not rated".
_NOT_RATED: Final = ("offered", "unoffered")
_INTERCOM_READ: Final = frozenset(
    {
        *("id", "type", "title", "source", "conversation_parts", "created_at", "state", "tags"),
        *("contacts", "priority", "open", "conversation_rating", "custom_attributes", "ai_agent"),
    }
)
# Everybody else who writes in a conversation is on the company's side: teammates, teams, bots and the AI agent.
_CUSTOMERS: Final = ("user", "lead", "contact", "visitor")
_NO_COMMENTS: Final = "the ticket has no comments; export it with them (GET /api/v2/tickets/ID/comments)"
_NO_PARTS: Final = "the conversation has no parts, as in a list of conversations; export each with its parts (GET /conversations/ID)"


def is_zendesk(value: dict[str, Any]) -> bool:
    """Return whether a record is a ticket with its comments, a page of tickets, or the comments of one ticket."""
    page = value.get("tickets")
    if isinstance(page, list) and page and isinstance(page[0], dict):
        return "comments" in page[0] or "requester_id" in page[0]
    comments = value.get("comments")
    if not isinstance(comments, list):
        return False
    first = comments[0] if comments and isinstance(comments[0], dict) else {}
    return bool({"requester_id", "subject", "ticket_id", "ticket"} & value.keys()) or "author_id" in first


def is_intercom(value: dict[str, Any]) -> bool:
    """Return whether a record is a conversation."""
    return "conversation_parts" in value or (value.get("type") == "conversation" and "source" in value)


def read_zendesk(records: Iterable[Record], collector: Collector) -> None:
    """Read tickets: each is one conversation, without internal notes."""
    collector.add_each(collector.expanded(records, _tickets), _ticket)


def _tickets(value: Any) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Yield the tickets of a page, each with the roles of its users."""
    of_page = _roles(value)
    page = value.get("tickets") if isinstance(value, dict) else None
    for ticket in page if isinstance(page, list) else [value]:
        own = ticket is not value and isinstance(ticket, dict) and _USERS in ticket
        yield ticket, _roles(ticket) if own else of_page


def _roles(value: Any) -> dict[Any, Any]:
    users = value.get(_USERS) if isinstance(value, dict) else None
    users = users if isinstance(users, list) else ()
    # An id that is neither text nor number belongs to nobody.
    return {
        one.get("id"): one.get("role")
        for one in users
        if isinstance(one, dict) and not isinstance(one.get("id"), list | dict)
    }


def _ticket(record: Record, collector: Collector) -> ParsedConversation:
    whole, roles = record.value
    whole = whole if isinstance(whole, dict) else {}
    value = {**inside(whole, "ticket"), **{name: one for name, one in whole.items() if name != "ticket"}}
    comments = value.get("comments")
    if not isinstance(comments, list) or not comments:
        raise Unreadable(_NO_COMMENTS)
    public = [one for one in comments if isinstance(one, dict) and one.get("public") is not False]
    if len(public) < len(comments):
        collector.drop("comments[] (internal note)", len(comments) - len(public))
    requester = value.get("requester_id")
    if requester is None and public:
        requester = public[0].get("author_id")
    said = []
    for comment in public:
        author = comment.get("author_id")
        role = inside(comment, "author").get("role") or roles.get(author)
        by_id = "user" if author == requester else "assistant"
        text = comment.get("plain_body") or comment.get("body") or plain(comment.get("html_body"))
        said.append((role if is_something(role) else by_id, text, comment.get("created_at")))
    collector.drop_unknown(value, _TICKET_READ)
    channel = value.get("channel") or inside(value, "via").get("channel")
    rating = inside(value, "satisfaction_rating").get("score")
    return _of_said(
        said,
        record,
        collector,
        source_id=value.get("id") or value.get("ticket_id"),
        title=value.get("subject"),
        # The comments of a ticket alone do not show its status.
        status=None if value.get("status") is None else _status(str(value["status"]).lower() in _OVER),
        metadata={
            "userId": str(requester) if is_something(requester) else None,
            "channel": channel if isinstance(channel, str) else None,
            "tags": value.get("tags"),
            "priority": value.get("priority"),
            "type": value.get("type"),
            "satisfaction": None if rating in _NOT_RATED else rating,
        },
    )


def _status(over: bool) -> str:  # noqa: FBT001
    return "completed" if over else "in_progress"


def intercom_of(record: Record, collector: Collector) -> ParsedConversation:
    """Read a conversation of Intercom, without internal notes."""
    value = record.value if isinstance(record.value, dict) else {}
    source = inside(value, "source")
    parts = value.get("conversation_parts")
    parts = parts.get("conversation_parts") if isinstance(parts, dict) else parts
    if not isinstance(parts, list):
        raise Unreadable(_NO_PARTS)
    said = []
    if is_something(source.get("body")):
        said.append((_author(source), plain(source["body"]), value.get("created_at")))
    for part in parts:
        if not isinstance(part, dict) or "note" in str(part.get("part_type")):
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
        status=_status(value.get("state") == "closed"),
        metadata={
            **inside(value, "custom_attributes"),
            "userId": author.get("id") if _author(source) == "user" else _contact(value),
            "channel": source.get("type"),
            "tags": [one.get("name") for one in tags if isinstance(one, dict)]
            if isinstance(tags, list)
            else None,
            "priority": value.get("priority"),
            "rating": inside(value, "conversation_rating").get("rating"),
            "resolution": inside(value, "ai_agent").get("resolution_state"),
        },
    )


def _author(part: dict[str, Any]) -> str:
    return "user" if inside(part, "author").get("type") in _CUSTOMERS else "assistant"


def _contact(value: dict[str, Any]) -> Any:
    """Return the id of the first customer in a conversation started by the company."""
    contacts = inside(value, "contacts").get("contacts")
    first = contacts[0] if isinstance(contacts, list) and contacts else None
    return first.get("id") if isinstance(first, dict) else None


def _of_said(
    said: list[tuple[Any, Any, Any]],
    record: Record,
    collector: Collector,
    *,
    source_id: Any,
    title: Any,
    status: str | None,
    metadata: dict[str, Any],
) -> ParsedConversation:
    messages = [
        {"role": role, "content": text or "", "timestamp": collector.time(time, "created_at")}
        for role, text, time in said
    ]
    return ParsedConversation(
        fold(messages, collector),
        record.line,
        source_id=source_id,
        status=status,
        title=plain(title) if isinstance(title, str) else None,
        metadata={name: value for name, value in metadata.items() if is_something(value)},
    )


_TAG: Final = re.compile(r"<(?:br|/p|/div|/li)[^>]*>", re.IGNORECASE)
_ANY_TAG: Final = re.compile(r"<[a-zA-Z/][^>]*>")


def plain(text: Any) -> str:
    """Return the text of HTML."""
    if not isinstance(text, str):
        return ""
    # Nothing after the last > ends a tag; otherwise each < there would be scanned to the end of the text.
    end = text.rfind(">") + 1
    return html.unescape(_ANY_TAG.sub("", _TAG.sub("\n", text[:end])) + text[end:]).strip()
