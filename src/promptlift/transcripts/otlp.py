"""OpenTelemetry: model calls (GenAI conventions), from spans and from log records with their content.

Both are read as OTLP JSON or as printed by an SDK. If instrumentations log messages instead of attaching them
to spans, the log records may be in the same file or in another file of the same import; they can also be read
alone, with less information about each call.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Boundary
from promptlift.schema.spans.model_call import is_model_call, read_call
from promptlift.schema.spans.span import (
    ERROR,
    EVENT_BODY,
    LogRecord,
    Span,
    SpanEvent,
    log_records_of,
    spans_of,
)
from promptlift.transcripts.sessions import Call, Sessions, Step
from promptlift.transcripts.times import read_time
from promptlift.transcripts.traces import add_sessions
from promptlift.transcripts.usage import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from promptlift.schema.spans.model_call import ModelCall
    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_spans", "read_otlp"]

_SpanKey = tuple[str, str]
_BATCHES: Final = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
_COSTS: Final = ("gen_ai.usage.cost", "gen_ai.usage.total_cost", "llm.cost.total", "gen_ai.cost.total")
_VERSIONS: Final = ("gen_ai.prompt.version", "prompt.version", "llm.prompt_template.version")
_EVENTS: Final = "gen_ai."
# Prefixes of attributes that are read.
_READ: Final = (
    *("gen_ai.input.", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.prompt"),
    *("gen_ai.completion", "gen_ai.usage.", "gen_ai.operation.name", "gen_ai.request.model"),
    *("gen_ai.response.model", "gen_ai.agent.", "gen_ai.conversation.id", "gen_ai.cost."),
    *("llm.input_messages", "llm.output_messages", "llm.token_count.", "llm.model_name"),
    *("llm.response.model_name", "llm.request.type", "llm.cost.", "llm.prompt_template.version"),
    *("llm.usage.", "traceloop.association.", "openinference.", "input.", "output.", "telemetry."),
    *("user.", "session."),
)
_NUMBER: Final = re.compile(r"\.\d+")
_TAGS: Final = ("tag.tags", "langfuse.trace.tags")
# Attributes that are read, or that describe the call rather than its conversation.
_KNOWN: Final = (
    "gen_ai.",
    "llm.",
    "traceloop.",
    "openinference.",
    "input.",
    "output.",
    "server.",
    "error.",
    "telemetry.",
)
_NO_CONTENT: Final = (
    "Model calls whose spans do not contain the messages: {}. Have the application capture the content of "
    "messages on "
    "spans (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only) and export again, or import the log records together "
    "with the spans."
)


def is_spans(value: dict[str, Any]) -> bool:
    """Return whether a record is a batch of spans or log records, or a single one printed by an SDK."""
    if any(isinstance(value.get(name), list) for name in _BATCHES):
        return True
    context = value.get("context")
    if isinstance(context, dict):
        return "trace_id" in context and "resource" in value and "attributes" in value
    return {"body", "trace_id", "span_id", "resource", "attributes"} <= value.keys()


def read_otlp(records: Iterable[Record], collector: Collector) -> None:
    """Read spans and log records: the calls of one conversation, session or trace are one conversation."""
    sessions, own = Sessions(), _Content()
    silent: list[tuple[int, Span]] = []
    for line, value in collector.objects(records, "record"):
        with collector.boundary(line):
            for span in own.add(value, line, partial(collector.problem, line)):
                with collector.boundary(line):
                    if not _take(span, line, sessions, collector):
                        silent.append((line, span))
        sessions.check()
    if own.others:
        collector.drop("log records of other events", own.others)
    if silent or own.logged:
        _add_with_logs(silent, own.logged, sessions, collector)
        for key in own.logged:
            if key not in own.spans:
                with collector.boundary(own.lines[key]):
                    sessions.take(_of_logs(key, own.logged[key], collector), own.lines[key])
    add_sessions(sessions, collector)


@dataclass(slots=True)
class _Content:
    """Log records by span, and which spans are model calls."""

    logged: defaultdict[_SpanKey, list[LogRecord]] = field(default_factory=lambda: defaultdict(list))
    spans: set[_SpanKey] = field(default_factory=set)
    # The first log record of each span, and the number of others.
    lines: dict[_SpanKey, int] = field(default_factory=dict)
    others: int = 0

    def add(self, value: dict[str, Any], line: int, reject: Callable[[str], object]) -> Iterator[Span]:
        """Add the content of a record, and yield its spans."""
        spans, logged = _parts(value, reject)
        for span in spans:
            with Boundary(reject):
                if is_model_call(span):
                    self.spans.add((span.trace_id, span.span_id))
                yield span
        for record in logged:
            if not record.event.name.startswith(_EVENTS):
                self.others += 1
                continue
            key = record.trace_id, record.span_id
            self.logged[key].append(record)
            self.lines.setdefault(key, line)


def _take(span: Span, line: int, sessions: Sessions, collector: Collector) -> bool:
    """Add a span to the sessions, unless it is a model call without messages."""
    if not is_model_call(span):
        tool = span.attributes.get("gen_ai.operation.name") == "execute_tool"
        collector.drop("spans that are not model calls")
        if tool or "gen_ai.tool.name" in span.attributes:
            sessions.take(Step(span.trace_id, failed=span.failed), line)
        return True
    call = read_call(span, now=0)
    if call is not None:
        sessions.take(_of_call(call, span, collector), line)
    return call is not None


def _add_with_logs(
    silent: list[tuple[int, Span]],
    logged: Mapping[_SpanKey, list[LogRecord]],
    sessions: Sessions,
    collector: Collector,
) -> None:
    """Add the calls of spans whose content was logged."""
    for line, span in silent:
        with collector.boundary(line):
            events = tuple(record.event for record in logged.get((span.trace_id, span.span_id), ()))
            if not _take(replace(span, events=(*span.events, *events)), line, sessions, collector):
                collector.drop("spans without content")
                collector.tally(_NO_CONTENT)


def _of_logs(key: _SpanKey, logged: list[LogRecord], collector: Collector) -> Call | None:
    """Return the call of log records without a span."""
    times = [record.at for record in logged if record.at]
    known = {key: value for record in logged for key, value in record.event.attributes.items()}
    known.pop(EVENT_BODY, None)
    begun, ended = min(times, default=0), max(times, default=0)
    span = Span(*key, begun, ended, known, logged[0].resource, tuple(record.event for record in logged))
    call = read_call(span, now=0)
    if call is None:
        collector.drop("log records without content")
        return None
    found = _of_call(call, span, collector)
    if begun == ended:
        found.started = None  # a single record gives the end of the call, not its start
    return found


def _parts(
    value: dict[str, Any], reject: Callable[[str], object]
) -> tuple[Iterable[Span], Iterable[LogRecord]]:
    """Return the spans and the log records of a record."""
    if "context" in value:
        return [_printed(value)], []
    if "body" in value:
        return [], _printed_log(value)
    # The same in snake case, which protobuf writes on request.
    document = value if not {"resource_spans", "resource_logs"} & value.keys() else _camel(value)
    return spans_of(document, reject), log_records_of(document, reject)


def _camel(value: Any) -> Any:
    """Return a protobuf message with names in camel case; names of attributes are values and stay unchanged."""
    if isinstance(value, list):
        return [_camel(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        head + "".join(map(str.title, others)): _camel(one)
        for name, one in value.items()
        for head, *others in [str(name).split("_")]
    }


def _printed_log(value: dict[str, Any]) -> list[LogRecord]:
    """Read a log record printed by the Python SDK."""
    attributes = value.get("attributes") or {}
    name = value.get("event_name") or attributes.get("event.name")
    if not name or not value["trace_id"] or not value["span_id"]:
        return []
    body = {} if value.get("body") is None else {EVENT_BODY: value["body"]}
    return [
        LogRecord(
            trace_id=str(value["trace_id"]).removeprefix("0x"),
            span_id=str(value["span_id"]).removeprefix("0x"),
            at=_milliseconds(value.get("timestamp") or value.get("observed_timestamp")),
            event=SpanEvent(str(name), {**attributes, **body}),
            resource=(value.get("resource") or {}).get("attributes") or {},
        )
    ]


def _printed(value: dict[str, Any]) -> Span:
    """Read a span printed by the Python SDK."""
    context = value["context"]
    events = value.get("events") or ()
    status = value.get("status") or {}
    return Span(
        trace_id=str(context["trace_id"]).removeprefix("0x"),
        span_id=str(context["span_id"]).removeprefix("0x"),
        started_at=_milliseconds(value.get("start_time")),
        ended_at=_milliseconds(value.get("end_time")),
        attributes=value.get("attributes") or {},
        resource=(value.get("resource") or {}).get("attributes") or {},
        events=tuple(SpanEvent(str(one.get("name")), one.get("attributes") or {}) for one in events),
        failed=status.get("status_code") == "ERROR" or status.get("code") == ERROR,
    )


def _milliseconds(value: Any) -> int:
    time = read_time(value)
    return 0 if time is None else int(time.timestamp() * 1000)


def _of_call(call: ModelCall, span: Span, collector: Collector) -> Call:
    attributes = span.attributes
    for name in attributes:
        if name.startswith(_KNOWN) and not name.startswith(_READ):
            collector.drop(f"attributes.{_NUMBER.sub('[]', name)}")
    known = span.known
    history = [{"role": turn.role, "content": turn.text} for turn in call.input]
    if call.system:
        history.insert(0, {"role": "system", "content": call.system})
    version = next((known[name] for name in _VERSIONS if known.get(name) is not None), None)
    named = call.prompt or next(iter(call.agents), None)
    metadata = {
        **{name: value for name, value in attributes.items() if not name.startswith(_KNOWN)},
        **call.scores,
        "userId": call.user,
        "sessionId": call.conversation,
        "tags": next((known[name] for name in _TAGS if known.get(name)), None),
        "promptName": named,
        "promptVersion": version,
        "service.name": span.resource.get("service.name"),
        "environment": span.resource.get("deployment.environment.name")
        or span.resource.get("deployment.environment"),
    }
    return Call(
        call.conversation or call.trace_id,
        history,
        [{"role": turn.role, "content": turn.text} for turn in call.output],
        read_time(call.ended_at),
        call.model,
        call.output_tokens,
        {name: value for name, value in metadata.items() if value is not None},
        started=read_time(call.started_at),
        trace=call.trace_id,
        span=call.span_id,
        input_tokens=call.input_tokens,
        cost=next((cost for name in _COSTS if (cost := amount(known.get(name))) is not None), None),
        prompt_name=named,
        prompt_version=version,
        title=span.resource.get("service.name"),
    )
