"""Conversations and how they are logged."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from promptlift.schema import limits
from promptlift.schema.columns import Column, Nested
from promptlift.schema.insights import Insights  # noqa: TC001 - pydantic reads the annotation
from promptlift.schema.model import ApiModel, LinkedModel, RequestModel, UtcTime, not_null
from promptlift.schema.texts import LinkText, ShortText, SourceId, storable

ConversationStatus = Literal["completed", "abandoned", "in_progress"]
CONVERSATION_STATUSES: Final[tuple[ConversationStatus, ...]] = get_args(ConversationStatus)


class Conversation(LinkedModel):
    """A conversation as the service gives it; list items carry fewer fields than ``GET /conversations/:id``."""

    id: Annotated[str, Column(name="conversation_id")]
    """The conversation's id."""
    content: Annotated[str | None, Column()] = None
    """The transcript as it was logged, structured JSON or text with role labels."""
    status: Annotated[str, Column(categories=CONVERSATION_STATUSES)]
    """``completed``, ``abandoned`` or ``in_progress``."""
    llm_model: Annotated[str | None, Column()] = None
    """The model that answered."""
    company_name: Annotated[str | None, Column()] = None
    """The company that the conversation was held for."""
    idempotency_key: str | None = None
    source_id: Annotated[str | None, Column()] = None
    """The conversation's id in the tool that it came from. Our service keeps it, others may not."""
    has_insights: Annotated[bool | None, Column()] = None
    """Whether the conversation has been judged."""
    insights: Annotated[Insights | None, Nested()] = None
    insights_error: Annotated[str | None, Column()] = None
    """Why there are no insights, or not yet. Our service gives it, others may not."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When the conversation was logged."""
    started_at: Annotated[UtcTime | None, Column()] = None
    """First message time, else the time of the log request. Our service gives it, others may not."""
    ended_at: UtcTime | None = None


class ConversationCreate(RequestModel):
    """Body of ``POST /conversations``; exactly one of ``promptId`` and ``agentId`` is needed."""

    prompt_id: LinkText | None = None
    agent_id: LinkText | None = None
    content: Annotated[str, Field(min_length=1)]
    status: ConversationStatus | None = None
    llm_model: ShortText | None = None
    company_name: ShortText | None = None
    # unspecified: an id of the conversation in the tool that it comes from. A field of ours; others ignore it.
    source_id: SourceId | None = None
    """The conversation's id in the tool that it comes from; kept for joins and to recognise it when it has grown."""
    idempotency_key: (
        Annotated[
            str,
            StringConstraints(min_length=1, max_length=limits.KEY_CHARS),
            AfterValidator(storable),
        ]
        | None
    ) = None


# unspecified: how a logged conversation changes. It grows at its source, and the service takes its new state.
class ConversationUpdate(RequestModel):
    """Body of ``PATCH /conversations/:id``: any subset of the fields. A new content is judged anew."""

    content: Annotated[str, Field(min_length=1)] | None = None
    status: ConversationStatus | None = None
    source_id: SourceId | None = None
    if_content_hash: Annotated[str, StringConstraints(max_length=64)] | None = None
    """SHA-256 of the content that is to be replaced, in hexadecimal; the update is refused when it is another by now."""

    _not_null = field_validator("content", "status", "source_id", "if_content_hash", mode="before")(not_null)


class ConversationLookup(RequestModel):
    """Body of ``POST /prompts/:id/conversations/lookup``."""

    ids: Annotated[list[LinkText], Field(max_length=limits.LOOKUP_IDS)] | None = None
    source_ids: Annotated[list[SourceId], Field(max_length=limits.LOOKUP_IDS)] | None = None


class KnownConversation(ApiModel):
    """A conversation that a lookup found."""

    id: str
    source_id: str | None = None
    status: str
    content_hash: str | None = None
    """SHA-256 of the content in hexadecimal; only of conversations with a ``source_id``."""


class LookupAnswer(ApiModel):
    """Answer of ``POST /prompts/:id/conversations/lookup``; those that are not there are left out."""

    data: list[KnownConversation]
