"""Langfuse: observations and traces, of a blob storage export or of the API, and scores."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.collector import is_something
from promptlift.transcripts.sessions import Call, Step
from promptlift.transcripts.traces import read_traces
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import chat_messages, decoded, drop_parameters, inside, whole_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_langfuse", "read_langfuse", "read_langfuse_scores"]

# A field is written in snake case by the export and in camel case by the API.
_SESSION: Final = ("session_id", "sessionId")
_TRACE: Final = ("trace_id", "traceId")
_USER: Final = ("user_id", "userId")
_TRACE_NAME: Final = ("trace_name", "traceName")
_START: Final = ("start_time", "startTime", "timestamp")
_END: Final = ("end_time", "endTime")
_MODEL: Final = ("provided_model_name", "providedModelName", "model")
_USAGE: Final = ("usage_details", "usageDetails", "usage")
_COST: Final = ("total_cost", "totalCost", "calculated_total_cost", "calculatedTotalCost")
_COSTS: Final = ("cost_details", "costDetails")
_PROMPT: Final = ("prompt_name", "promptName")
_VERSION: Final = ("prompt_version", "promptVersion")
# What a trace says of its observations; no name that a record can have.
_OF_TRACE: Final = "\0trace"
_KEPT: Final = {"environment": ("environment",), "release": ("release",), "version": ("version",)}
_READ: Final = frozenset(
    name
    for names in (
        *(
            _SESSION,
            _TRACE,
            _USER,
            _TRACE_NAME,
            _START,
            _END,
            _MODEL,
            _USAGE,
            _COST,
            _COSTS,
            _PROMPT,
            _VERSION,
        ),
        *_KEPT.values(),
        ("input", "output", "type", "id", "metadata", "tags", "latency", "observations", "scores", _OF_TRACE),
    )
    for name in names
)
_TOOLS: Final = ("TOOL", "RETRIEVER", "GUARDRAIL")
_CALLS: Final = ("GENERATION",)


def is_langfuse(value: dict[str, Any]) -> bool:
    """Whether a record is an observation or a trace."""
    if {"type", "input", "output"} <= value.keys() and not {*_TRACE, "parentObservationId"}.isdisjoint(value):
        return True
    return {"input", "output", "timestamp"} <= value.keys() and not {
        *("observations", "projectId", "project_id", "htmlPath", "bookmarked"),
    }.isdisjoint(value)


def read_langfuse(records: Iterable[Record], collector: Collector) -> None:
    """Read observations and traces: the generations of one session, or of one trace, are one conversation."""
    read_traces(collector.expanded(records, _observations), collector, _call)


def read_langfuse_scores(records: Iterable[Record], collector: Collector) -> None:
    """Count scores; they rate conversations and hold none."""
    names: Counter[str] = Counter()
    for record in collector.sound(records):
        if isinstance(record.value, dict):
            names[str(record.value.get("name"))] += 1
    if names:
        listed = ", ".join(f"{name} ({count})" for name, count in names.items())
        collector.note(
            f"These are scores of Langfuse, {listed}: they rate conversations and hold none, so nothing is "
            "imported. Import the observations of the same export, then lift.labels(FILE, PROMPT) reads these as labels."
        )


def _observations(value: Any) -> Iterator[Any]:
    """Yield an observation or a trace, and its observations, which a trace of the API holds, with what only it says."""
    yield value
    trace = value if isinstance(value, dict) else {}
    inner = decoded(trace.get("observations"))
    known = {
        "traceId": trace.get("id"),
        "sessionId": _first(trace, *_SESSION),
        "userId": _first(trace, *_USER),
        "traceName": trace.get("name"),
        "tags": decoded(trace.get("tags")),
        _OF_TRACE: {**inside(trace, "metadata"), **_scored(trace.get("scores"))},
    }
    for observation in inner if isinstance(inner, list) else ():
        if isinstance(observation, dict):
            yield {**known, **{name: one for name, one in observation.items() if one is not None}}


def _call(record: dict[str, Any], collector: Collector) -> Call | Step | None:
    kind = str(
        record.get("type") or ("TRACE" if "type" not in record and _is_trace(record) else "GENERATION")
    ).upper()
    trace = _first(record, *_TRACE, "id")
    if kind not in _CALLS:
        collector.drop(f"records of type {kind}")
        if kind in _TOOLS:
            return Step(trace, failed=str(record.get("level")).upper() == "ERROR")
        is_root = kind == "TRACE" or not is_something(
            _first(record, "parent_observation_id", "parentObservationId")
        )
        if not is_root or not is_something(record.get("output")):
            return None
    else:
        collector.drop_unknown(record, _READ)
        drop_parameters(decoded(record.get("input")), collector, "input")
    return _of_record(record, collector, trace, whole=kind not in _CALLS)


def _of_record(record: dict[str, Any], collector: Collector, trace: Any, *, whole: bool) -> Call:
    session = _first(record, *_SESSION)
    usage = decoded(_first(record, *_USAGE))
    usage = usage if isinstance(usage, dict) else {}
    costs = decoded(_first(record, *_COSTS))
    metadata = decoded(record.get("metadata"))
    tags = decoded(record.get("tags"))
    title = _first(record, *_TRACE_NAME) or (record.get("name") if whole else None)
    latency = amount(record.get("latency"))
    own = {
        **_scored(record.get("scores")),
        "userId": _first(record, *_USER),
        "sessionId": session,
        "tags": tags,
        "promptName": _first(record, *_PROMPT),
        "promptVersion": _first(record, *_VERSION),
        "traceName": title,
        **{name: _first(record, *names) for name, names in _KEPT.items()},
    }
    history, answer = (
        chat_messages(record.get("input"), "user"),
        chat_messages(record.get("output"), "assistant"),
    )
    if whole:
        history, answer = whole_run(history, answer)
    started = collector.time(_first(record, *_START), "start_time")
    return Call(
        session if session is not None else trace,
        history,
        answer,
        collector.time(_first(record, *_END), "end_time"),
        _first(record, *_MODEL),
        collector.tokens(_first(usage, "output", "completionTokens"), "usage_details.output"),
        {
            **(metadata if isinstance(metadata, dict) else {}),
            **{name: value for name, value in own.items() if is_something(value)},
        },
        started=started,
        trace=trace,
        span=record.get("id"),
        of_trace=record.get(_OF_TRACE, {}),
        input_tokens=collector.tokens(_first(usage, "input", "promptTokens"), "usage_details.input"),
        cost=amount(_first(record, *_COST) or (costs.get("total") if isinstance(costs, dict) else None)),
        latency_ms=None if latency is None or is_something(_first(record, *_END)) else latency * 1000,
        prompt_name=own["promptName"],
        prompt_version=own["promptVersion"],
        title=title,
        whole=whole,
    )


def _scored(scores: Any) -> dict[str, Any]:
    """Return what a trace of the API was rated, by the names of its scores."""
    scores = decoded(scores)
    return {
        f"score.{score['name']}": _first(score, "stringValue", "string_value", "value")
        for score in (scores if isinstance(scores, list) else ())
        if isinstance(score, dict) and is_something(score.get("name"))
    }


def _is_trace(record: dict[str, Any]) -> bool:
    return "timestamp" in record and _first(record, *_TRACE) is None


def _first(record: dict[str, Any], *names: str) -> Any:
    return next((record[name] for name in names if is_something(record.get(name))), None)
