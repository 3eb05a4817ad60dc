"""Inspect AI: the samples of an evaluation log, from one JSON object or an ``.eval`` file, which is a ZIP archive.

Both contain much more than the conversations, such as every event of every sample, and may be larger than the
memory. They are read sample by sample, and overlong parts of a sample are not held.
"""

from __future__ import annotations

import io
import re
import zipfile
from typing import IO, TYPE_CHECKING, Any, Final, TextIO, cast

from promptlift.errors import MissingExtra
from promptlift.schema.boundary import Boundary, Unreadable, reason
from promptlift.transcripts.chat import fold
from promptlift.transcripts.collector import ParsedConversation, is_something
from promptlift.transcripts.json_layouts import json_members
from promptlift.transcripts.sources import Record, is_zip
from promptlift.transcripts.times import read_time
from promptlift.transcripts.usage import UsageSums, amount
from promptlift.transcripts.wrapped import inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from promptlift.transcripts.collector import Collector

__all__ = ["archive_records", "begins_log", "is_archive", "is_log", "log_records", "read_inspect"]

_READ: Final = frozenset(
    {
        *("id", "epoch", "uuid", "messages", "output", "scores", "model_usage", "metadata"),
        *("attachments", "started_at", "error", "limit"),
    }
)
# The rest of a log describes how the evaluation ran, and its aggregated scores.
_LOG_READ: Final = frozenset({"version", "status", "eval", "samples", "reductions"})
_ATTACHMENT: Final = "attachment://"


def is_log(value: dict[str, Any]) -> bool:
    """Return whether a record is an evaluation log."""
    return isinstance(value.get("eval"), dict) and "task" in value["eval"] and "samples" in value


def read_inspect(records: Iterable[Record], collector: Collector) -> None:
    """Read logs: each sample of each epoch is one conversation, with the task as its prompt."""

    def samples(log: Any) -> Iterator[tuple[dict[str, Any], Any]]:
        if not isinstance(log, dict):
            raise Unreadable("the log is not an object")
        collector.drop_unknown(log, _LOG_READ)
        known, found = inside(log, "eval"), log.get("samples")
        for sample in found if isinstance(found, list) else ():
            yield known, sample

    collector.add_each(collector.expanded(records, samples), _conversation)


def _conversation(record: Record, collector: Collector) -> ParsedConversation:
    known, sample = record.value
    messages = sample.get("messages") if isinstance(sample, dict) else None
    if not isinstance(messages, list):
        raise Unreadable("the sample has no messages")
    collector.drop_unknown(sample, _READ, prefix="samples[].")
    attached, answers = inside(sample, "attachments"), _answers(sample)
    ids = [str(message.get("id")) for message in messages if isinstance(message, dict)]
    name = "/".join(
        str(one)
        for one in (known.get("eval_id") or known.get("run_id"), sample.get("id"), sample.get("epoch", 1))
        if is_something(one)
    )
    limit, error = sample.get("limit"), sample.get("error")
    return ParsedConversation(
        fold(
            [_message(message, attached, answers) for message in messages],
            collector,
            path="samples[].messages[]",
        ),
        record.line,
        # Another run of the same task has samples with the same ids.
        source_id=sample.get("uuid") or name,
        llm_model=known.get("model"),
        status="abandoned" if is_something(error) else "completed",
        metadata={
            **inside(sample, "metadata"),
            "task": known.get("task"),
            "sample": sample.get("id"),
            "epoch": sample.get("epoch"),
            "tags": known.get("tags") or None,
            "limit": limit.get("type") if isinstance(limit, dict) else limit,
            "error": error.get("message") if isinstance(error, dict) else error,
            **{
                f"score.{name}": score.get("value")
                for name, score in inside(sample, "scores").items()
                if isinstance(score, dict)
            },
        },
        started_at=collector.time(sample.get("started_at") or known.get("created"), "created"),
        title=f"{known.get('task')} {sample.get('id')}",
        prompt_name=known.get("task"),
        prompt_version=known.get("task_version") or None,
        usage=_usage(known, sample, messages, [answers[one] for one in ids if one in answers]),
    )


def _answers(sample: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the events of model calls by their answers' messages."""
    found = {}
    events = sample.get("events")
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict) and event.get("event") == "model":
            choices = inside(event, "output").get("choices")
            for choice in choices if isinstance(choices, list) else ():
                name = inside(choice, "message").get("id")
                if isinstance(name, str):
                    found[name] = event
    return found


def _usage(
    known: dict[str, Any], sample: dict[str, Any], messages: list[Any], answers: list[dict[str, Any]]
) -> UsageSums:
    usage = UsageSums()
    models = {name: one for name, one in inside(sample, "model_usage").items() if isinstance(one, dict)}
    # Other models graded the answers, or simulated the user.
    own = models.get(str(known.get("model")))
    for one in models.values() if own is None else [own]:
        usage.add_call(
            input_tokens=amount(one.get("input_tokens")),
            output_tokens=amount(one.get("output_tokens")),
            cost=amount(one.get("total_cost")),
        )
    for event in answers:
        seconds = amount(inside(event, "output").get("time"))
        usage.add_call(latency_ms=None if seconds is None else 1000 * seconds)
    results = [message for message in messages if _is_tool(message)]
    if results:
        usage.tool_errors = sum(is_something(message.get("error")) for message in results)
    return usage


def _is_tool(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "tool"


def _message(message: Any, attached: dict[str, Any], answers: dict[str, dict[str, Any]]) -> Any:
    """Return a message in the form of chat messages; a call's function is a text, and reasoning is left out."""
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    parts = [piece for part in parts for piece in _parts(part, attached)]
    error = message.get("error")
    if _is_tool(message) and isinstance(error, dict) and not any(parts):
        parts = [str(error.get("message"))]
    calls = message.get("tool_calls")
    named = [
        {"function": {"name": call.get("function"), "arguments": call.get("arguments")}}
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict)
    ]
    event, model = answers.get(str(message.get("id")), {}), message.get("model")
    return {
        "role": message.get("role"),
        "content": parts,
        "timestamp": read_time(event.get("completed") or event.get("timestamp")),
        "model": model if isinstance(model, str) else None,
        "tokens": amount(inside(inside(event, "output"), "usage").get("output_tokens")),
        **({"tool_calls": named} if named else {}),
    }


def _parts(part: Any, attached: dict[str, Any]) -> list[Any]:
    """Return the parts of a chat message for a part in the log."""
    if isinstance(part, str):
        # A long text may be stored apart from the messages.
        return [attached.get(part.removeprefix(_ATTACHMENT), part) if part.startswith(_ATTACHMENT) else part]
    if not isinstance(part, dict):
        return [] if part is None else [part]
    kind = part.get("type")
    if kind == "reasoning":
        return []
    if kind == "tool_use":  # a tool of the provider, with its result
        result = part.get("result") or part.get("error")
        return [{**part, "input": part.get("arguments")}, {"type": "tool_result", "content": result}]
    if isinstance(part.get("text"), str):
        return _parts(part["text"], attached)
    return [part]


_ZSTANDARD: Final = 93
_LOCAL_HEADER: Final = 30
_SAMPLE: Final = re.compile(r"samples/[^/]+\.json")
_CHUNKED: Final = re.compile(r"samples/[^/]+/sample\.json")
# The header of a finished log, and that of a running one.
_HEADERS: Final = ("header.json", "_journal/start.json")
_BEGINNING: Final = re.compile(r'\s*\{\s*\n\s*"version"\s*:\s*\d+,\s*"status"\s*:\s*"\w+",\s*"eval"\s*:\s*\{')
_IN_CHUNKS: Final = "samples of this log are stored in chunks ({}), a form that is not supported; import the log from which it was converted"


def is_archive(path: Path) -> bool:
    """Return whether a file is an ``.eval`` archive."""
    if not is_zip(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name in archive.namelist() for name in _HEADERS)
    except zipfile.BadZipFile:
        return False


def begins_log(head: str) -> bool:
    """Return whether a text begins like a log in one JSON object."""
    return _BEGINNING.match(head) is not None


def archive_records(path: Path) -> Iterator[Record]:
    """Read an archive as logs of one sample each, and finally its header as a log without samples."""
    with zipfile.ZipFile(path) as archive, path.open("rb") as raw:
        members = {member.filename: member for member in archive.infolist()}
        header: dict[str, Any] = {}
        for name in _HEADERS:
            if name in members and not header:
                try:
                    header = _object(_open(archive, members[name], raw))
                except Exception as error:
                    raise Unreadable(
                        f"{name} {reason(error)}; the samples are not read without it"
                    ) from error
        samples = (member for name, member in members.items() if _SAMPLE.fullmatch(name))
        number = 0
        for number, member in enumerate(samples, start=1):
            faults: list[str] = []
            with Boundary(faults.append):
                yield Record(
                    number,
                    {"eval": header.get("eval"), "samples": [_object(_open(archive, member, raw))]},
                )
            for fault in faults:
                yield Record(number, fault=f"{member.filename} {fault}")
        chunked = sum(_CHUNKED.fullmatch(name) is not None for name in members)
        if chunked:
            yield Record(number + 1, fault=_IN_CHUNKS.format(chunked))
        yield Record(number + 1, {**header, "samples": []})


def log_records(stream: TextIO) -> Iterator[Record]:
    """Read a JSON log as logs of one sample each, and finally its other content as a log without samples."""
    header: dict[str, Any] = {}
    line = 1
    for name, record in json_members(stream, listed="samples"):
        line = record.line
        if record.fault is not None:
            yield record
        elif name == "samples":
            yield Record(line, {"eval": header.get("eval"), "samples": [record.value]})
        else:
            header[name] = record.value
    yield Record(line, {**header, "samples": []})


def _object(stream: IO[bytes]) -> dict[str, Any]:
    """Return the members of an object, without those too long to be held.

    Raises
    ------
    Unreadable
        If it cannot be read, or its messages are too long.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="\n")
    found = {}
    for name, record in json_members(text):
        if record.fault is None:
            found[name] = record.value
        elif record.last or name in ("", "messages"):
            raise Unreadable(f"cannot be read: {record.fault}")
    return found


def _open(archive: zipfile.ZipFile, member: zipfile.ZipInfo, raw: IO[bytes]) -> IO[bytes]:
    """Open a decompressed member; Python before 3.14 does not support Zstandard in archives."""
    if member.compress_type != _ZSTANDARD:
        return archive.open(member)
    try:
        import pyarrow as pa  # noqa: PLC0415  reading other files needs none of it
    except ModuleNotFoundError as error:
        raise MissingExtra("Unpacking Zstandard", "parquet") from error

    raw.seek(member.header_offset)
    header = raw.read(_LOCAL_HEADER)
    name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    raw.seek(name + extra, io.SEEK_CUR)
    packed = raw.read(member.compress_size)
    return cast("IO[bytes]", pa.CompressedInputStream(pa.BufferReader(packed), "zstd"))
