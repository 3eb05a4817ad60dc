"""Conversations and how they are logged."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from promptlift.schema import limits
from promptlift.schema.insights import Insights  # noqa: TC001 - pydantic reads the annotation
from promptlift.schema.model import LinkedModel, RequestModel, UtcTime
from promptlift.schema.texts import LinkText, ShortText, storable

ConversationStatus = Literal["completed", "abandoned", "in_progress"]
CONVERSATION_STATUSES: tuple[ConversationStatus, ...] = ("completed", "abandoned", "in_progress")


class Conversation(LinkedModel):
    """A conversation as the service gives it; list items carry fewer fields than ``GET /conversations/:id``."""

    id: str
    content: str | None = None
    status: str
    llm_model: str | None = None
    company_name: str | None = None
    idempotency_key: str | None = None
    has_insights: bool | None = None
    insights: Insights | None = None
    insights_error: str | None = None
    """Why there are no insights, or not yet. Our service gives it, others may not."""
    created_at: UtcTime | None = None
    started_at: UtcTime | None = None
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
    idempotency_key: (
        Annotated[
            str,
            StringConstraints(min_length=1, max_length=limits.KEY_CHARS),
            AfterValidator(storable),
        ]
        | None
    ) = None
