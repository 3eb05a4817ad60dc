"""Store the model calls of a trace request, each with its conversation."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema import limits
from promptlift.schema.boundary import Boundary
from promptlift.schema.prompts import PromptCreate
from promptlift.schema.spans.model_call import is_model_call, read_call
from promptlift.service import clock
from promptlift.service.actions import prompts as prompt_actions
from promptlift.service.errors import ApiException
from promptlift.service.identifiers import new_id
from promptlift.service.store import accounts, prompts, traced
from promptlift.service.store.rows import Rows
from promptlift.service.store.tables.conversations import TracedConversationRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from promptlift.schema.spans.messages import SpanTurn
    from promptlift.schema.spans.model_call import ModelCall
    from promptlift.schema.spans.span import Span
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database


_NO_CONTENT: Final = (
    "{} spans of model calls do not contain the messages, so they cannot be used: have the application's "
    "instrumentation capture the content of messages on spans (for OpenTelemetry's own, set "
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only)"
)


@dataclass(slots=True)
class Received:
    """The outcome of a request's spans.

    Attributes
    ----------
    rejected
        Spans that were not stored: unreadable ones, and model calls without messages.
    problem
        The reason; also a hint if nothing was rejected.
    """

    rejected: int = 0
    problem: str = ""

    def reject(self, problem: str, count: int = 1) -> None:
        """Count spans that are not stored; the first reason is reported."""
        self.rejected += count
        self.problem = self.problem or problem


@dataclass(slots=True)
class _SpanBatch:
    """The calls of one request to store."""

    caller: Caller
    now: int
    close_at: int
    received: Received
    # Prompts by the attributes of a call: their id, or the reason why there is none.
    prompts: dict[tuple[Any, ...], str | ApiException] = field(default_factory=dict)
    calls: list[dict[str, object]] = field(default_factory=list)


def receive(
    database: Database,
    caller: Caller,
    spans: Sequence[Span],
    received: Received,
    *,
    prompt: str | None,
    quiet_seconds: float,
) -> None:
    """Store the model calls among some spans; they are on disk when this returns. Other spans are ignored.

    Parameters
    ----------
    received
        Receives the spans that are not stored.
    prompt
        Id or name of the prompt for spans that do not name one; ``None`` infers it from each span.
    quiet_seconds
        How long a conversation stays open after its last call.
    """
    now = clock.now()
    calls = []
    silent = 0
    for span in spans:
        with Boundary(received.reject):
            if not is_model_call(span):
                continue
            call = read_call(span, now)
            if call is None:
                silent += 1
            else:
                calls.append((call, call.dump()))
    if calls:
        batch = _SpanBatch(caller, now, now + int(quiet_seconds * clock.SECOND), received)
        with database.write(durable=True) as connection, Rows(connection) as rows:
            # Concurrent calls of one conversation must not start it twice.
            accounts.lock(connection, caller.account_id)
            _keep(rows, batch, calls, prompt)
    if silent:
        received.reject(_NO_CONTENT.format(silent), silent)


def _keep(rows: Rows, batch: _SpanBatch, calls: Iterable[tuple[ModelCall, bytes]], named: str | None) -> None:
    connection = rows.core
    ordered = sorted(calls, key=lambda one: (one[0].started_at, one[0].ended_at))
    account_id = batch.caller.account_id
    # An exporter that gets no answer sends its spans again.
    known = traced.known_spans(connection, account_id, [_span_of(call) for call, _ in ordered])
    limit = batch.caller.limits.conversations_per_month
    if (
        limit is not None
        and accounts.used_in_period(connection, account_id, "conversations", now=batch.now) >= limit
    ):
        batch.received.reject("The plan's limit of conversations per month is reached", len(ordered))
        return
    for call, data in ordered:
        if _span_of(call) in known:
            continue
        known.add(_span_of(call))
        prompt = _prompt_of(connection, batch, call, named)
        if isinstance(prompt, ApiException):
            batch.received.reject(prompt.message)
            continue
        batch.calls.append(
            {
                "account_id": account_id,
                "traced_id": _conversation_of(rows, batch, call, prompt),
                "span_id": _span_of(call),
                "data": data,
            }
        )
    rows.flush()
    traced.add_calls(connection, batch.calls)


def _span_of(call: ModelCall) -> str:
    return call.trace_id + call.span_id


def _prompt_of(
    connection: Connection, batch: _SpanBatch, call: ModelCall, prompt: str | None
) -> str | ApiException:
    named = call.prompt or prompt
    said = (named,) if named else (call.agents, call.system, call.application)
    if said not in batch.prompts:
        try:
            batch.prompts[said] = (
                _named_prompt(connection, batch.caller, named)
                if named
                else _find_prompt(connection, batch.caller, call)
                or _new_prompt(connection, batch.caller, call)
            )
        except ApiException as problem:
            batch.prompts[said] = problem
    return batch.prompts[said]


def _named_prompt(connection: Connection, caller: Caller, named: str) -> str:
    row = prompts.find_named(connection, caller.account_id, named)
    if row is None:
        raise ApiException("NOT_FOUND", f"There is no prompt with the id or name {named!r}")
    return str(row.id)


def _find_prompt(connection: Connection, caller: Caller, call: ModelCall) -> str | None:
    """Return the prompt of a call: by the agent's name, by its text, or by the application's name."""
    names = call.agents or (call.application,)
    texts = (call.system,) if call.system else ()
    looks = [(prompts.find_named, name) for name in names], [(prompts.find_text, text) for text in texts]
    for find, what in itertools.chain(*(looks if call.agents else reversed(looks))):
        row = find(connection, caller.account_id, what)
        if row is not None:
            return str(row.id)
    return None


def _new_prompt(connection: Connection, caller: Caller, call: ModelCall) -> str:
    name = (call.agents or (call.application,))[0][: limits.NAME_CHARS]
    text = (call.system or "")[: limits.PROMPT_CONTENT_BYTES // 4]
    body = PromptCreate(
        name=name,
        content=text if text.strip() else f"(The text of {name} is not known yet.)",
        llm_model=(call.model or "unknown")[: limits.NAME_CHARS],
        content_known=bool(text.strip()),
        description="Created from the spans of an instrumented application",
    )
    return prompt_actions.add(Rows(connection), caller, body).id


def _conversation_of(rows: Rows, batch: _SpanBatch, call: ModelCall, prompt_id: str) -> str:
    """Return the open conversation of a call, and extend its quiet period."""
    account_id = batch.caller.account_id
    if call.conversation is not None:
        key, before = _hash("conversation", call.conversation), None
    else:
        # Different instructions in the same trace belong to another agent, such as a router or a summarizer.
        key, before = _hash("trace", call.trace_id, call.system or ""), _until_answer(call.input)
    row = traced.find(rows, account_id, prompt_id, key=key, tail=before)
    if row is None:
        row = TracedConversationRow(
            id=new_id("trc"),
            account_id=account_id,
            prompt_id=prompt_id,
            key=key,
            source_id=call.conversation,
        )
        rows.add(row)
    row.tail = _until_answer((*call.input, *call.output))
    row.close_at, row.changed_at = batch.close_at, batch.now
    return row.id


def _until_answer(turns: Sequence[SpanTurn]) -> str | None:
    """Return a hash of the turns up to the last answer; ``None`` if there is none."""
    last = max((at for at, turn in enumerate(turns, start=1) if turn.role == "assistant"), default=0)
    return _hash(*(part for turn in turns[:last] for part in turn)) if last else None


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
