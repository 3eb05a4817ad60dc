"""Langfuse: the observations of a blob storage export, and its scores."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.collector import is_something
from promptlift.transcripts.traces import Call, read_traces
from promptlift.transcripts.wrapped import chat_messages, decoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["read_langfuse", "read_langfuse_scores"]

_READ: Final = frozenset(
    {
        *("input", "output", "type", "id", "trace_id", "session_id", "user_id", "start_time", "end_time"),
        *(
            "provided_model_name",
            "model",
            "usage_details",
            "metadata",
            "tags",
            "prompt_name",
            "prompt_version",
        ),
        *("traceId", "sessionId", "userId", "startTime", "endTime", "promptName", "promptVersion"),
        *("providedModelName", "usageDetails", "usage"),
    }
)


def read_langfuse(records: Iterable[Record], collector: Collector) -> None:
    """Read observations: the generations of one session, or of one trace, are one conversation."""
    read_traces(records, collector, _call)


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
            "imported. Import the observations of the same export instead."
        )


def _call(record: dict[str, Any], collector: Collector) -> Call | None:
    kind = str(record.get("type", "GENERATION")).upper()
    if kind != "GENERATION":
        collector.drop(f"records of type {kind}")
        return None
    session = _first(record, "session_id", "sessionId")
    user = _first(record, "user_id", "userId")
    usage = decoded(_first(record, "usage_details", "usageDetails", "usage"))
    metadata = decoded(record.get("metadata"))
    tags = decoded(record.get("tags"))
    own = {
        "userId": user,
        "sessionId": session,
        "tags": tags if is_something(tags) else None,
        "promptName": _first(record, "prompt_name", "promptName"),
        "promptVersion": _first(record, "prompt_version", "promptVersion"),
    }
    collector.drop_unknown(record, _READ)
    return Call(
        session if session is not None else _first(record, "trace_id", "traceId", "id"),
        chat_messages(record.get("input"), "user"),
        chat_messages(record.get("output"), "assistant"),
        collector.time(_first(record, "end_time", "endTime"), "end_time"),
        _first(record, "provided_model_name", "providedModelName", "model"),
        collector.tokens(usage.get("output"), "usage_details.output") if isinstance(usage, dict) else None,
        {
            **(metadata if isinstance(metadata, dict) else {}),
            **{k: v for k, v in own.items() if v is not None},
        },
    )


def _first(record: dict[str, Any], *names: str) -> Any:
    return next((record[name] for name in names if is_something(record.get(name))), None)
