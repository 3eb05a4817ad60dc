"""The base of every API type: camelCase on the wire, snake_case in Python, unknown fields kept; lists, errors and bounded texts."""

from datetime import UTC, datetime
from importlib import import_module
from typing import Annotated, Any, Final, Generic, Literal, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel

from promptlift.schema import limits
from promptlift.schema.columns import Column
from promptlift.schema.naming import link_of

_NO_TIME = "must be an ISO 8601 time such as 2026-01-31T09:30:00Z"


def to_wire_time(time: datetime) -> str:
    """Format a time like the API: ISO 8601 UTC with milliseconds and ``Z``.

    A time without a zone is taken as UTC.
    """
    aware = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return aware.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_wire_time(value: Any) -> Any:
    """Read an ISO 8601 time as UTC; a time without a zone is taken as UTC.

    Raises
    ------
    ValueError
        A string is not an ISO 8601 time.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise ValueError(_NO_TIME) from error
    if isinstance(value, datetime):
        try:
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        except OverflowError as error:  # the first or the last representable day, in another zone
            raise ValueError(_NO_TIME) from error
    return value


UtcTime = Annotated[
    datetime,
    BeforeValidator(from_wire_time),
    PlainSerializer(to_wire_time, return_type=str, when_used="json"),
]


# Modules of models do not postpone the evaluation of annotations: pydantic would compile each of them again at import.
class _WireModel(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        defer_build=True,
        populate_by_name=True,
        protected_namespaces=(),
    )

    def to_wire(self) -> dict[str, Any]:
        """Return JSON-ready data with the API's names, without fields that were never set."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class ApiModel(_WireModel):
    """A resource or view sent by the service.

    Unknown fields are kept and written back.
    """

    model_config = ConfigDict(extra="allow")

    @classmethod
    def from_wire(cls, data: Any) -> Self:
        """Read decoded JSON of the API."""
        return cls.model_validate(data)


def _describe_agent_id(schema: dict[str, Any]) -> None:
    schema["properties"]["agentId"] = {
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "description": "The same in the agent scheme",
    }


class LinkedModel(ApiModel):
    """A resource or view of one prompt: ``prompt_id`` in Python, whichever scheme the API uses."""

    model_config = ConfigDict(json_schema_extra=_describe_agent_id)

    prompt_id: Annotated[str | None, Column()] = None
    """The prompt, or agent, to which it belongs."""

    @model_validator(mode="before")
    @classmethod
    def _either_link(cls, data: object) -> object:
        if isinstance(data, dict) and "agentId" in data and data.get("promptId") is None:
            rest = {name: value for name, value in data.items() if name != "agentId"}
            data = {**rest, "promptId": link_of(data)}
        return data


class DisplayedModel(LinkedModel):
    """A resource that notebooks display. `promptlift.display` is on a higher floor, so it is loaded by name, on first use."""

    def _displayed(self, how: str) -> Any:
        return getattr(import_module("promptlift.display.answers"), how)(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        del include, exclude
        return dict(self._displayed("bundle"))

    def _repr_html_(self) -> str:
        return self._repr_mimebundle_()["text/html"]


Item = TypeVar("Item", bound=ApiModel)


class Pagination(ApiModel):
    """The position of a page in the whole list."""

    total: int
    """Items in the whole list at the time of the request."""
    limit: int
    """Number of items requested."""
    offset: int
    """Number of items before this page."""
    next_cursor: str | None = None
    """The ``cursor`` of the following page, in lists that support it; omitted on the last page. It is opaque to clients."""
    max_limit: int | None = None
    """The largest ``limit`` of a list that allows more than 100, in answers with a ``limit`` of 100 or more."""


class Page(ApiModel, Generic[Item]):
    """One page of a list. Lists without paging have no ``pagination``."""

    data: list[Item]
    pagination: Pagination | None = None
    # Only in answers to ``updatedSince`` and ``deletedSince``: the time for the next request, so that nothing is missed
    # and nothing unchanged is repeated. When reading several pages, that of the first page counts.
    as_of: UtcTime | None = None


class Done(ApiModel):
    """Answer of an action without other data."""

    success: bool
    message: str | None = None


class ErrorInfo(ApiModel):
    """An error: its code, its message and details."""

    code: str
    message: str
    details: dict[str, Any] | None = None
    """Field name or dotted path to message, or limit data."""


class ErrorBody(ApiModel):
    """Body of every error."""

    error: ErrorInfo


def not_null(value: object) -> object:
    """Reject ``null``: unchanged fields must be omitted."""
    if value is None:
        raise ValueError("must not be null")
    return value


class RequestModel(_WireModel):
    """A body that a client sends. Types are strict: strings are not converted to numbers."""

    # unspecified: unknown fields of a body. Ignored, except in settings.
    model_config = ConfigDict(extra="ignore", strict=True)


def not_blank(text: str) -> str:
    """Reject a text that is blank or cannot be stored."""
    if not text.strip():
        raise ValueError("must not be blank")
    return storable(text)


def storable(text: str) -> str:
    """Reject a NUL character, which databases cannot store as text, and half of a surrogate pair."""
    if "\x00" in text:
        raise ValueError("must not contain a NUL character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("must not contain half of a surrogate pair") from None
    return text


def _within_bytes(text: str) -> str:
    if len(text.encode("utf-8", "surrogatepass")) > limits.PROMPT_CONTENT_BYTES:
        raise ValueError(f"must be at most {limits.PROMPT_CONTENT_BYTES} bytes")
    return text


RunStatus = Literal["queued", "running", "completed", "failed", "stopped"]
"""Status of an optimization, a benchmark, or a run of a judge."""
RUN_STATUSES: Final[tuple[RunStatus, ...]] = get_args(RunStatus)

Name = Annotated[str, StringConstraints(max_length=limits.NAME_CHARS), AfterValidator(not_blank)]
ModelName = Name
PromptText = Annotated[str, AfterValidator(not_blank), AfterValidator(_within_bytes)]
ShortText = Annotated[str, StringConstraints(max_length=limits.NAME_CHARS), AfterValidator(storable)]
LinkText = Annotated[str, StringConstraints(max_length=limits.KEY_CHARS), AfterValidator(storable)]
SourceId = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.SOURCE_ID_CHARS), AfterValidator(storable)
]
LongText = Annotated[str, StringConstraints(max_length=limits.DESCRIPTION_CHARS), AfterValidator(storable)]
Identifier = Annotated[str, StringConstraints(max_length=limits.KEY_CHARS), AfterValidator(not_blank)]
Tag = Annotated[str, StringConstraints(max_length=limits.TAG_CHARS), AfterValidator(not_blank)]


class LinkedRequest(RequestModel):
    """A body that links to a prompt, under either name of the link."""

    prompt_id: LinkText | None = None
    agent_id: LinkText | None = None
    """The same in the agent scheme"""

    @property
    def linked_id(self) -> str | None:
        """The prompt, under whichever name it was given."""
        return self.prompt_id or self.agent_id
