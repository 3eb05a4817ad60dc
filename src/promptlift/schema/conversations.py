"""Conversations and how they are logged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar, get_args

from pydantic import AfterValidator, Field, SkipValidation, StringConstraints, field_validator

from promptlift.schema import limits
from promptlift.schema.columns import Column, Nested
from promptlift.schema.insights import Insights
from promptlift.schema.metadata import Metadata
from promptlift.schema.model import (
    ApiModel,
    DisplayedModel,
    LinkedModel,
    LinkedRequest,
    LinkText,
    RequestModel,
    ShortText,
    SourceId,
    UtcTime,
    not_null,
    storable,
)
from promptlift.schema.pages import ErrorInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ConversationStatus = Literal["completed", "abandoned", "in_progress"]
CONVERSATION_STATUSES: Final[tuple[ConversationStatus, ...]] = get_args(ConversationStatus)


class Conversation(DisplayedModel):
    """A conversation as the service gives it; list items carry fewer fields than ``GET /conversations/:id``."""

    id: Annotated[str, Column(name="conversation_id")]
    """The conversation's id."""
    content: Annotated[str | None, Column()] = None
    """The transcript as it was logged, structured JSON or text with role labels."""
    status: Annotated[str, Column(categories=CONVERSATION_STATUSES)]
    """``completed``, ``abandoned`` or ``in_progress``."""
    title: Annotated[str | None, Column()] = None
    """What the conversation is called. Our service gives it, and the fields up to ``metadata``; others may not."""
    message_count: Annotated[int | None, Column(name="n_turns")] = None
    """Messages of the conversation."""
    input_tokens: Annotated[int | None, Column(unit="tokens")] = None
    """Tokens that the model read."""
    output_tokens: Annotated[int | None, Column(unit="tokens")] = None
    """Tokens that the model wrote."""
    cost: Annotated[float | None, Column(unit="currency of the prices")] = None
    """What the model calls cost, in the currency in which the owner gives prices."""
    latency_ms: Annotated[float | None, Column(unit="ms")] = None
    """Mean time until an answer of the assistant: as it was logged, else from the times of the messages."""
    tool_calls: Annotated[int | None, Column()] = None
    """Tools that were called."""
    tool_errors: Annotated[int | None, Column()] = None
    """Tool calls that failed."""
    metadata: dict[str, Any] | None = None
    """Whatever else was logged with it: a flat object."""
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


Count = Annotated[int, Field(ge=0, le=limits.COUNT_MAX)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ConversationFacts(RequestModel):
    """What may be known about a conversation beside its content."""

    # unspecified: these fields. They are ours; other services may ignore them.
    metadata: Metadata | None = None
    """A flat object of short values: channel, plan, language, … A list of strings is joined with ", "."""
    title: ShortText | None = None
    """What the conversation is called."""
    input_tokens: Count | None = None
    """Tokens that the model read; when it is left out, what the messages of structured content say."""
    output_tokens: Count | None = None
    """Tokens that the model wrote; when it is left out, what the messages of structured content say."""
    cost: Amount | None = None
    """What the model calls cost, in the currency in which the owner gives prices."""
    latency_ms: Amount | None = None
    """Mean time until an answer of the assistant; when it is left out, what the times of the messages say."""
    tool_calls: Count | None = None
    """Tools that were called."""
    tool_errors: Count | None = None
    """Tool calls that failed."""

    def facts(self) -> dict[str, Any]:
        """Return the fields that were given, under their Python names."""
        return {name: value for name in FACTS if (value := getattr(self, name)) is not None}


FACTS: Final = tuple(ConversationFacts.model_fields)


class ConversationCreate(ConversationFacts, LinkedRequest):
    """Body of ``POST /conversations``; exactly one of ``promptId`` and ``agentId`` is needed."""

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


# unspecified: logging many conversations with one request.
class ConversationsCreate(RequestModel):
    """Body of ``POST /conversations/bulk``."""

    # Each is checked by itself, so that one that is wrong does not keep the others out.
    conversations: Annotated[list[SkipValidation[ConversationCreate]], Field(max_length=limits.BULK_ROWS)]
    """Bodies of ``POST /conversations``, of one prompt or several."""


# unspecified: how a logged conversation changes. It grows at its source, and the service takes its new state.
class ConversationUpdate(ConversationFacts):
    """Body of ``PATCH /conversations/:id``: any subset of the fields. A new content is judged anew.

    Metadata replace what was there as a whole.
    """

    content: Annotated[str, Field(min_length=1)] | None = None
    status: ConversationStatus | None = None
    source_id: SourceId | None = None
    if_content_hash: Annotated[str, StringConstraints(max_length=64)] | None = None
    """SHA-256 of the content that is to be replaced, in hexadecimal; the update is refused when it is another by now."""

    _not_null = field_validator("content", "status", "source_id", "if_content_hash", *FACTS, mode="before")(
        not_null
    )


class ConversationLookup(RequestModel):
    """Body of ``POST /prompts/:id/conversations/lookup``."""

    ids: Annotated[list[LinkText], Field(max_length=limits.LOOKUP_IDS)] | None = None
    source_ids: Annotated[list[SourceId], Field(max_length=limits.LOOKUP_IDS)] | None = None


class DeletedConversation(LinkedModel):
    """A conversation that is no longer there."""

    id: str
    """The id that it had."""
    deleted_at: UtcTime
    """When it was deleted."""


class LoggedConversation(ApiModel):
    """What became of one conversation of ``POST /conversations/bulk``."""

    index: int
    """Its place in the request, from 0."""
    id: str | None = None
    """The id that it got; ``None`` when it was refused."""
    status: str | None = None
    created: bool
    """Whether it is new: not when it was logged before, with the same idempotency key or in a former state; ``id`` names that one then."""
    updated: bool = False
    """Whether it was there in a former state, which it replaced: its source id says that it is the same conversation."""
    created_at: UtcTime | None = None
    error: ErrorInfo | None = None
    """Why it was refused, as ``POST /conversations`` would have said."""


class LoggedAnswer(ApiModel):
    """Answer of ``POST /conversations/bulk``: one row for each conversation, in their order."""

    data: list[LoggedConversation]


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


Item = TypeVar("Item")

# Half of what our service takes: the sizes are estimates where the body is not made yet.
_BYTES: Final = limits.BULK_BODY_BYTES // 2


def in_requests(items: Sequence[Item], size: Callable[[Item], int]) -> Iterator[Sequence[Item]]:
    """Split conversations into what one request may hold, in their order.

    Parameters
    ----------
    size
        Bytes that one of them takes in a body.

    Examples
    --------
    >>> [len(some) for some in in_requests(["x"] * 1100, len)]
    [500, 500, 100]
    """
    start = total = 0
    for number, one in enumerate(items):
        length = size(one)
        if number > start and (number - start >= limits.BULK_ROWS or total + length > _BYTES):
            yield items[start:number]
            start, total = number, 0
        total += length
    if start < len(items):
        yield items[start:]
