"""Conversations and how they are logged."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from promptlift.schema import limits
from promptlift.schema.insights import Insights
from promptlift.schema.model import ApiModel, RequestModel, UtcTime
from promptlift.schema.naming import link_of
from promptlift.schema.texts import ShortText, storable

ConversationStatus = Literal["completed", "abandoned", "in_progress"]
CONVERSATION_STATUSES: tuple[ConversationStatus, ...] = ("completed", "abandoned", "in_progress")


class Conversation(ApiModel):
    """A conversation as the service gives it; list items carry fewer fields than ``GET /conversations/:id``."""

    id: str
    prompt_id: str | None = None
    content: str | None = None
    status: str
    llm_model: str | None = None
    company_name: str | None = None
    idempotency_key: str | None = None
    has_insights: bool | None = None
    insights: Insights | None = None
    created_at: UtcTime | None = None
    started_at: UtcTime | None = None
    """First message time, else the time of the log request. Our service gives it, others may not."""
    ended_at: UtcTime | None = None

    @model_validator(mode="before")
    @classmethod
    def _either_link(cls, data: object) -> object:
        if isinstance(data, dict) and "agentId" in data and "promptId" not in data:
            data = {**data, "promptId": link_of(data)}
            del data["agentId"]
        return data


class ConversationCreate(RequestModel):
    """Body of ``POST /conversations``; exactly one of ``promptId`` and ``agentId`` is needed."""

    prompt_id: Annotated[str, StringConstraints(max_length=limits.KEY_CHARS)] | None = None
    agent_id: Annotated[str, StringConstraints(max_length=limits.KEY_CHARS)] | None = None
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
