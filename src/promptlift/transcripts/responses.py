"""OpenAI: requests and answers of the Responses API, and batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.limits import MESSAGES
from promptlift.transcripts.beside import Pair, Pairs
from promptlift.transcripts.chat import kind_in
from promptlift.transcripts.collector import is_something
from promptlift.transcripts.sessions import Call, Sessions
from promptlift.transcripts.traces import add_sessions
from promptlift.transcripts.wrapped import chat_messages, decoded, drop_parameters, inside, system_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_batch", "is_responses", "read_batch", "read_responses", "said_in_call"]

_USERS: Final = ("user", "safety_identifier")
# Fields of a request that are read, besides messages, model and instructions.
_ASKED: Final = ("conversation", "prompt", "metadata", "previous_response_id", "stream", *_USERS)
_BATCH_READ: Final = frozenset({"custom_id", "body", "response", "method", "url", "id", "error"})


_MOST_HISTORY: Final = 2 * MESSAGES


def is_responses(asked: Any, answered: Any = None) -> bool:
    """Return whether a request or an answer is one of the Responses API."""
    if isinstance(answered, dict) and answered.get("object") == "response":
        return True
    if isinstance(asked, dict) and asked.get("object") == "response":
        return True
    return isinstance(asked, dict) and "input" in asked and "messages" not in asked and "model" in asked


def is_batch(value: dict[str, Any]) -> bool:
    """Return whether a record is a line of a batch: a request, or its answer."""
    return "custom_id" in value and ("body" in value or "response" in value)


def said_in_call(asked: Any, answered: Any) -> tuple[list[Any], list[Any]]:
    """Return history and answer of a call of any API of OpenAI as chat messages."""
    if not is_responses(asked, answered):
        return chat_messages(asked, "user"), chat_messages(answered, "assistant")
    asked = asked if isinstance(asked, dict) else {}
    answered = answered if isinstance(answered, dict) else {}
    system = system_messages(asked) or system_messages(answered)
    return [*system, *chat_messages(asked.get("input"), "user")], chat_messages(
        answered.get("output"), "assistant"
    )


def read_responses(records: Iterable[Record], collector: Collector) -> None:
    """Read answers of the Responses API, each with its request if the record has it.

    An answer that continues an earlier one has only the new messages; both are one conversation.
    """
    calls: dict[str, tuple[int, Call, str]] = {}
    for line, value in collector.objects(records, "record"):
        asked = inside(value, "request") or value
        answered = inside(value, "response") or value
        with collector.boundary(line):
            name = str(answered.get("id") or f"record {line}")
            earlier = answered.get("previous_response_id") or asked.get("previous_response_id")
            calls[name] = line, _call(value.get("id"), asked, answered, collector), str(earlier)
    sessions = Sessions()
    for line, call in _continued(calls):
        with collector.boundary(line):
            sessions.take(call, line)
        sessions.check()
    add_sessions(sessions, collector)


def _continued(calls: dict[str, tuple[int, Call, str]]) -> Iterator[tuple[int, Call]]:
    """Yield calls with the history of the calls that they continue."""
    done: set[str] = set()
    for name in calls:
        # From the first call of the chain on, so that each finds the complete history of the previous one.
        chain, earlier = {name: None}, calls[name][2]
        while earlier in calls and earlier not in done and earlier not in chain:
            chain[earlier] = None
            earlier = calls[earlier][2]
        for one in reversed(chain):
            line, call, before = calls[one]
            if one in done:
                continue
            done.add(one)
            if before in done and before != one:
                known = calls[before][1]
                own = [message for message in call.history if kind_in(message) != "system"]
                # Longer histories are refused anyway.
                over = len(known.history) > _MOST_HISTORY
                call.history = known.history if over else [*known.history, *known.answer, *own]
                call.session, call.prompt_name = known.session, call.prompt_name or known.prompt_name
            yield line, call


def _call(source: Any, asked: dict[str, Any], answered: dict[str, Any], collector: Collector) -> Call:
    history, answer = said_in_call(asked, answered)
    if asked is not answered:
        drop_parameters(
            {name: one for name, one in asked.items() if name not in _ASKED}, collector, "request"
        )
    usage = inside(answered, "usage")
    conversation = answered.get("conversation") or asked.get("conversation")
    conversation = conversation.get("id") if isinstance(conversation, dict) else conversation
    prompt = inside(asked, "prompt") or inside(answered, "prompt")
    metadata = answered.get("metadata") or asked.get("metadata")
    user = next(
        (one[name] for name in _USERS for one in (answered, asked) if is_something(one.get(name))), None
    )
    started = answered.get("created_at") or answered.get("created")
    return Call(
        conversation or source or answered.get("id"),
        history,
        answer,
        collector.time(answered.get("completed_at") or started, "created_at"),
        answered.get("model") or asked.get("model"),
        collector.tokens(usage.get("output_tokens", usage.get("completion_tokens")), "usage.output_tokens"),
        {
            **(metadata if isinstance(metadata, dict) else {}),
            **({"userId": user} if is_something(user) else {}),
        },
        started=collector.time(started, "created_at") if answered.get("completed_at") else None,
        trace=answered.get("id") or source,
        input_tokens=collector.tokens(
            usage.get("input_tokens", usage.get("prompt_tokens")), "usage.input_tokens"
        ),
        prompt_name=prompt.get("id"),
        prompt_version=prompt.get("version"),
    )


def read_batch(records: Iterable[Record], collector: Collector) -> None:
    """Read the lines of batches; a request and its answer with one ``custom_id`` are one conversation."""
    pairs = Pairs()
    for line, value in collector.objects(records, "line of the batch"):
        with collector.boundary(line):
            collector.drop_unknown(value, _BATCH_READ)
            pairs.add(str(value.get("custom_id")), _pair(line, value))
    for batch in pairs.batches():
        sessions = Sessions()
        for name, pair in batch:
            if pair.asked is None:
                collector.problem(
                    pair.line,
                    f"the answer {name!r} has no request; import the input file of the batch together with its output",
                )
            elif pair.more.get("failed"):
                collector.drop("requests that failed")
            else:
                with collector.boundary(pair.line):
                    sessions.take(_call(name, pair.asked, pair.answered or {}, collector), pair.line)
        add_sessions(sessions, collector)


def _pair(line: int, value: dict[str, Any]) -> Pair:
    """Return the content of a line of a batch: a request, an answer, or both."""
    asked, response = decoded(value.get("body")), decoded(value.get("response"))
    found = Pair(line, asked if isinstance(asked, dict) else None)
    if isinstance(response, dict) or is_something(value.get("error")):
        status = response.get("status_code") if isinstance(response, dict) else None
        found.more = {"failed": is_something(value.get("error")) or status not in (None, 200)}
        found.answered = {} if found.more["failed"] else inside(response, "body")
    return found
