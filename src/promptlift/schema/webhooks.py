"""Webhooks: where events are sent."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from promptlift.schema.events import EventKind
from promptlift.schema.model import ApiModel, RequestModel, UtcTime
from promptlift.schema.texts import LongText


class Webhook(ApiModel):
    """A subscribed address."""

    id: str
    url: str
    events: list[str]
    description: str | None = None
    status: str
    secret: str | None = Field(default=None, repr=False)
    """Only in the answer of the create request."""
    created_at: UtcTime | None = None


class WebhookCreate(RequestModel):
    """Body of ``POST /webhooks``."""

    url: str
    events: Annotated[list[EventKind], Field(min_length=1)]
    description: LongText | None = None
