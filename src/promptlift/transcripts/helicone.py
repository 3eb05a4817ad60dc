"""Helicone: requests with their bodies, as its export tool and its API give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Unreadable
from promptlift.transcripts.collector import is_something
from promptlift.transcripts.responses import from_responses, is_responses
from promptlift.transcripts.sessions import Call
from promptlift.transcripts.traces import read_traces
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import chat_messages, decoded, drop_parameters, inside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_request", "read_helicone"]

_READ: Final = frozenset(
    {
        *("request_id", "request_body", "response_body", "request_created_at", "response_created_at"),
        *("delay_ms", "request_model", "response_model", "model", "model_override", "provider"),
        *("response_id", "prompt_tokens", "completion_tokens", "total_tokens", "costUSD"),
        *("request_user_id", "request_properties", "properties", "prompt_id", "prompt_version", "scores"),
        *("feedback_rating", "country_code", "response_status"),
    }
)
_SESSION: Final = ("Helicone-Session-Id", "helicone-session-id", "session_id", "Session-Id")
_PROMPT: Final = ("Helicone-Prompt-Id", "helicone-prompt-id")
_TITLE: Final = ("Helicone-Session-Name", "helicone-session-name")
_NO_BODY: Final = "the request has no bodies; export with --include-body: npx @helicone/export --include-body"


def is_request(value: dict[str, Any]) -> bool:
    """Whether a record is a request."""
    return "request_id" in value and not {
        "request_body",
        "request_created_at",
        "request_properties",
    }.isdisjoint(value)


def read_helicone(records: Iterable[Record], collector: Collector) -> None:
    """Read requests: those of one session are one conversation."""
    read_traces(records, collector, _call)


def _call(record: dict[str, Any], collector: Collector) -> Call:
    asked, answered = decoded(record.get("request_body")), decoded(record.get("response_body"))
    if not isinstance(asked, dict) or not asked:
        raise Unreadable(_NO_BODY)
    known = decoded(record.get("request_properties") or record.get("properties"))
    known = known if isinstance(known, dict) else {}
    session = next((known[name] for name in _SESSION if is_something(known.get(name))), None)
    prompt = next((known[name] for name in _PROMPT if is_something(known.get(name))), record.get("prompt_id"))
    collector.drop_unknown(record, _READ)
    drop_parameters(asked, collector, "request_body")
    if is_responses(asked, answered):
        history, answer = from_responses(asked, answered)
    else:
        history, answer = chat_messages(asked, "user"), chat_messages(answered, "assistant")
    scores = inside(record, "scores")
    own = {
        **{f"score.{name}": value for name, value in scores.items()},
        "feedback": record.get("feedback_rating"),
        "country": record.get("country_code"),
        "userId": record.get("request_user_id"),
        "sessionId": session,
        "promptName": prompt,
        "promptVersion": record.get("prompt_version"),
        "provider": record.get("provider"),
    }
    models = ("response_model", "model_override", "request_model", "model")
    return Call(
        session if session is not None else record.get("request_id"),
        history,
        answer,
        collector.time(record.get("response_created_at"), "response_created_at"),
        next((record[name] for name in models if is_something(record.get(name))), asked.get("model")),
        collector.tokens(record.get("completion_tokens"), "completion_tokens"),
        {**known, **{name: value for name, value in own.items() if is_something(value)}},
        started=collector.time(record.get("request_created_at"), "request_created_at"),
        trace=record.get("request_id"),
        title=next((known[name] for name in _TITLE if is_something(known.get(name))), None),
        input_tokens=collector.tokens(record.get("prompt_tokens"), "prompt_tokens"),
        # "cost" may be in units of its own, which are no dollars.
        cost=amount(record.get("costUSD")),
        latency_ms=amount(record.get("delay_ms")),
        prompt_name=prompt,
        prompt_version=record.get("prompt_version"),
    )
