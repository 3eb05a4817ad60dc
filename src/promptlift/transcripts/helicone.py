"""Helicone: requests with their bodies, from its export tool or its API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Unreadable
from promptlift.transcripts.fields import CallFields, known_only
from promptlift.transcripts.responses import said_in_call
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import decoded, inside

if TYPE_CHECKING:
    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sessions import Call

__all__ = ["call_of", "is_request"]

_KNOWN: Final = ("request_properties", "properties")


def _of_known(*names: str) -> tuple[str, ...]:
    return tuple(f"{place}.{name}" for place in _KNOWN for name in names)


_SESSION: Final = _of_known("Helicone-Session-Id", "helicone-session-id", "session_id", "Session-Id")
_PROMPT: Final = (*_of_known("Helicone-Prompt-Id", "helicone-prompt-id"), "prompt_id")
_REQUEST: Final = CallFields(
    asked=("request_body",),
    answered=("response_body",),
    trace=("request_id",),
    session=_SESSION,
    span=(),
    started=("request_created_at",),
    ended=("response_created_at",),
    model=("response_model", "model_override", "request_model", "model", "request_body.model"),
    input_tokens=("prompt_tokens",),
    output_tokens=("completion_tokens",),
    # "cost" may be in other units than dollars.
    cost=("costUSD",),
    prompt_name=_PROMPT,
    prompt_version=("prompt_version",),
    title=_of_known("Helicone-Session-Name", "helicone-session-name"),
    user=("request_user_id",),
    metadata={"provider": ("provider",)},
    others=("delay_ms", "country_code", "response_id", "total_tokens", "response_status"),
)
_NO_BODY: Final = "the request has no bodies; export with --include-body: npx @helicone/export --include-body"


def is_request(value: dict[str, Any]) -> bool:
    """Return whether a record is a request."""
    of_request = {"request_body", "request_created_at", "request_properties"}
    return "request_id" in value and not of_request.isdisjoint(value)


def call_of(record: dict[str, Any], collector: Collector) -> Call:
    """Read a request: those of one session are one conversation."""
    asked, answered = decoded(record.get("request_body")), decoded(record.get("response_body"))
    if not isinstance(asked, dict) or not asked:
        raise Unreadable(_NO_BODY)
    _REQUEST.drop_others(record, collector)
    history, answer = said_in_call(asked, answered)
    known = inside(record, "request_properties") or inside(record, "properties")
    return _REQUEST.call(
        record,
        collector,
        metadata={**known, **known_only({"country": record.get("country_code")})},
        history=history,
        answer=answer,
        latency_ms=amount(record.get("delay_ms")),
    )
