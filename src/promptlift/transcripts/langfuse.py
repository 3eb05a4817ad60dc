"""Langfuse: observations and traces, from a blob storage export or the API, and scores."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.collector import is_something
from promptlift.transcripts.fields import CallFields
from promptlift.transcripts.traces import read_traces
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import decoded, first, inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sessions import Call, Step
    from promptlift.transcripts.sources import Record

__all__ = ["is_langfuse", "read_langfuse", "read_langfuse_scores"]

# Key for a trace's data of its observations; no record can have this name.
_OF_TRACE: Final = "\0trace"
_TRACE: Final = ("trace_id", "traceId")
_USAGES: Final = ("usage_details", "usageDetails", "usage")
# Fields are in snake case in the export and in camel case in the API.
_CALL: Final = CallFields(
    asked=("input",),
    answered=("output",),
    trace=(*_TRACE, "id"),
    session=("session_id", "sessionId"),
    started=("start_time", "startTime", "timestamp"),
    ended=("end_time", "endTime"),
    model=("provided_model_name", "providedModelName", "model"),
    input_tokens=("inputUsage", *(f"{one}.{name}" for one in _USAGES for name in ("input", "promptTokens"))),
    output_tokens=(
        "outputUsage",
        *(f"{one}.{name}" for one in _USAGES for name in ("output", "completionTokens")),
    ),
    cost=(
        *("total_cost", "totalCost", "calculated_total_cost", "calculatedTotalCost"),
        *("cost_details.total", "costDetails.total", "usage.totalCost"),
    ),
    prompt_name=("prompt_name", "promptName"),
    prompt_version=("prompt_version", "promptVersion"),
    title=("trace_name", "traceName"),
    user=("user_id", "userId"),
    tags=("tags",),
    metadata={
        "traceName": ("trace_name", "traceName"),
        "environment": ("environment",),
        "release": ("release",),
        "version": ("version",),
    },
    others=("type", "metadata", "latency", "observations", "scores", _OF_TRACE),
    calls=("GENERATION",),
    tools=("TOOL", "RETRIEVER", "GUARDRAIL"),
    parent=("parent_observation_id", "parentObservationId"),
    status=("level",),
)
_TITLE: Final = (*_CALL.title, "name")
_RUN: Final = replace(_CALL, run_title=_TITLE, metadata={**_CALL.metadata, "traceName": _TITLE})


def is_langfuse(value: dict[str, Any]) -> bool:
    """Return whether a record is an observation, a trace, or a trace beside its observations as the web page saves it."""
    if "id" in inside(value, "trace") and isinstance(value.get("observations"), list):
        return True
    if {"type", "input", "output"} <= value.keys() and not {*_TRACE, "parentObservationId"}.isdisjoint(value):
        return True
    return {"input", "output", "timestamp"} <= value.keys() and not {
        *("observations", "projectId", "project_id", "htmlPath", "bookmarked"),
    }.isdisjoint(value)


def read_langfuse(records: Iterable[Record], collector: Collector) -> None:
    """Read observations and traces: the generations of one session, or of one trace, are one conversation."""
    read_traces(collector.expanded(records, _observations), collector, _call)


def read_langfuse_scores(records: Iterable[Record], collector: Collector) -> None:
    """Count scores, which rate conversations but contain none."""
    names: Counter[str] = Counter()
    for record in collector.sound(records):
        if isinstance(record.value, dict):
            names[str(record.value.get("name"))] += 1
    if names:
        listed = ", ".join(f"{name} ({count})" for name, count in names.items())
        collector.note(
            f"These are scores of Langfuse, {listed}: they rate conversations but contain none, so nothing is "
            "imported. Import the observations of the same export, then lift.labels.read(FILE, PROMPT) reads these as labels."
        )


def _observations(value: Any) -> Iterator[Any]:
    """Yield an observation or a trace, and the observations inside an API trace, with the trace's own data."""
    if isinstance(value, dict):
        value = {**inside(value, "trace"), **{name: one for name, one in value.items() if name != "trace"}}
    yield value
    trace = value if isinstance(value, dict) else {}
    inner = decoded(trace.get("observations"))
    known = {
        "traceId": trace.get("id"),
        "sessionId": first(trace, _CALL.session),
        "userId": first(trace, _CALL.user),
        "traceName": trace.get("name"),
        "tags": decoded(trace.get("tags")),
        _OF_TRACE: {**inside(trace, "metadata"), **_scored(trace.get("scores"))},
    }
    for observation in inner if isinstance(inner, list) else ():
        if isinstance(observation, dict):
            yield {**known, **{name: one for name, one in observation.items() if one is not None}}


def _call(record: dict[str, Any], collector: Collector) -> Call | Step | None:
    is_trace = "type" not in record and "timestamp" in record and first(record, _TRACE) is None
    kind = str(record.get("type") or ("TRACE" if is_trace else "GENERATION")).upper()
    if kind == "TRACE":
        collector.drop_unknown(record, _RUN.names)
    # If a record has an end, the duration is more precise.
    seconds = None if is_something(first(record, _CALL.ended)) else amount(record.get("latency"))
    return (_CALL if kind in _CALL.calls else _RUN).take(
        record,
        collector,
        kind,
        metadata={**inside(record, "metadata"), **_scored(record.get("scores"))},
        of_trace=record.get(_OF_TRACE, {}),
        latency_ms=None if seconds is None else seconds * 1000,
    )


def _scored(scores: Any) -> dict[str, Any]:
    """Return the ratings of an API trace, by the names of its scores."""
    scores = decoded(scores)
    return {
        f"score.{score['name']}": first(score, ("stringValue", "string_value", "value"))
        for score in (scores if isinstance(scores, list) else ())
        if isinstance(score, dict) and is_something(score.get("name"))
    }
