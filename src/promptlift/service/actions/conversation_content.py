"""Whether the content of a conversation is acceptable, and what can be seen from it at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from promptlift.errors import TranscriptError
from promptlift.schema import limits
from promptlift.schema.transcript import looks_structured, parse_content
from promptlift.service import clock
from promptlift.service.errors import invalid, too_large

if TYPE_CHECKING:
    from promptlift.schema.transcript import Message


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns that are kept beside a transcript.

    Attributes
    ----------
    started_at, ended_at
        First and last message time in milliseconds, ``None`` when messages have none.
    messages, user_turns
        Counts.
    response_seconds
        Mean time from a user message to the answer, ``None`` when unknown.
    """

    started_at: int | None
    ended_at: int | None
    messages: int
    user_turns: int
    response_seconds: float | None


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
        raise invalid({"content": "holds half of a surrogate pair; send valid Unicode"}) from error
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
        # Nothing has four bytes a character more often than never: most messages need no encoding.
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
        response_seconds=_response_seconds(transcript.messages),
    )


def _response_seconds(messages: list[Message]) -> float | None:
    waits = [
        (answer.timestamp - question.timestamp).total_seconds()
        for question, answer in pairwise(messages)
        if question.role == "user"
        and answer.role == "assistant"
        and question.timestamp is not None
        and answer.timestamp is not None
    ]
    kept = [wait for wait in waits if wait >= 0]
    return sum(kept) / len(kept) if kept else None
