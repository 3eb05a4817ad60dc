"""Whether the content of a conversation is acceptable, and what can be seen from it at once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import TranscriptError
from promptlift.schema import limits
from promptlift.schema.metadata import flat_metadata
from promptlift.schema.transcript import CALL, RESULT, looks_structured, parse_content
from promptlift.service import clock
from promptlift.service.errors import invalid, too_large

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.schema.transcript import Message, Transcript


# How the result of a tool begins that failed, in JSON or not.
_ERROR: Final = re.compile(r"\W{0,20}(?:error|exception|traceback)\b", re.IGNORECASE)


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
    facts
        Columns that structured content says something about: tokens, tools and metadata. What is logged beside the content
        counts before them.
    """

    started_at: int | None
    ended_at: int | None
    messages: int
    user_turns: int
    response_seconds: float | None
    facts: Mapping[str, Any] = field(default_factory=dict)


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
        facts=_facts(transcript),
    )


def _facts(transcript: Transcript) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    metadata = flat_metadata(transcript.metadata) if transcript.metadata else {}
    if metadata:
        facts["metadata"] = metadata
    answers = [message for message in transcript.messages if message.role == "assistant"]
    # unspecified: what a model reads. Where answers say it (``inputTokens``) their sum, else the messages of the others.
    read = [
        tokens for answer in answers if (tokens := (answer.model_extra or {}).get("inputTokens")) is not None
    ]
    read = read or [message.tokens for message in transcript.messages if message.role != "assistant"]
    for name, counts in (("input_tokens", read), ("output_tokens", [answer.tokens for answer in answers])):
        known = [count for count in counts if isinstance(count, int | float) and not isinstance(count, bool)]
        if known and 0 <= (total := sum(known)) <= limits.COUNT_MAX:
            facts[name] = round(total)
    calls = sum(answer.content.startswith(CALL) for answer in answers)
    results = [message.content for message in transcript.messages if message.content.startswith(RESULT)]
    if calls or results:
        facts["tool_calls"] = calls or len(results)
        facts["tool_errors"] = sum(_ERROR.match(result, len(RESULT)) is not None for result in results)
    return facts


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
