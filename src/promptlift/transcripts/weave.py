"""W&B Weave: calls, as the export and the API give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.collector import is_something
from promptlift.transcripts.fields import CallFields
from promptlift.transcripts.sessions import Call, Step
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import decoded, inside

if TYPE_CHECKING:
    from promptlift.transcripts.collector import Collector

__all__ = ["call_of", "is_call"]

_CALL: Final = CallFields(
    asked=("inputs",),
    answered=("output",),
    trace=("trace_id",),
    session=("thread_id", "attributes.thread_id", "attributes.session_id"),
    started=("started_at",),
    ended=("ended_at",),
    user=("wb_user_id",),
    others=(
        *("op_name", "parent_id", "summary", "attributes", "turn_id", "display_name", "exception"),
        *(
            "project_id",
            "is_eval",
            "otel_dump",
            "storage_size_bytes",
            "total_storage_size_bytes",
            "expire_at",
        ),
    ),
)
# What Weave says of itself and of the library that it watches.
_OWN: Final = ("weave", "integration")
_COSTS: Final = ("prompt_tokens_total_cost", "completion_tokens_total_cost")


def is_call(value: dict[str, Any]) -> bool:
    """Return whether a record is a call."""
    return {"op_name", "trace_id", "inputs"} <= value.keys()


def call_of(record: dict[str, Any], collector: Collector) -> Call | Step | None:
    """Read a call: the calls of a model of one thread, or of one trace, are one conversation."""
    inputs, summary = inside(record, "inputs"), inside(record, "summary")
    is_model = "model" in inputs and not {"messages", "input", "contents"}.isdisjoint(inputs)
    if is_model:
        _CALL.drop_others(record, collector)
    else:
        collector.drop("calls of other functions")
        if is_something(record.get("parent_id")):
            return Step(record.get("trace_id"), failed=is_something(record.get("exception")))
        if not is_something(decoded(record.get("output"))):
            return None
    usage = inside(summary, "usage") if is_model else {}
    sums = [one for one in usage.values() if isinstance(one, dict)]
    attributes = inside(record, "attributes")
    return _CALL.call(
        record,
        collector,
        whole=not is_model,
        metadata={name: value for name, value in attributes.items() if name not in _OWN},
        model=next(iter(usage), inputs.get("model")) if is_model else None,
        tokens=_sum(sums, "completion_tokens", "output_tokens"),
        input_tokens=_sum(sums, "prompt_tokens", "input_tokens"),
        cost=_cost(summary),
        title=None if is_model else record.get("display_name") or _function(record.get("op_name")),
    )


def _function(name: Any) -> str | None:
    """Return the name of a function out of a reference to it: ``weave:///team/project/op/name:version``."""
    return name.rpartition("/")[2].partition(":")[0] or None if isinstance(name, str) else None


def _sum(sums: list[dict[str, Any]], *names: str) -> int | None:
    found = [int(amount(one[name]) or 0) for one in sums for name in names if one.get(name) is not None]
    return sum(found) if found else None


def _cost(summary: dict[str, Any]) -> float | None:
    """Return the cost, which the API adds to the summary on request."""
    found = [
        amount(one.get(name)) or 0.0
        for one in inside(inside(summary, "weave"), "costs").values()
        for name in _COSTS
        if isinstance(one, dict) and one.get(name) is not None
    ]
    return sum(found) if found else None
