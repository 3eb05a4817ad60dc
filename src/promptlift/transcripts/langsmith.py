"""LangSmith: runs of an export, as JSON Lines or as the Parquet of a bulk export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.collector import is_something
from promptlift.transcripts.traces import Call, read_traces
from promptlift.transcripts.wrapped import chat_messages, decoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["read_langsmith"]

# session_id of a run is its project, not a conversation.
_READ: Final = frozenset(
    {
        "id",
        "run_type",
        "inputs",
        "outputs",
        "extra",
        "tags",
        "trace_id",
        "start_time",
        "end_time",
        "completion_tokens",
    }
)
_THREAD: Final = ("thread_id", "session_id", "conversation_id")
_CARRIED: Final = {"user_id": "userId", "channel": "channel", "language": "language"}


def read_langsmith(records: Iterable[Record], collector: Collector) -> None:
    """Read runs: the model calls of one thread, or of one trace, are one conversation."""
    read_traces(records, collector, _call)


def _call(record: dict[str, Any], collector: Collector) -> Call | None:
    kind = str(record.get("run_type"))
    if kind != "llm":
        collector.drop(f"runs of type {kind}")
        return None
    extra = decoded(record.get("extra"))
    known = extra.get("metadata") if isinstance(extra, dict) else None
    known = known if isinstance(known, dict) else {}
    thread = next((known[name] for name in _THREAD if is_something(known.get(name))), None)
    own: dict[str, Any] = {"sessionId": thread} if thread is not None else {}
    tags = decoded(record.get("tags"))
    if is_something(tags):
        own["tags"] = tags
    for name, value in known.items():
        if name not in (*_THREAD, "ls_model_name") and value is not None:
            own[_CARRIED.get(str(name), str(name))] = value
    collector.drop_unknown(record, _READ)
    if isinstance(extra, dict):
        collector.drop_unknown(extra, frozenset({"metadata"}), prefix="extra.")
    return Call(
        thread if thread is not None else record.get("trace_id") or record.get("id"),
        chat_messages(record.get("inputs"), "user"),
        chat_messages(record.get("outputs"), "assistant"),
        collector.time(record.get("end_time"), "end_time"),
        known.get("ls_model_name"),
        collector.tokens(record.get("completion_tokens"), "completion_tokens"),
        own,
    )
