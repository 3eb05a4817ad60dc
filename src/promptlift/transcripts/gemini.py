"""Gemini: requests with ``contents`` of ``role`` and ``parts``, with or without their answers, and its batches."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Unreadable
from promptlift.transcripts.beside import Pair, Pairs
from promptlift.transcripts.chat import fold
from promptlift.transcripts.collector import ParsedConversation, is_something
from promptlift.transcripts.usage import UsageSums, amount
from promptlift.transcripts.wrapped import chat_messages, drop_parameters, first, inside, system_messages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_contents", "read_gemini"]

_IDS: Final = ("id", "key", "conversation_id", "conversationId")
_SYSTEM: Final = ("systemInstruction", "system_instruction")
_TIMES: Final = ("createTime", "create_time", "processed_time")
_READ: Final = frozenset(
    {"contents", "request", "response", "candidates", "model", "status", "error", *_SYSTEM, *_IDS, *_TIMES}
)
_ANSWER_READ: Final = frozenset(
    {"candidates", "usageMetadata", "usage_metadata", "modelVersion", "model_version", *_READ}
)


def is_contents(value: dict[str, Any]) -> bool:
    """Return whether a record is a Gemini request, or its answer in a batch."""
    asked = inside(value, "request") or value
    contents = asked.get("contents")
    if isinstance(contents, list) and contents and isinstance(contents[0], dict) and "parts" in contents[0]:
        return True
    return "key" in value and isinstance(inside(value, "response").get("candidates"), list)


def read_gemini(records: Iterable[Record], collector: Collector) -> None:
    """Read requests, one conversation each; the answers of a batch may follow its requests, matched by ``key``."""
    pairs = Pairs()
    for line, value in collector.objects(records, "request"):
        name = str(value["key"]) if is_something(value.get("key")) else f"record {line}"
        known = {field: one for field, one in value.items() if one is not None}
        pairs.add(name, Pair(line, _asked(value) or None, value.get("response"), known))
    for _, pair in itertools.chain.from_iterable(pairs.batches()):
        collector.add_parsed(pair.line, partial(_conversation, pair.more, pair.line, collector))


def _asked(value: dict[str, Any]) -> dict[str, Any]:
    """Return the request of a record, empty if it has none."""
    request = inside(value, "request")
    return request or (value if "contents" in value else {})


def _conversation(value: dict[str, Any], line: int, collector: Collector) -> ParsedConversation | None:
    asked, answered = _asked(value), inside(value, "response") or value
    if not asked and is_something(value.get("key")) and "response" in value:
        raise Unreadable(
            f"the answer {str(value['key'])!r} has no request; import the input file of the batch together with its output"
        )
    history = chat_messages(asked.get("contents"), "user")
    if not history:
        raise Unreadable("the record has no contents with parts")
    if is_something(value.get("error")) or (
        is_something(value.get("status")) and "candidates" not in answered
    ):
        collector.drop("requests that failed")
        return None
    collector.drop_unknown(value, _READ)
    if asked is not value:
        drop_parameters(asked, collector, "request")
    if answered is not value:
        collector.drop_unknown(answered, _ANSWER_READ, prefix="response.")
    answer = chat_messages({"candidates": answered.get("candidates")}, "assistant")
    model = first(answered, ("modelVersion", "model_version")) or value.get("model") or asked.get("model")
    time = collector.time(first({**value, **answered}, _TIMES), "createTime")
    answer = [{**one, "timestamp": time, "model": model} for one in answer]
    return ParsedConversation(
        fold([*system_messages(asked), *history, *answer], collector, path="contents[]"),
        line,
        source_id=first(value, _IDS),
        llm_model=str(model).removeprefix("models/") if model else None,
        usage=_usage(inside(answered, "usageMetadata") or inside(answered, "usage_metadata")),
    )


def _usage(counts: dict[str, Any]) -> UsageSums:
    """Return the tokens of an answer, which include those of thoughts counted separately."""
    usage = UsageSums()
    said = amount(first(counts, ("candidatesTokenCount", "candidates_token_count")))
    thought = amount(first(counts, ("thoughtsTokenCount", "thoughts_token_count")))
    usage.add_call(
        input_tokens=amount(first(counts, ("promptTokenCount", "prompt_token_count"))),
        output_tokens=None if said is None and thought is None else (said or 0) + (thought or 0),
    )
    return usage
