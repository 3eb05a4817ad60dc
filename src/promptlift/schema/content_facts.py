"""What the content of a conversation says about it: tokens, tools, metadata, and how long answers took."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.limits import COUNT_MAX
from promptlift.schema.metadata import flat_metadata
from promptlift.schema.transcript import CALL, RESULT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Message, Transcript

# How the result of a tool begins that failed, in JSON or not.
_ERROR: Final = re.compile(r"\W{0,20}(?:error|exception|traceback)\b", re.IGNORECASE)


def content_facts(transcript: Transcript) -> dict[str, Any]:
    """Return the fields of a conversation that its content says something about, under their Python names.

    They are metadata, input_tokens, output_tokens, tool_calls and tool_errors; a field that it says nothing about is
    left out.
    """
    facts: dict[str, Any] = {}
    metadata = flat_metadata(transcript.metadata) if transcript.metadata else {}
    if metadata:
        facts["metadata"] = metadata
    messages = transcript.messages
    answers = [message for message in messages if message.role == "assistant"]
    # unspecified: what a model reads. Where answers say it (``inputTokens``) their sum, else the messages of the others.
    read = [(answer.model_extra or {}).get("inputTokens") for answer in answers]
    if not any(count is not None for count in read):
        read = [message.tokens for message in messages if message.role != "assistant"]
    for name, counts in (("input_tokens", read), ("output_tokens", [answer.tokens for answer in answers])):
        known = [count for count in counts if isinstance(count, int | float) and not isinstance(count, bool)]
        if known and 0 <= (total := sum(known)) <= COUNT_MAX:
            facts[name] = round(total)
    calls = sum(answer.content.startswith(CALL) for answer in answers)
    results = [message.content for message in messages if message.content.startswith(RESULT)]
    if calls or results:
        facts["tool_calls"] = calls or len(results)
        facts["tool_errors"] = sum(_ERROR.match(result, len(RESULT)) is not None for result in results)
    return facts


def answer_seconds(messages: Sequence[Message]) -> float | None:
    """Return the mean time from a user's message to the answer, ``None`` when it is unknown."""
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
