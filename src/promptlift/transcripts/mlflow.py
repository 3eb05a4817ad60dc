"""MLflow: traces from ``Trace.to_json``, versions 2 and 3, rows of ``search_traces``, and the artifact ``traces.json``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Unreadable
from promptlift.transcripts.collector import is_something
from promptlift.transcripts.sessions import Call, Step
from promptlift.transcripts.traces import read_traces
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import chat_messages, decoded, drop_parameters, first, inside, whole_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_trace", "read_mlflow"]

_IDS: Final = ("trace_id", "request_id")
_METADATA: Final = ("trace_metadata", "request_metadata")
_CALLS: Final = ("LLM", "CHAT_MODEL")
_TOOLS: Final = ("TOOL", "RETRIEVER")
_PROMPTS: Final = "mlflow.linkedPrompts"
_MODELS: Final = (
    "mlflow.llm.model",
    "mlflow.chat.model",
    "gen_ai.response.model",
    "gen_ai.request.model",
    "model",
)
_READ: Final = frozenset(
    {
        *("mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.traceRequestId"),
        *("mlflow.spanLogLevel", "mlflow.chat.tokenUsage", "mlflow.llm.cost", "mlflow.message.format"),
        "session.id",
        *_MODELS,
    }
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
    read_traces(collector.expanded(records, _spans_of), collector, _call)


def _spans_of(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the spans of a trace, each with the trace; a trace without spans by itself."""
    if not isinstance(value, dict):
        raise Unreadable("the trace is not an object")
    # A row of search_traces has the trace as JSON in addition to its columns, of which CSV keeps only texts.
    trace_of = inside(value, "trace") or value
    data = inside(trace_of, "data") or trace_of
    spans = decoded(data.get("spans"))
    trace = _Trace(inside(trace_of, "info") or trace_of, spans)
    for span in spans if isinstance(spans, list) else ():
        yield {"trace": trace, "span": decoded(span)}
    if not spans and is_something(data.get("response")):
        yield {"trace": trace, "data": data}


def _call(known: dict[str, Any], collector: Collector) -> Call | Step | None:
    trace: _Trace = known["trace"]
    if "span" in known:
        return trace.call(known["span"], collector)
    asked, answered = known["data"].get("request"), known["data"]["response"]
    history, answer = whole_run(chat_messages(asked, "user"), chat_messages(answered, "assistant"))
    return trace.of(history, answer, {}, whole=True)


class _Trace:
    """Data of a trace common to all its spans."""

    def __init__(self, info: dict[str, Any], spans: Any) -> None:
        known: Any = decoded(first(info, _METADATA))
        tags = decoded(info.get("tags"))
        self._known = known if isinstance(known, dict) else {}
        tags = tags if isinstance(tags, dict) else {}
        self.id = first(info, _IDS)
        if self.id is None:
            named = (inside(span, "attributes").get("mlflow.traceRequestId") for span in _spans(spans))
            self.id = _value(next(named, None))
        self.session = self._known.get("mlflow.trace.session")
        roots = (span.get("name") for span in _spans(spans) if _is_root(span))
        self.name = tags.get("mlflow.traceName") or next(roots, None)
        prompts = decoded(tags.get(_PROMPTS))
        linked = prompts[0] if isinstance(prompts, list) and prompts and isinstance(prompts[0], dict) else {}
        self.prompt, self.version = linked.get("name"), linked.get("version")
        self.metadata = {
            **{
                name: value
                for name, value in {**self._known, **tags}.items()
                if not str(name).startswith("mlflow.")
            },
            "userId": self._known.get("mlflow.trace.user"),
            "sessionId": self.session,
            "promptName": self.prompt,
            "promptVersion": self.version,
            **_assessed(info.get("assessments")),
        }
        self.metadata = {name: value for name, value in self.metadata.items() if is_something(value)}

    def call(self, span: Any, collector: Collector) -> Call | Step | None:
        """Read a span."""
        if not isinstance(span, dict):
            return None
        attributes = {name: _value(value) for name, value in inside(span, "attributes").items()}
        kind = str(attributes.get("mlflow.spanType") or span.get("span_type"))
        if kind in _TOOLS:
            collector.drop(f"spans of type {kind}")
            code = inside(span, "status").get("code") or span.get("status_code")
            return Step(self.id, failed=str(code).endswith("ERROR"))
        if kind not in _CALLS:
            collector.drop(f"spans of type {kind}")
            if not _is_root(span):
                return None
        asked = attributes.get("mlflow.spanInputs", span.get("inputs"))
        answered = attributes.get("mlflow.spanOutputs", span.get("outputs"))
        history, answer = chat_messages(asked, "user"), chat_messages(answered, "assistant")
        if kind not in _CALLS:
            if not answer:
                return None
            history, answer = whole_run(history, answer)
        else:
            collector.drop_unknown(attributes, _READ, prefix="attributes.")
            drop_parameters(decoded(asked), collector, "inputs")
        times = {
            "started": _time(span, collector, "start_time"),
            "ended": _time(span, collector, "end_time"),
        }
        model = first(attributes, _MODELS)
        if model is None and isinstance(asked, dict):
            model = asked.get("model")
        known = {**attributes, **times, "model": model, "span": _span_id(span)}
        return self.of(history, answer, known, whole=kind not in _CALLS)

    def of(self, history: list[Any], answer: list[Any], known: dict[str, Any], *, whole: bool) -> Call:
        """Return a call of the trace."""
        usage = known.get("mlflow.chat.tokenUsage")
        usage = usage if isinstance(usage, dict) else {}
        cost = known.get("mlflow.llm.cost")
        session = self.session if is_something(self.session) else known.get("session.id")
        return Call(
            session if is_something(session) else self.id,
            history,
            answer,
            known.get("ended"),
            known.get("model"),
            _count(usage.get("output_tokens")),
            of_trace=self.metadata,
            started=known.get("started"),
            trace=self.id,
            span=known.get("span"),
            input_tokens=_count(usage.get("input_tokens")),
            cost=amount(cost.get("total_cost") if isinstance(cost, dict) else cost),
            prompt_name=self.prompt,
            prompt_version=self.version,
            title=self.name,
            whole=whole,
        )


def _spans(spans: Any) -> list[dict[str, Any]]:
    return [span for span in map(decoded, spans) if isinstance(span, dict)] if isinstance(spans, list) else []


def _is_root(span: dict[str, Any]) -> bool:
    return not is_something(span.get("parent_id")) and not is_something(span.get("parent_span_id"))


def _value(value: Any) -> Any:
    """Return an attribute, which is JSON even if it is a text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return value


def _span_id(span: dict[str, Any]) -> str | None:
    found = span.get("span_id") or inside(span, "context").get("span_id")
    return str(found) if is_something(found) else None


def _count(value: Any) -> int | None:
    number = amount(value)
    return None if number is None else int(number)


def _assessed(assessments: Any) -> dict[str, Any]:
    """Return people's and judges' assessments of a trace, by name."""
    found = {}
    assessments = decoded(assessments)
    for one in assessments if isinstance(assessments, list) else ():
        if isinstance(one, dict) and is_something(one.get("assessment_name")):
            said = inside(one, "feedback") or inside(one, "expectation")
            found[f"score.{one['assessment_name']}"] = said.get("value")
    return found


def _time(span: dict[str, Any], collector: Collector, name: str) -> datetime | None:
    return collector.time(span.get(f"{name}_unix_nano") or span.get(f"{name}_ns") or span.get(name), name)
