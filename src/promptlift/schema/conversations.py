"""Conversations and how they are logged."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Final, Literal, TypeVar, get_args

from pydantic import AfterValidator, Field, SkipValidation, StringConstraints, field_validator

from promptlift.schema import limits
from promptlift.schema.columns import Column, Nested
from promptlift.schema.insights import Insights
from promptlift.schema.metadata import Metadata
from promptlift.schema.model import (
    ApiModel,
    DisplayedModel,
    ErrorInfo,
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

ConversationStatus = Literal["completed", "abandoned", "in_progress"]
CONVERSATION_STATUSES: Final[tuple[ConversationStatus, ...]] = get_args(ConversationStatus)


class Conversation(DisplayedModel):
    """A conversation as returned by the service; list items have fewer fields than ``GET /conversations/:id``."""

    id: Annotated[str, Column(name="conversation_id")]
    """The conversation's id."""
    content: Annotated[str | None, Column()] = None
    """The transcript as logged, structured JSON or text with role labels."""
    status: Annotated[str, Column(categories=CONVERSATION_STATUSES)]
    """``completed``, ``abandoned`` or ``in_progress``."""
    title: Annotated[str | None, Column()] = None
    """Title of the conversation. Our service provides it, and the fields up to ``metadata``; others may not."""
    message_count: Annotated[int | None, Column(name="n_turns")] = None
    """Number of messages in the conversation."""
    input_tokens: Annotated[int | None, Column(unit="tokens")] = None
    """Tokens that the model read."""
    output_tokens: Annotated[int | None, Column(unit="tokens")] = None
    """Tokens that the model wrote."""
    cost: Annotated[float | None, Column(unit="currency of the prices")] = None
    """Cost of the model calls, in the currency of the owner's prices."""
    latency_ms: Annotated[float | None, Column(unit="ms")] = None
    """Mean time until an answer of the assistant: as logged, or else from the times of the messages."""
    tool_calls: Annotated[int | None, Column()] = None
    """Tools that were called."""
    tool_errors: Annotated[int | None, Column()] = None
    """Tool calls that failed."""
    metadata: dict[str, Any] | None = None
    """Other data logged with it: a flat object."""
    llm_model: Annotated[str | None, Column()] = None
    """The model that answered."""
    company_name: Annotated[str | None, Column()] = None
    """The company for which the conversation took place."""
    idempotency_key: str | None = None
    source_id: Annotated[str | None, Column()] = None
    """The conversation's id in the tool from which it came. Our service stores it, others may not."""
    has_insights: Annotated[bool | None, Column()] = None
    """Whether the conversation has been judged."""
    insights: Annotated[Insights | None, Nested()] = None
    insights_error: Annotated[str | None, Column()] = None
    """Why there are no insights, or not yet. Our service provides it, others may not."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When the conversation was logged."""
    started_at: Annotated[UtcTime | None, Column()] = None
    """Time of the first message, unless unknown or ahead of the log request: then the time of the log request. Our service provides it, others may not."""
    ended_at: UtcTime | None = None


Count = Annotated[int, Field(ge=0, le=limits.COUNT_MAX)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ConversationFacts(RequestModel):
    """Facts about a conversation other than its content."""

    # unspecified: these fields. They are ours; other services may ignore them.
    metadata: Metadata | None = None
    """A flat object of short values: channel, plan, language, … A list of strings is joined with ", "."""
    title: ShortText | None = None
    """What the conversation is called."""
    input_tokens: Count | None = None
    """Tokens that the model read; by default from the messages of structured content."""
    output_tokens: Count | None = None
    """Tokens that the model wrote; by default from the messages of structured content."""
    cost: Amount | None = None
    """Cost of the model calls, in the currency of the owner's prices."""
    latency_ms: Amount | None = None
    """Mean time until an answer of the assistant; by default from the times of the messages."""
    tool_calls: Count | None = None
    """Tools that were called."""
    tool_errors: Count | None = None
    """Tool calls that failed."""

    def facts(self) -> dict[str, Any]:
        """Return the given fields, under their Python names."""
        return {name: value for name in FACTS if (value := getattr(self, name)) is not None}


FACTS: Final = tuple(ConversationFacts.model_fields)


class ConversationCreate(ConversationFacts, LinkedRequest):
    """Body of ``POST /conversations``; exactly one of ``promptId`` and ``agentId`` is needed."""

    content: Annotated[str, Field(min_length=1)]
    status: ConversationStatus | None = None
    llm_model: ShortText | None = None
    company_name: ShortText | None = None
    # unspecified: an id of the conversation in the tool from which it comes. A field of ours; others ignore
    # it.
    source_id: SourceId | None = None
    """The conversation's id in the tool from which it comes; stored for joins and to recognize it when it has grown."""
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

    # Each is validated individually, so that an invalid one does not affect the others.
    conversations: Annotated[list[SkipValidation[ConversationCreate]], Field(max_length=limits.BULK_ROWS)]
    """Bodies of ``POST /conversations``, for one prompt or several."""


# unspecified: how a logged conversation changes. It grows at its source, and the service replaces its state.
class ConversationUpdate(ConversationFacts):
    """Body of ``PATCH /conversations/:id``: any subset of the fields. New content is judged again.

    Metadata are replaced as a whole.
    """

    content: Annotated[str, Field(min_length=1)] | None = None
    status: ConversationStatus | None = None
    source_id: SourceId | None = None
    if_content_hash: Annotated[str, StringConstraints(max_length=64)] | None = None
    """SHA-256 of the content to replace, in hexadecimal; the update is refused if the content has changed."""

    _not_null = field_validator("content", "status", "source_id", "if_content_hash", *FACTS, mode="before")(
        not_null
    )


class ConversationLookup(RequestModel):
    """Body of ``POST /prompts/:id/conversations/lookup``."""

    ids: Annotated[list[LinkText], Field(max_length=limits.LOOKUP_IDS)] | None = None
    source_ids: Annotated[list[SourceId], Field(max_length=limits.LOOKUP_IDS)] | None = None


class DeletedConversation(LinkedModel):
    """A deleted conversation."""

    id: str
    """Its former id."""
    deleted_at: UtcTime
    """When it was deleted."""


class LoggedConversation(ApiModel):
    """The outcome of one conversation of ``POST /conversations/bulk``."""

    index: int
    """Its index in the request, from 0."""
    id: str | None = None
    """Its id; ``None`` if it was refused."""
    status: str | None = None
    created: bool
    """Whether it is new: not if it was logged before, with the same idempotency key or in an earlier state, which ``id`` then identifies."""
    updated: bool = False
    """Whether it replaced an earlier state of the conversation with the same source id."""
    created_at: UtcTime | None = None
    error: ErrorInfo | None = None
    """Why it was refused, in the words of ``POST /conversations``."""


class LoggedAnswer(ApiModel):
    """Answer of ``POST /conversations/bulk``: one row per conversation, in order."""

    data: list[LoggedConversation]


class KnownConversation(ApiModel):
    """A conversation that a lookup found."""

    id: str
    source_id: str | None = None
    status: str
    content_hash: str | None = None
    """SHA-256 of the content in hexadecimal; only for conversations with a ``source_id``."""


class LookupAnswer(ApiModel):
    """Answer of ``POST /prompts/:id/conversations/lookup``; missing ones are left out."""

    data: list[KnownConversation]


Item = TypeVar("Item")

# Half of our service's limit, because sizes are estimates before the body is built.
_BYTES: Final = limits.BULK_BODY_BYTES // 2


def in_requests(items: Sequence[Item], size: Callable[[Item], int]) -> Iterator[Sequence[Item]]:
    """Split conversations into groups that fit into one request, in order.

    Parameters
    ----------
    size
        Function that returns the bytes of a conversation in a body.

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
