"""OpenTelemetry: spans of calls of a model (GenAI conventions), in the JSON of OTLP or as an SDK prints them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.spans.model_call import is_model_call, read_call
from promptlift.schema.spans.otlp_json import spans_of
from promptlift.schema.spans.span import ERROR, Span, SpanEvent
from promptlift.transcripts.times import read_time
from promptlift.transcripts.traces import Call, Step, read_calls
from promptlift.transcripts.usage import amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_spans", "read_otlp"]

_BATCHES: Final = ("resourceSpans", "resource_spans")
_COSTS: Final = ("gen_ai.usage.cost", "gen_ai.usage.total_cost", "llm.cost.total", "gen_ai.cost.total")
_VERSIONS: Final = ("gen_ai.prompt.version", "prompt.version", "llm.prompt_template.version")
_TAGS: Final = ("tag.tags", "langfuse.trace.tags")
# What is read, or says how the call was made and not which conversation it is part of.
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
    "Calls of a model whose spans do not hold what was said: {}. Have the application capture the content of messages on "
    "spans (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only), and export again."
)


def is_spans(value: dict[str, Any]) -> bool:
    """Whether a record is a batch of spans, or a span as an SDK prints it."""
    if any(isinstance(value.get(name), list) for name in _BATCHES):
        return True
    context = value.get("context")
    return (
        isinstance(context, dict) and "trace_id" in context and "resource" in value and "attributes" in value
    )


def read_otlp(records: Iterable[Record], collector: Collector) -> None:
    """Read spans: the calls of one conversation, session or trace are one conversation."""
    read_calls(_calls(records, collector), collector)


def _calls(records: Iterable[Record], collector: Collector) -> Iterator[tuple[int, Call | Step]]:
    for line, value in collector.objects(records, "record"):
        try:
            spans = list(_spans(value))
        except (AttributeError, TypeError, ValueError, KeyError, OverflowError) as error:
            collector.problem(line, f"these are no spans in the JSON of OTLP: {error}")
            continue
        for span in spans:
            found = _call(span, collector)
            if found is not None:
                yield line, found


def _spans(value: dict[str, Any]) -> Iterator[Span]:
    if "context" in value:
        yield _printed(value)
        return
    # The same in snake case, as protobuf writes it on request.
    yield from spans_of(value if "resourceSpans" in value else json.loads(_camel(json.dumps(value))))


def _camel(text: str) -> str:
    for name in (
        *(
            "resource_spans",
            "scope_spans",
            "trace_id",
            "span_id",
            "start_time_unix_nano",
            "end_time_unix_nano",
        ),
        *(
            "string_value",
            "int_value",
            "double_value",
            "bool_value",
            "array_value",
            "kvlist_value",
            "bytes_value",
        ),
    ):
        head, *others = name.split("_")
        text = text.replace(f'"{name}":', f'"{head}{"".join(map(str.title, others))}":')
    return text


def _printed(value: dict[str, Any]) -> Span:
    """Read a span as the SDK for Python prints it."""
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


def _call(span: Span, collector: Collector) -> Call | Step | None:
    attributes = span.attributes
    if not is_model_call(span):
        tool = attributes.get("gen_ai.operation.name") == "execute_tool" or "gen_ai.tool.name" in attributes
        collector.drop("spans that are no calls of a model")
        return Step(span.trace_id, failed=span.failed) if tool else None
    call = read_call(span, now=0)
    if call is None:
        collector.drop("spans without content")
        collector.tally(_NO_CONTENT)
        return None
    known = {**span.resource, **attributes}
    history = [{"role": turn.role, "content": turn.text} for turn in call.input]
    if call.system:
        history.insert(0, {"role": "system", "content": call.system})
    version = next((known[name] for name in _VERSIONS if known.get(name) is not None), None)
    named = call.prompt or next(iter(call.agents), None)
    metadata = {
        **{name: value for name, value in attributes.items() if not name.startswith(_KNOWN)},
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
        input_tokens=call.input_tokens,
        cost=next((cost for name in _COSTS if (cost := amount(known.get(name))) is not None), None),
        prompt_name=named,
        prompt_version=version,
        title=span.resource.get("service.name"),
    )
