"""Query parameters, one model per endpoint. They arrive as text, and only the spellings listed here are accepted."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from promptlift.schema import limits
from promptlift.schema.benchmarks import ARMS_MAX, LEVEL_DEFAULT, MARGIN_DEFAULT
from promptlift.schema.conversations import ConversationStatus
from promptlift.schema.events import EventKind
from promptlift.schema.experiments import Unit
from promptlift.schema.model import Pagination, RunStatus, from_wire_time, to_wire_time
from promptlift.schema.naming import Scheme
from promptlift.schema.prompts import PromptStatus
from promptlift.schema.simulations import SimulationStage

OFFSET_MAX: Final = 2**53


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def read(text: Any) -> int:
        if isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= 16:
            value = int(text)
            if low <= value <= high:
                return value
        raise ValueError(f"must be a whole number from {low} to {high}")

    return read


def _decimal(low: float, high: float) -> Callable[[Any], float]:
    def read(text: Any) -> float:
        if (
            isinstance(text, str)
            and len(text) <= 16
            and text.isascii()
            and text.replace(".", "", 1).isdecimal()
        ):
            value = float(text)
            if low <= value <= high:
                return value
        raise ValueError(f"must be a number from {low:g} to {high:g}")

    return read


def _reference(text: Any) -> int | str:
    if text == "best":
        return "best"
    try:
        return _whole(0, ARMS_MAX - 1)(text)
    except ValueError:
        raise ValueError("must be the number of an arm, or best") from None


def _flag(text: Any) -> bool:
    if text not in ("true", "false"):
        raise ValueError("must be true or false")
    return bool(text == "true")


def _filter_text(text: str) -> str | None:
    """Read a text; an empty text does not filter."""
    if "\x00" in text:
        raise ValueError("must not contain a NUL character")
    if len(text) > limits.DESCRIPTION_CHARS:
        raise ValueError(f"must have at most {limits.DESCRIPTION_CHARS} characters")
    return text or None


def _time(text: Any) -> datetime:
    """Read a time; a time without a zone is taken as UTC."""
    time = from_wire_time(text)
    if not isinstance(time, datetime):
        raise ValueError("must be an ISO 8601 time such as 2026-01-31T09:30:00Z")  # noqa: TRY004 - for pydantic
    return time


# A word in quotes, whose own quotes are doubled, or one that ends at the next comma.
_WORD: Final = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?:,|\Z)|([^,]*)(?:,|\Z)')


def _words(text: str) -> tuple[str, ...]:
    """Split at commas, without duplicates; a word with a comma is quoted, as in CSV."""
    # unspecified: how a tag with a comma is written in a comma-separated list.
    found = (
        quoted.replace('""', '"') if quoted else plain.strip()
        for quoted, plain in _WORD.findall(_filter_text(text) or "")
    )
    words = tuple(dict.fromkeys(word for word in found if word))
    if len(words) > limits.TAGS:
        raise ValueError(f"must have at most {limits.TAGS} entries")
    return words


Limit = Annotated[
    int, Field(ge=1, le=limits.LIST_LIMIT_MAX), BeforeValidator(_whole(1, limits.LIST_LIMIT_MAX))
]
Offset = Annotated[int, Field(ge=0), BeforeValidator(_whole(0, OFFSET_MAX))]
Version = Annotated[int, Field(ge=1), BeforeValidator(_whole(1, OFFSET_MAX))]
Flag = Annotated[bool, BeforeValidator(_flag)]
Since = Annotated[
    datetime | None,
    BeforeValidator(_time),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
# The end of a page of events, and the total at the first page: opaque to clients.
_CURSOR: Final = re.compile(r"([0-9]{1,16})\.([0-9]{1,16})")


def write_cursor(seq: int, total: int) -> str:
    """Encode the end of a page as a cursor.

    >>> read_cursor(write_cursor(17, 300))
    (17, 300)
    """
    return f"{seq}.{total}"


def read_cursor(text: Any) -> tuple[int, int]:
    """Decode a cursor of `write_cursor`.

    Raises
    ------
    ValueError
        The text is not a cursor.
    """
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise ValueError("must be the nextCursor of a page of this list")
    return int(found[1]), int(found[2])


EventsCursor = Annotated[tuple[int, int], BeforeValidator(read_cursor), WithJsonSchema({"type": "string"})]
FilterText = Annotated[str | None, BeforeValidator(_filter_text)]
Words = Annotated[tuple[str, ...], BeforeValidator(_words), WithJsonSchema({"type": "string"})]


class QueryModel(BaseModel):
    """Query parameters of a request. Parameters that an endpoint does not know are ignored."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        defer_build=True,
        extra="ignore",
        frozen=True,
    )

    @classmethod
    def to_wire(cls, values: Mapping[str, Any], scheme: Scheme) -> dict[str, str]:
        """Return parameters in their API form; ``None`` values are left out.

        Parameters
        ----------
        values
            Python names of the parameters, and their values.
        scheme
            Determines the name of ``prompt_id``.
        """
        return {
            scheme.link if name == "prompt_id" else str(cls.model_fields[name].alias): _text(value)
            for name, value in values.items()
            if value is not None
        }


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return to_wire_time(value)
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(_quoted(str(part)) for part in value)
    return str(value)


def _quoted(word: str) -> str:
    """Quote a word of a list if needed."""
    if "," not in word and not word.startswith('"') and word == word.strip():
        return word
    escaped = word.replace('"', '""')
    return f'"{escaped}"'


class PageQuery(QueryModel):
    """The requested part of a list."""

    limit: Limit = limits.LIST_LIMIT_DEFAULT
    """Items of a page"""
    offset: Offset = 0
    """Items before the page"""

    def of(self, total: int) -> Pagination:
        """Return the position of the page in a list with this many items."""
        return Pagination(total=total, limit=self.limit, offset=self.offset)


class LinkedQuery(PageQuery):
    """A list that can be narrowed to one prompt, under either name of the link."""

    prompt_id: FilterText = None
    """Only of this prompt (agentId in the agent scheme)"""
    agent_id: FilterText = None
    """The same in the agent scheme"""

    @property
    def linked_id(self) -> str | None:
        """The requested prompt, under whichever name it was given."""
        return self.prompt_id or self.agent_id


class PromptsQuery(PageQuery):
    """Query of ``GET /prompts``."""

    tags: Words = ()
    """Comma-separated; one of them is enough. A tag with a comma must be in double quotes"""
    status: PromptStatus | None = None
    """Only this status"""
    include_completion: Flag = False
    """Beyond the specification: items carry their task completion, also by week"""


class ResolveQuery(QueryModel):
    """Query of ``GET /prompts/:id/resolve``."""

    unit: Unit
    """The recipient of the text, such as the id of a user or a session; only its hash is stored"""


class InsightsQuery(QueryModel):
    """Query of ``GET /prompts/:id/insights``."""

    days: limits.InsightsDays = limits.INSIGHTS_DAYS_DEFAULT
    """Days to cover"""


class ConversationsQuery(LinkedQuery):
    """Query of ``GET /conversations``."""

    limit: Annotated[
        int,
        Field(ge=1, le=limits.CONVERSATIONS_LIMIT_MAX),
        BeforeValidator(_whole(1, limits.CONVERSATIONS_LIMIT_MAX)),
    ] = limits.LIST_LIMIT_DEFAULT
    """Items of a page; more than 100 only without content"""
    status: ConversationStatus | None = None
    """Only this status"""
    has_insights: Flag | None = None
    """Only with or without insights"""
    include_insights: Flag = False
    """Beyond the specification: items carry insights"""
    include_content: Flag = False
    """Beyond the specification: items carry content"""
    updated_since: Since = None
    """Beyond the specification: only conversations logged or changed since; the answer has asOf, for the next request"""


class DeletedConversationsQuery(LinkedQuery):
    """Query of ``GET /conversations/deleted``."""

    deleted_since: Since = None
    """Only conversations deleted since; the answer has asOf, for the next request"""


class ConversationQuery(QueryModel):
    """Query of ``GET /conversations/:id``."""

    include_insights: Flag = True
    """Whether the answer includes insights; default true"""


class OptimizationsQuery(LinkedQuery):
    """Query of ``GET /optimizations``."""

    limit: Limit = limits.OPTIMIZATIONS_LIMIT_DEFAULT
    """Items of a page"""
    status: RunStatus | None = None
    """Only this status"""


class SimulationsQuery(PageQuery):
    """Query of ``GET /optimizations/:id/simulations``."""

    variant_id: FilterText = None
    """Only conversations with this variant"""
    stage: SimulationStage | None = None
    """Only of this stage"""
    task_completed: Flag | None = None
    """Only with this outcome"""
    include_content: Flag = False
    """Whether items carry transcripts"""


class ActionsQuery(LinkedQuery):
    """Query of ``GET /actions``."""

    optimization_id: FilterText = None
    """Only of this optimization"""


class LabelsQuery(LinkedQuery):
    """Query of ``GET /labels``."""

    conversation_id: FilterText = None
    """Only of this conversation"""
    optimization_id: FilterText = None
    """Only of simulated conversations of this optimization"""
    question: FilterText = None
    """Only answers to this question"""
    labeller: FilterText = None
    """Only of this person"""
    draw_id: FilterText = None
    """Only of this draw"""


class PersonasQuery(PageQuery):
    """Query of ``GET /personas``."""

    # unspecified: items of a page. Enough for the whole library.
    limit: Limit = limits.LIST_LIMIT_MAX
    """Items of a page"""


class EventsQuery(PageQuery):
    """Query of ``GET /events``."""

    kind: EventKind | None = Field(default=None, alias="type")
    """Only this kind"""
    cursor: EventsCursor | None = None
    """pagination.nextCursor of the previous page, requested with the same type: the events that follow it, regardless of later changes. An offset counts from there"""


class BenchmarksQuery(PageQuery):
    """Query of ``GET /benchmarks``."""

    status: RunStatus | None = None
    """Only this status"""


class BenchmarkQuery(QueryModel):
    """Query of ``GET /benchmarks/:id``: the reference for the arms, and the comparison."""

    reference: Annotated[
        int | str,
        BeforeValidator(_reference),
        WithJsonSchema(
            {
                "type": ["integer", "string"],
                "minimum": 0,
                "maximum": ARMS_MAX - 1,
                "pattern": "^(best|[0-9]{1,2})$",
            }
        ),
    ] = 0
    """Number of an arm, or best for the one that completes the most tasks; default 0, the baseline"""
    margin: Annotated[float, Field(ge=0.0, le=99.0), BeforeValidator(_decimal(0.0, 99.0))] = MARGIN_DEFAULT
    """Percentage points of task completion; a smaller loss does not matter"""
    level: Annotated[float, Field(ge=0.5, le=0.999), BeforeValidator(_decimal(0.5, 0.999))] = LEVEL_DEFAULT
    """Level of the intervals and decisions"""


class BenchmarkConversationsQuery(PageQuery):
    """Query of ``GET /benchmarks/:id/conversations``."""

    arm: Annotated[int | None, Field(ge=0, le=ARMS_MAX - 1), BeforeValidator(_whole(0, ARMS_MAX - 1))] = None
    """Only of this arm"""
    task_completed: Flag | None = None
    """Only with this outcome"""
    include_content: Flag = False
    """Whether items carry transcripts"""


class VersionQuery(QueryModel):
    """Query of ``GET /scenario-sets/:id`` and ``GET /judges/:id``."""

    version: Version | None = None
    """The version; by default the newest"""


class VerdictsQuery(LinkedQuery):
    """Query of ``GET /judges/:id/verdicts``."""

    limit: Limit = limits.LIST_LIMIT_MAX
    """Items of a page"""
    version: Version | None = None
    """Only of this version; by default the newest"""
    all_versions: Flag = False
    """The newest verdict of each conversation, from any version"""


class JudgeRunsQuery(PageQuery):
    """Query of ``GET /judge-runs``."""

    judge_id: FilterText = None
    """Only of this judge"""
