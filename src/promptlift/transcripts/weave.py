"""W&B Weave: calls, as the export and the API give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.collector import is_something
from promptlift.transcripts.sessions import Call, Step
from promptlift.transcripts.traces import read_traces
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import chat_messages, decoded, drop_parameters, inside, whole_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_call", "read_weave"]

_READ: Final = frozenset(
    {
        *("id", "op_name", "trace_id", "parent_id", "started_at", "ended_at", "inputs", "output", "summary"),
        *("attributes", "thread_id", "turn_id", "wb_user_id", "display_name", "exception", "project_id"),
        *("is_eval", "otel_dump", "storage_size_bytes", "total_storage_size_bytes", "expire_at"),
    }
)
# What Weave says of itself and of the library that it watches.
_OWN: Final = ("weave", "integration")
_COSTS: Final = ("prompt_tokens_total_cost", "completion_tokens_total_cost")


def is_call(value: dict[str, Any]) -> bool:
    """Whether a record is a call."""
    return {"op_name", "trace_id", "inputs"} <= value.keys()


def read_weave(records: Iterable[Record], collector: Collector) -> None:
    """Read calls: the calls of a model of one thread, or of one trace, are one conversation."""
    read_traces(records, collector, _call)


def _call(record: dict[str, Any], collector: Collector) -> Call | Step | None:
    inputs, output, summary = (decoded(record.get(name)) for name in ("inputs", "output", "summary"))
    summary = summary if isinstance(summary, dict) else {}
    trace = record.get("trace_id")
    is_model = (
        isinstance(inputs, dict)
        and "model" in inputs
        and not {"messages", "input", "contents"}.isdisjoint(inputs)
    )
    if not is_model:
        collector.drop("calls of other functions")
        if is_something(record.get("parent_id")):
            return Step(trace, failed=is_something(record.get("exception")))
        if not is_something(output):
            return None
    else:
        collector.drop_unknown(record, _READ)
        drop_parameters(inputs, collector, "inputs")
    history, answer = chat_messages(inputs, "user"), chat_messages(output, "assistant")
    if not is_model:
        history, answer = whole_run(history, answer)
    attributes = decoded(record.get("attributes"))
    attributes = attributes if isinstance(attributes, dict) else {}
    usage = inside(summary, "usage")
    sums = [one for one in usage.values() if isinstance(one, dict)] if is_model else []
    thread = record.get("thread_id") or attributes.get("thread_id") or attributes.get("session_id")
    own = {"userId": record.get("wb_user_id"), "sessionId": thread}
    return Call(
        thread if is_something(thread) else trace,
        history,
        answer,
        collector.time(record.get("ended_at"), "ended_at"),
        next(iter(usage), inputs.get("model")) if is_model and isinstance(inputs, dict) else None,
        _sum(sums, "completion_tokens", "output_tokens"),
        {
            **{name: value for name, value in attributes.items() if name not in _OWN},
            **{name: value for name, value in own.items() if is_something(value)},
        },
        started=collector.time(record.get("started_at"), "started_at"),
        trace=trace,
        span=record.get("id"),
        input_tokens=_sum(sums, "prompt_tokens", "input_tokens"),
        cost=_cost(summary),
        title=None if is_model else record.get("display_name") or _function(record.get("op_name")),
        whole=not is_model,
    )


def _function(name: Any) -> str | None:
    """Return the name of a function out of a reference to it: ``weave:///team/project/op/name:version``."""
    return name.rpartition("/")[2].partition(":")[0] or None if isinstance(name, str) else None


def _sum(sums: list[dict[str, Any]], *names: str) -> int | None:
    found = [int(amount(one[name]) or 0) for one in sums for name in names if one.get(name) is not None]
    return sum(found) if found else None


def _cost(summary: dict[str, Any]) -> float | None:
    """Return the cost, which the API adds to the summary on request."""
    weave = summary.get("weave")
    costs = weave.get("costs") if isinstance(weave, dict) else None
    found = [
        amount(one.get(name)) or 0.0
        for one in (costs.values() if isinstance(costs, dict) else ())
        for name in _COSTS
        if isinstance(one, dict) and one.get(name) is not None
    ]
    return sum(found) if found else None
