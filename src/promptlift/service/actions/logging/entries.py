"""Conversations to log or to change: their content, which is checked here, the columns that follow from it, and their outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import orjson

from promptlift.errors import TranscriptError
from promptlift.schema import limits
from promptlift.schema.conversations import FACTS
from promptlift.schema.experiments import ASSIGNMENT, Assignment
from promptlift.schema.naming import SCHEMES
from promptlift.schema.transcript import answer_seconds, content_facts, looks_structured, parse_content
from promptlift.service import clock
from promptlift.service.errors import invalid, too_large

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.schema.conversations import ConversationCreate, ConversationUpdate
    from promptlift.schema.naming import Scheme
    from promptlift.service.store.accounts import Caller


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns that are stored with a transcript.

    Attributes
    ----------
    started_at, ended_at
        First and last message time in milliseconds, ``None`` when messages have none.
    messages, user_turns
        Counts.
    response_seconds
        Mean time from a user message to the answer, ``None`` when unknown.
    facts
        Columns that structured content provides: tokens, tools and metadata. Values logged with the content
        take precedence.
    """

    started_at: int | None
    ended_at: int | None
    messages: int
    user_turns: int
    response_seconds: float | None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def columns(self, *, began: int, now: int) -> dict[str, object]:
        """Return the columns that follow from new content: times, counts, and waiting for insights.

        Parameters
        ----------
        began
            When the conversation began, where its messages have no times.
        now
            What is logged has happened: later times are of a clock that is ahead.
        """
        started_at = min(now, began if self.started_at is None else self.started_at)
        return {
            "started_at": started_at,
            "ended_at": started_at if self.ended_at is None else min(now, self.ended_at),
            "message_count": self.messages,
            "user_turns": self.user_turns,
            "response_seconds": self.response_seconds,
            "has_insights": False,
            "judging": "pending",
            "judge_after": now,
            "judge_attempts": 0,
        }


def accept(content: str) -> Shape:
    """Check content against the format and the limits of the specification.

    Raises
    ------
    ApiException
        ``PAYLOAD_TOO_LARGE`` over a limit, ``VALIDATION_ERROR`` under ``content`` when it cannot be read.
    """
    try:
        size = len(content.encode())
    except UnicodeEncodeError as error:
        raise invalid({"content": "contains half of a surrogate pair; send valid Unicode"}) from error
    if size > limits.CONTENT_BYTES:
        raise too_large("content", f"content has {size} bytes; at most {limits.CONTENT_BYTES} are allowed")
    try:
        transcript = parse_content(content, one_pair=True)
    except TranscriptError as error:
        raise invalid({"content": str(error)}, "content cannot be read") from error
    if len(transcript.messages) > limits.MESSAGES and looks_structured(content):
        raise too_large(
            "content",
            f"content has {len(transcript.messages)} messages; at most {limits.MESSAGES} are allowed",
        )
    for index, message in enumerate(transcript.messages):
        # A character has at most four bytes, so most messages need no encoding to be checked.
        if len(message.content) * 4 > limits.MESSAGE_BYTES:
            weight = len(message.content.encode())
            if weight > limits.MESSAGE_BYTES:
                raise too_large(
                    "content",
                    f"messages[{index}] has {weight} bytes; at most {limits.MESSAGE_BYTES} are allowed",
                )
    times = [clock.from_datetime(m.timestamp) for m in transcript.messages if m.timestamp is not None]
    return Shape(
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        messages=len(transcript.messages),
        user_turns=sum(m.role == "user" for m in transcript.messages),
        response_seconds=answer_seconds(transcript.messages),
        facts=content_facts(transcript),
    )


def facts_columns(facts: Mapping[str, Any]) -> dict[str, object]:
    """Return the columns of a new conversation, one per fact, ``None`` if unknown."""
    return {**dict.fromkeys(FACTS), **changed_columns(facts), **assigned_columns(facts)}


def changed_columns(facts: Mapping[str, Any]) -> dict[str, object]:
    """Return the columns of some facts."""
    columns = dict(facts)
    if "metadata" in columns:
        columns["metadata"] = orjson.dumps(columns["metadata"]).decode() if columns["metadata"] else None
    return columns


def assigned_columns(facts: Mapping[str, Any]) -> dict[str, object]:
    """Return the columns of the assignment that metadata name, ``None`` if they name none."""
    assignment = Assignment.read((facts.get("metadata") or {}).get(ASSIGNMENT))
    return dict.fromkeys(Assignment._fields) if assignment is None else assignment._asdict()


@dataclass(frozen=True, slots=True)
class Entry:
    """One conversation to log, already checked."""

    caller: Caller
    body: ConversationCreate
    shape: Shape
    is_reconciled: bool = False
    """Whether it is compared with earlier logs: its key never expires, and its source id finds its earlier state."""

    @property
    def scheme(self) -> Scheme:
        """The naming scheme of its link."""
        return SCHEMES["agent" if self.body.prompt_id is None else "prompt"]

    @property
    def prompt_id(self) -> str:
        """The prompt that it is linked to."""
        return self.body.prompt_id or self.body.agent_id or ""


@dataclass(frozen=True, slots=True)
class Update:
    """The changes to one conversation, already checked; ``shape`` is that of a new content."""

    caller: Caller
    conversation_id: str
    body: ConversationUpdate
    shape: Shape | None


@dataclass(frozen=True, slots=True)
class Logged:
    """A conversation as in the answer to a create request.

    Attributes
    ----------
    created
        ``False`` for a conversation that already existed.
    updated
        Whether it existed in an earlier state, which was replaced.
    """

    id: str
    prompt_id: str
    status: str
    created_at: int
    created: bool
    updated: bool = False


class LookAgain(Enum):
    """The outcome of an entry whose earlier state is written in the same transaction."""

    LATER = "later"
