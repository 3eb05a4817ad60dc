"""Endpoints of conversations and their insights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic.alias_generators import to_snake

from promptlift.client.api.group import Group
from promptlift.schema import endpoints
from promptlift.schema.conversations import ConversationCreate, LoggedAnswer, in_requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from promptlift.schema.conversations import (
        Conversation,
        DeletedConversation,
        LoggedConversation,
        LookupAnswer,
    )
    from promptlift.schema.insights import Insights, RegenerateAnswer
    from promptlift.schema.model import Page


class Conversations(Group):
    """Conversations and their insights."""

    def create(self, *, prompt_id: str, content: str, **fields: Any) -> Conversation:
        """Log one conversation.

        ``fields`` may be status, llm_model, company_name, source_id and idempotency_key, and, stored by the
        embedded service but possibly ignored by others, metadata (a flat dict), title, input_tokens,
        output_tokens, cost, latency_ms, tool_calls and tool_errors. The request is repeated after a failure
        only with an idempotency key. ``Workspace.log`` logs many, with keys, in parallel.
        """
        return self._send(endpoints.CONVERSATIONS_CREATE, prompt_id=prompt_id, content=content, **fields)

    def log_many(self, conversations: Iterable[Mapping[str, Any]], *, prompt_id: str) -> LoggedAnswer:
        """Log conversations, a few hundred per request. The embedded service supports this; others may not.

        Each has ``content`` and any other field of `create`. Those without an idempotency key get one, so
        that a request can be repeated after a failure. ``Workspace.log`` logs to any service, and its keys also
        recognize conversations logged before.

        Returns
        -------
        LoggedAnswer
            One row per conversation, in order: its id and whether it is new, or why it was refused.

        Raises
        ------
        ValidationError
            A conversation is invalid; nothing was sent.
        """
        made = [self._checked(one, prompt_id) for one in conversations]
        rows: list[LoggedConversation] = []
        for group in in_requests(made, _size):
            rows += self._send(endpoints.CONVERSATIONS_LOG_MANY, conversations=group).data
        for index, row in enumerate(rows):
            row.index = index
        return LoggedAnswer(data=rows)

    def _checked(self, fields: Mapping[str, Any], prompt_id: str) -> ConversationCreate:
        link = to_snake(self._scheme.link)
        whole = {"idempotency_key": uuid4().hex, **fields, link: prompt_id}
        self._body(endpoints.CONVERSATIONS_CREATE, ConversationCreate, {**whole, "prompt_id": prompt_id})
        return ConversationCreate.model_validate(whole)

    def list(
        self,
        *,
        prompt_id: str | None = None,
        status: str | None = None,
        has_insights: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
        include_insights: bool | None = None,
        include_content: bool | None = None,
        updated_since: datetime | str | None = None,
    ) -> Page[Conversation]:
        """Return one page of conversations, newest first.

        ``include_insights``, ``include_content`` and ``updated_since`` are extensions of the embedded
        service; others ignore them. With ``updated_since`` only conversations logged or changed since that
        time are listed, and the answer has ``as_of``: the time for the next request.
        """
        return self._send(
            endpoints.CONVERSATIONS_LIST,
            prompt_id=prompt_id,
            status=status,
            has_insights=has_insights,
            limit=limit,
            offset=offset,
            include_insights=include_insights,
            include_content=include_content,
            updated_since=updated_since,
        )

    def deleted(
        self,
        *,
        prompt_id: str | None = None,
        deleted_since: datetime | str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Page[DeletedConversation]:
        """Return one page of deleted conversations, the most recently deleted first.

        The embedded service supports this, for operators that delete old conversations. With
        ``deleted_since`` the answer has ``as_of``, like that of `list`.
        """
        return self._send(
            endpoints.CONVERSATIONS_DELETED,
            prompt_id=prompt_id,
            deleted_since=deleted_since,
            limit=limit,
            offset=offset,
        )

    def get(self, conversation_id: str, *, include_insights: bool | None = None) -> Conversation:
        """Return one conversation with its content."""
        return self._send(endpoints.CONVERSATIONS_GET, conversation_id, include_insights=include_insights)

    def update(self, conversation_id: str, **fields: Any) -> Conversation:
        """Replace the content, the status or other fields of a conversation. Only the embedded service supports this.

        ``fields`` may be content, status, source_id, metadata (replaced as a whole), title, input_tokens,
        output_tokens, cost, latency_ms, tool_calls, tool_errors and if_content_hash: the SHA-256 of the
        content to replace; the update is refused if the content has changed. New content is judged again.
        """
        return self._send(endpoints.CONVERSATIONS_UPDATE, conversation_id, **fields)

    def lookup(
        self,
        prompt_id: str,
        *,
        ids: Sequence[str] | None = None,
        source_ids: Sequence[str] | None = None,
    ) -> LookupAnswer:
        """Find which of these conversations a prompt has, up to 500 ids of each kind. Only the embedded service supports this.

        At most nine per source id, the newest.
        """
        wanted = {"ids": ids, "source_ids": source_ids}
        fields = {name: list(some) for name, some in wanted.items() if some is not None}
        return self._send(endpoints.CONVERSATIONS_LOOKUP, prompt_id, **fields)

    def insights(self, conversation_id: str) -> Insights:
        """Return the insights view of one conversation."""
        return self._send(endpoints.CONVERSATIONS_INSIGHTS, conversation_id)

    def regenerate_insights(self, conversation_id: str) -> RegenerateAnswer:
        """Derive the insights of one conversation again."""
        return self._send(endpoints.CONVERSATIONS_REGENERATE_INSIGHTS, conversation_id)


def _size(one: ConversationCreate) -> int:
    """Estimate the bytes of a conversation in a body: as JSON its content may be longer."""
    return 2 * len(one.content.encode())
