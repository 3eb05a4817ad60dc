"""LangSmith: runs of an export, as JSON Lines or as the Parquet of a bulk export, and examples of data sets."""

from __future__ import annotations

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

__all__ = ["is_example", "read_langsmith"]

# session_id of a run is its project, not a conversation.
_READ: Final = frozenset(
    {
        *("id", "run_type", "inputs", "outputs", "extra", "tags", "trace_id", "start_time", "end_time"),
        *("prompt_tokens", "completion_tokens", "total_tokens", "total_cost", "usage_metadata"),
    }
)
_EXAMPLE_READ: Final = frozenset({"id", "inputs", "outputs", "metadata", "created_at"})
# What the tool says of itself and of the parameters of the call.
_OWN: Final = ("LANGSMITH_", "LANGCHAIN_", "ls_", "usage_metadata", "revision_id")
_THREAD: Final = ("thread_id", "session_id", "conversation_id")
_CARRIED: Final = {"user_id": "userId", "channel": "channel", "language": "language"}
# What LangChain says of a prompt that was pulled from the hub.
_PROMPT: Final = ("prompt_name", "lc_hub_repo", "langfuse_prompt_name")
_VERSION: Final = ("prompt_version", "lc_hub_commit_hash")


def read_langsmith(records: Iterable[Record], collector: Collector) -> None:
    """Read runs: the model calls of one thread, or of one trace, are one conversation. So is each example."""
    read_traces(records, collector, _call)


def is_example(value: dict[str, Any]) -> bool:
    """Whether a record is an example of a data set."""
    if not {"inputs", "outputs"} <= value.keys() or not inside(value, "inputs"):
        return False
    # The files that its pages give have nothing else, or the texts of metadata.
    known = not {"dataset_id", "source_run_id", "split"}.isdisjoint(value)
    return known or (value.keys() <= _EXAMPLE_READ and bool(inside(value, "outputs")))


def _call(record: dict[str, Any], collector: Collector) -> Call | Step | None:
    if "run_type" not in record:
        return _example(record, collector)
    kind = str(record.get("run_type"))
    if kind != "llm":
        collector.drop(f"runs of type {kind}")
        if kind in ("tool", "retriever"):
            return Step(record.get("trace_id"), failed=is_something(record.get("error")))
        if is_something(record.get("parent_run_id")) or not is_something(decoded(record.get("outputs"))):
            return None
    else:
        collector.drop_unknown(record, _READ)
    return _of_run(record, collector, whole=kind != "llm")


def _of_run(record: dict[str, Any], collector: Collector, *, whole: bool) -> Call:
    extra = decoded(record.get("extra"))
    known = extra.get("metadata") if isinstance(extra, dict) else None
    known = known if isinstance(known, dict) else {}
    thread = next((known[name] for name in _THREAD if is_something(known.get(name))), None)
    own: dict[str, Any] = {"sessionId": thread} if thread is not None else {}
    tags = decoded(record.get("tags"))
    if is_something(tags):
        own["tags"] = tags
    for name, value in known.items():
        if name not in _THREAD and not str(name).startswith(_OWN) and value is not None:
            own[_CARRIED.get(str(name), str(name))] = value
    if isinstance(extra, dict) and not whole:
        collector.drop_unknown(extra, frozenset({"metadata"}), prefix="extra.")
        drop_parameters(decoded(record.get("inputs")), collector, "inputs")
    usage = next((one for one in _usages(record, known) if one), {})
    history, answer = (
        chat_messages(record.get("inputs"), "user"),
        chat_messages(record.get("outputs"), "assistant"),
    )
    if whole:
        history, answer = whole_run(history, answer)
    return Call(
        thread if thread is not None else record.get("trace_id") or record.get("id"),
        history,
        answer,
        collector.time(record.get("end_time"), "end_time"),
        known.get("ls_model_name"),
        collector.tokens(_first(record, usage, "completion_tokens", "output_tokens"), "completion_tokens"),
        own,
        started=collector.time(record.get("start_time"), "start_time"),
        trace=record.get("trace_id") or record.get("id"),
        span=record.get("id"),
        input_tokens=collector.tokens(
            _first(record, usage, "prompt_tokens", "input_tokens"), "prompt_tokens"
        ),
        cost=amount(_first(record, usage, "total_cost", "total_cost")),
        prompt_name=next((known[name] for name in _PROMPT if is_something(known.get(name))), None),
        prompt_version=next((known[name] for name in _VERSION if is_something(known.get(name))), None),
        title=record.get("name") if whole else None,
        whole=whole,
    )


def _usages(record: dict[str, Any], known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield where a run may count its tokens, besides its own fields."""
    for place in (record, decoded(record.get("outputs")), known):
        yield inside(place, "usage_metadata")


def _first(record: dict[str, Any], usage: dict[str, Any], name: str, other: str) -> Any:
    return record[name] if is_something(record.get(name)) else usage.get(other)


def _example(record: dict[str, Any], collector: Collector) -> Call:
    """Read an example of a data set: its inputs, and the outputs that it expects."""
    metadata = decoded(record.get("metadata"))
    collector.drop_unknown(record, _EXAMPLE_READ)
    history, answer = whole_run(
        chat_messages(record.get("inputs"), "user"), chat_messages(record.get("outputs"), "assistant")
    )
    return Call(
        record.get("id"),
        history,
        answer,
        collector.time(record.get("created_at"), "created_at"),
        metadata=metadata if isinstance(metadata, dict) else {},
        trace=record.get("id"),
        whole=True,
    )
