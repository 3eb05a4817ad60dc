"""MLflow: traces from ``Trace.to_json``, versions 2 and 3, rows of ``search_traces``, and the artifact ``traces.json``."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Unreadable
from promptlift.transcripts.collector import is_something
from promptlift.transcripts.fields import CallFields, known_only
from promptlift.transcripts.sessions import Call, Step
from promptlift.transcripts.traces import read_traces
from promptlift.transcripts.wrapped import decoded, first, inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_trace", "read_mlflow"]

_IDS: Final = ("trace_id", "request_id")
_METADATA: Final = ("trace_metadata", "request_metadata")
_MODELS: Final = (
    *("mlflow.llm.model", "mlflow.chat.model", "gen_ai.response.model", "gen_ai.request.model", "model"),
)
_READ: Final = frozenset(
    {
        *("mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.traceRequestId"),
        *("mlflow.spanLogLevel", "mlflow.chat.tokenUsage", "mlflow.llm.cost", "mlflow.message.format"),
        *("session.id", *_MODELS),
    }
)
_TRACE_READ: Final = frozenset(
    {*_IDS, *_METADATA, "info", "data", "trace", "spans", "request", "response", "tags", "assessments"}
)
_AT: Final = ("_unix_nano", "_ns", "")
# Of a span with its attributes, or of a trace without spans.
_SPAN: Final = CallFields(
    asked=("inputs", "request"),
    answered=("attributes.mlflow.spanOutputs", "outputs", "response"),
    trace=("trace",),
    session=("session", "attributes.session.id"),
    span=("span_id", "context.span_id"),
    started=tuple(f"start_time{unit}" for unit in _AT),
    ended=tuple(f"end_time{unit}" for unit in _AT),
    model=(*(f"attributes.{name}" for name in _MODELS), "inputs.model"),
    input_tokens=("usage.input_tokens",),
    output_tokens=("usage.output_tokens",),
    cost=("cost.total_cost", "cost"),
    others=(
        "attributes",
        "of_trace",
        "status",
        "status_code",
        "parent_id",
        "parent_span_id",
        "trace_id",
        "context",
    ),
    calls=("LLM", "CHAT_MODEL"),
    tools=("TOOL", "RETRIEVER"),
    parent=("parent_id", "parent_span_id"),
    status=("status.code", "status_code"),
)


def is_trace(value: dict[str, Any]) -> bool:
    """Return whether a record is a trace."""
    value = inside(value, "trace") or value
    if inside(value, "info") and "spans" in inside(value, "data"):
        return True
    spans = decoded(value.get("spans"))
    if isinstance(spans, list) and spans and "mlflow.traceRequestId" in inside(spans[0], "attributes"):
        return True
    return "spans" in value and not {*_METADATA, "execution_duration", "execution_time_ms"}.isdisjoint(value)


def read_mlflow(records: Iterable[Record], collector: Collector) -> None:
    """Read traces: the model calls of one session, or of one trace, are one conversation."""
    read_traces(collector.expanded(records, partial(_spans_of, collector=collector)), collector, _call)


def _spans_of(value: Any, collector: Collector) -> Iterator[dict[str, Any]]:
    """Yield the spans of a trace, each with the facts of the trace; a trace without spans by itself."""
    if not isinstance(value, dict):
        raise Unreadable("the trace is not an object")
    # A row of search_traces has the trace as JSON in addition to its columns, of which CSV keeps only texts.
    trace = inside(value, "trace") or value
    data = inside(trace, "data") or trace
    spans = decoded(data.get("spans"))
    spans = [decoded(span) for span in spans] if isinstance(spans, list) else []
    spans = [_with_attributes(span) for span in spans if isinstance(span, dict)]
    info = inside(trace, "info")
    collector.drop_unknown(trace, _TRACE_READ)
    collector.drop_unknown(info, _TRACE_READ, prefix="info.")
    facts = _facts(info or trace, spans)
    for span in spans:
        yield {**span, "of_trace": facts}
    if not spans and is_something(data.get("response")):
        # Both are JSON, of a text too.
        said = {name: _value(data.get(name)) for name in ("request", "response")}
        yield {**said, "of_trace": facts}


def _with_attributes(span: dict[str, Any]) -> dict[str, Any]:
    """Return a span with its attributes decoded, which are JSON even if they are texts, and those with dots in their names by name."""
    found = {name: _value(value) for name, value in inside(span, "attributes").items()}
    return {
        **span,
        "attributes": found,
        "inputs": found.get("mlflow.spanInputs", span.get("inputs")),
        "usage": found.get("mlflow.chat.tokenUsage"),
        "cost": found.get("mlflow.llm.cost"),
    }


def _value(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return value


def _facts(info: dict[str, Any], spans: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a trace says of all its spans: the fields of their calls, and their metadata under ``of_trace``."""
    known, tags = inside({"of": first(info, _METADATA)}, "of"), inside(info, "tags")
    named = (span["attributes"].get("mlflow.traceRequestId") for span in spans)
    parents = ("parent_id", "parent_span_id")
    roots = (span.get("name") for span in spans if not any(is_something(span.get(one)) for one in parents))
    prompts = decoded(tags.get("mlflow.linkedPrompts"))
    linked = prompts[0] if isinstance(prompts, list) and prompts and isinstance(prompts[0], dict) else {}
    name, version = linked.get("name"), linked.get("version")
    own = {one: value for one, value in {**known, **tags}.items() if not str(one).startswith("mlflow.")}
    session = known.get("mlflow.trace.session")
    about = {"userId": known.get("mlflow.trace.user"), "sessionId": session}
    about |= {"promptName": name, "promptVersion": version, **_assessed(info.get("assessments"))}
    return {
        "trace": next(named, None) if first(info, _IDS) is None else first(info, _IDS),
        "session": session,
        "title": tags.get("mlflow.traceName") or next(roots, None),
        "prompt_name": name,
        "prompt_version": version,
        "of_trace": known_only({**own, **about}),
    }


def _call(span: dict[str, Any], collector: Collector) -> Call | Step | None:
    facts = span["of_trace"]
    attributes = inside(span, "attributes")
    kind = str(attributes.get("mlflow.spanType") or span.get("span_type"))
    if kind in _SPAN.calls:
        collector.drop_unknown(attributes, _READ, prefix="attributes.")
    span = {**span, **{name: facts[name] for name in ("trace", "session")}}
    more = {name: facts[name] for name in ("title", "prompt_name", "prompt_version", "of_trace")}
    found = (
        _SPAN.call(span, collector, whole=True, **more)
        if "response" in span
        else _SPAN.take(span, collector, kind, **more)
    )
    if isinstance(found, Call):
        found.metadata = {}
    return found


def _assessed(assessments: Any) -> dict[str, Any]:
    """Return people's and judges' assessments of a trace, by name."""
    found = {}
    assessments = decoded(assessments)
    for one in assessments if isinstance(assessments, list) else ():
        if isinstance(one, dict) and is_something(one.get("assessment_name")):
            said = inside(one, "feedback") or inside(one, "expectation")
            found[f"score.{one['assessment_name']}"] = said.get("value")
    return found
