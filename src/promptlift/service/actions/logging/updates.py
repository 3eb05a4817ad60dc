"""Changing a logged conversation: it has grown at its source, or its status became known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from promptlift.service.actions.logging.content import changed_columns
from promptlift.service.errors import ApiException, not_found
from promptlift.service.store import conversation_counts, conversation_updates, conversations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.conversations import ConversationUpdate
    from promptlift.service.actions.logging.content import Shape
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.conversations import StoredConversation


@dataclass(frozen=True, slots=True)
class Update:
    """The changes to one conversation, already checked; ``shape`` is that of a new content."""

    caller: Caller
    conversation_id: str
    body: ConversationUpdate
    shape: Shape | None


def apply_updates(
    connection: Connection, updates: Sequence[Update], *, now: int
) -> list[StoredConversation | ApiException]:
    """Change conversations inside a transaction that changes no others, and return the outcome of each.

    The insights of the old content are gone at once; those of the new one come in the background. An update that changes
    nothing leaves everything as it is, so that a request may be repeated.
    """
    if not updates:
        return []
    # It locks them all, in one order, before any is read.
    with conversation_counts.following(connection, {one.conversation_id for one in updates}):
        return [_apply(connection, one, now) for one in updates]


def _apply(connection: Connection, wanted: Update, now: int) -> StoredConversation | ApiException:
    before = conversations.find(connection, wanted.caller.account_id, wanted.conversation_id)
    if before is None:
        return not_found("Conversation")
    body = wanted.body
    raw = None if body.content is None else body.content.encode()
    if raw == before.content:  # also when the request is repeated because its answer was lost
        raw = None
    elif body.if_content_hash not in (None, _content_hash(before)):
        return ApiException(
            "INVALID_STATE",
            "The content of the conversation has changed in the meantime; read it again before you change it",
        )
    given = {"status": body.status, "source_id": body.source_id}
    values: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    # What a new content says counts before what was known, and after what is given.
    facts = {} if raw is None or wanted.shape is None else dict(wanted.shape.facts)
    if "metadata" in facts and before.metadata is not None:
        facts["metadata"] = {**orjson.loads(before.metadata), **facts["metadata"]}
    values |= changed_columns({**facts, **body.facts()})
    if (values.get("source_id") or before.source_id) is not None:
        known = _content_hash(before)
        values["content_hash"] = known if raw is None else conversation_updates.content_hash(raw)
    values = {name: value for name, value in values.items() if value != getattr(before, name)}
    if raw is not None and wanted.shape is not None:
        values |= wanted.shape.columns(began=before.created_at, now=now)
        values |= {"worker": None, "generation": before.generation + 1, "judge_problem": None}
    if values or raw is not None:
        # unspecified: an event for a changed conversation. None is written; insights.generated follows a new content.
        conversation_updates.change(connection, before, values, raw)
    after = conversations.find(connection, before.account_id, before.id)
    return not_found("Conversation") if after is None else after


def _content_hash(row: StoredConversation) -> str | None:
    """Return the hash of a content; that of one that was deleted because of its age is known only with a source id."""
    return row.content_hash if row.content is None else conversation_updates.content_hash(row.content)
