"""LangSmith: runs of an export, as JSON Lines or as the Parquet of a bulk export, and examples of data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.fields import CallFields, known_only
from promptlift.transcripts.wrapped import decoded, first, inside

if TYPE_CHECKING:
    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sessions import Call, Step

__all__ = ["call_of", "is_example"]

_KNOWN: Final = "extra.metadata"
_COUNTS: Final = tuple(f"{place}usage_metadata." for place in ("", "outputs.", f"{_KNOWN}."))
_THREAD: Final = ("thread_id", "session_id", "conversation_id")
# LangChain's metadata of a prompt from the hub.
_PROMPT: Final = ("prompt_name", "lc_hub_repo", "langfuse_prompt_name")
_VERSION: Final = ("prompt_version", "lc_hub_commit_hash")
# session_id of a run is its project, not a conversation.
_RUN: Final = CallFields(
    asked=("inputs",),
    answered=("outputs",),
    trace=("trace_id", "id"),
    session=tuple(f"{_KNOWN}.{name}" for name in _THREAD),
    started=("start_time",),
    ended=("end_time",),
    model=(f"{_KNOWN}.ls_model_name",),
    input_tokens=("prompt_tokens", *(f"{place}input_tokens" for place in _COUNTS)),
    output_tokens=("completion_tokens", *(f"{place}output_tokens" for place in _COUNTS)),
    cost=("total_cost", *(f"{place}total_cost" for place in _COUNTS)),
    tags=("tags",),
    others=("total_tokens", "feedback_stats"),
    kind=("run_type",),
    calls=("llm",),
    tools=("tool", "retriever"),
    parent=("parent_run_id",),
    error=("error",),
    run_title=("name",),
)
_EXAMPLE: Final = CallFields(
    asked=("inputs",),
    answered=("outputs",),
    trace=("id",),
    span=(),
    ended=("created_at",),
    others=("metadata",),
)
# Metadata about the tool itself and the parameters of the call.
_OWN: Final = ("LANGSMITH_", "LANGCHAIN_", "ls_", "usage_metadata", "revision_id")
_CARRIED: Final = {"user_id": "userId", "channel": "channel", "language": "language"}


def is_example(value: dict[str, Any]) -> bool:
    """Return whether a record is an example of a data set."""
    if not {"inputs", "outputs"} <= value.keys() or not inside(value, "inputs"):
        return False
    # Files from its web pages contain only these, or also metadata as text.
    known = not {"dataset_id", "source_run_id", "split"}.isdisjoint(value)
    return known or (value.keys() <= _EXAMPLE.names and bool(inside(value, "outputs")))


def call_of(record: dict[str, Any], collector: Collector) -> Call | Step | None:
    """Read a run or an example: the model calls of one thread, or of one trace, are one conversation."""
    if "run_type" not in record:
        collector.drop_unknown(record, _EXAMPLE.names)
        return _EXAMPLE.call(record, collector, whole=True, metadata=inside(record, "metadata"))
    extra = inside(record, "extra")
    if record["run_type"] in _RUN.calls:
        collector.drop_unknown(extra, frozenset({"metadata"}), prefix="extra.")
    known = inside(extra, "metadata")
    own = known_only({"sessionId": first(known, _THREAD), "tags": decoded(record.get("tags"))})
    feedback = inside(record, "feedback_stats")
    own |= {f"score.{name}": inside(feedback, name).get("avg") for name in feedback}
    for name, value in known.items():
        if name not in _THREAD and not str(name).startswith(_OWN) and value is not None:
            own[_CARRIED.get(str(name), str(name))] = value
    return _RUN.take(
        record,
        collector,
        str(record["run_type"]),
        metadata=own,
        prompt_name=first(known, _PROMPT),
        prompt_version=first(known, _VERSION),
    )
