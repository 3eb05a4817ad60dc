"""Inspect AI: the samples of an evaluation log in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.chat import fold
from promptlift.transcripts.collector import ParsedConversation, is_something
from promptlift.transcripts.reading import Unreadable
from promptlift.transcripts.sources import Record
from promptlift.transcripts.usage import UsageSums, amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptlift.transcripts.collector import Collector

__all__ = ["is_log", "read_inspect"]

_READ: Final = frozenset(
    {
        *(
            "id",
            "epoch",
            "messages",
            "output",
            "scores",
            "model_usage",
            "metadata",
            "total_time",
            "working_time",
        ),
        *("uuid", "started_at", "error"),
    }
)


def is_log(value: dict[str, Any]) -> bool:
    """Whether a record is an evaluation log."""
    return isinstance(value.get("eval"), dict) and "task" in value["eval"] and "samples" in value


def read_inspect(records: Iterable[Record], collector: Collector) -> None:
    """Read logs: each sample of each epoch is one conversation."""
    collector.add_each(_samples(records, collector), _conversation)


def _samples(records: Iterable[Record], collector: Collector) -> Iterator[Record]:
    for line, log in collector.objects(records, "log"):
        samples = log.get("samples")
        known = log.get("eval") if isinstance(log.get("eval"), dict) else {}
        for sample in samples if isinstance(samples, list) else ():
            yield Record(line, (known, sample))
        collector.drop_unknown(log, frozenset({"version", "status", "eval", "samples", "reductions", "etag"}))


def _conversation(record: Record, collector: Collector) -> ParsedConversation:
    known, sample = record.value
    messages = sample.get("messages") if isinstance(sample, dict) else None
    if not isinstance(messages, list):
        raise Unreadable("the sample has no messages")
    collector.drop_unknown(sample, _READ, prefix="samples[].")
    scores = sample.get("scores")
    scores = scores if isinstance(scores, dict) else {}
    values = {name: one.get("value") for name, one in scores.items() if isinstance(one, dict)}
    metadata = sample.get("metadata") if isinstance(sample.get("metadata"), dict) else {}
    usage = _usage(sample)
    failed = [message for message in messages if isinstance(message, dict) and message.get("error")]
    usage.tool_errors = len(failed) if any(_is_tool(message) for message in messages) else None
    return ParsedConversation(
        fold([_message(message) for message in messages], collector, path="samples[].messages[]"),
        record.line,
        source_id=f"{sample.get('id')}/{sample.get('epoch', 1)}",
        llm_model=known.get("model"),
        status="abandoned" if is_something(sample.get("error")) else "completed",
        metadata={
            **metadata,
            "task": known.get("task"),
            "epoch": sample.get("epoch"),
            **{f"score.{name}": value for name, value in values.items()},
        },
        started_at=collector.time(sample.get("started_at") or known.get("created"), "created"),
        title=f"{known.get('task')} {sample.get('id')}",
        usage=usage,
    )


def _usage(sample: dict[str, Any]) -> UsageSums:
    usage = UsageSums()
    models = sample.get("model_usage")
    for one in models.values() if isinstance(models, dict) else ():
        if isinstance(one, dict):
            usage.add_call(
                input_tokens=amount(one.get("input_tokens")),
                output_tokens=amount(one.get("output_tokens")),
                cost=amount(one.get("total_cost")),
            )
    return usage


def _is_tool(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "tool"


def _message(message: Any) -> Any:
    """Return a message as chat messages are; a call names its function in a text, and reasoning is not said."""
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    if isinstance(content, list):
        content = [part for part in content if not isinstance(part, dict) or part.get("type") != "reasoning"]
    error = message.get("error")
    if _is_tool(message) and isinstance(error, dict) and not is_something(content):
        content = str(error.get("message"))
    calls = message.get("tool_calls")
    named = [
        {"function": {"name": call.get("function"), "arguments": call.get("arguments")}}
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict)
    ]
    return {"role": message.get("role"), "content": content, **({"tool_calls": named} if named else {})}
