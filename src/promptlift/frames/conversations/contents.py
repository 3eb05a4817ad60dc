"""The content of conversations: messages as rows, and the time of the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from promptlift.errors import TranscriptError
from promptlift.schema.model import from_wire_time, to_wire_time
from promptlift.schema.naming import link_of
from promptlift.schema.transcript import looks_structured, messages_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from promptlift.frames.columns import InvalidCounts

Row = dict[str, Any]


def message_values(rows: Iterable[Row], invalid: InvalidCounts) -> dict[str, list[Any]]:
    """Return the columns of the messages table as lists."""
    ids: list[Any] = []
    prompts: list[Any] = []
    turns: list[int] = []
    messages: list[Row] = []
    for row in rows:
        content = row.get("content")
        try:
            found = messages_of(content) if isinstance(content, str) else None
        except TranscriptError:
            found = None
        if found is None:
            invalid.counts["unreadable_content"] += 1
            continue
        ids += [row.get("id")] * len(found)
        prompts += [link_of(row)] * len(found)
        turns += range(len(found))
        messages += found
    values: dict[str, list[Any]] = {"conversation_id": ids, "prompt": prompts, "turn": list(turns)}
    for column, name in (("sent_at", "timestamp"), *((n, n) for n in ("role", "content", "model", "tokens"))):
        values[column] = [message.get(name) for message in messages]
    return values


def first_times(rows: Sequence[Row], known: list[Any]) -> list[Any]:
    """Fill missing start times with the earliest message time of the content."""
    return [
        start if start is not None else _first_time(row.get("content"))
        for row, start in zip(rows, known, strict=True)
    ]


def _first_time(content: Any) -> str | None:
    if not isinstance(content, str) or '"timestamp"' not in content:
        return None
    try:
        texts = [message.get("timestamp") for message in messages_of(content)]
    except TranscriptError:
        return None
    times = []
    for text in texts:
        try:
            times.append(from_wire_time(text))
        except (ValueError, OverflowError):
            continue
    times = [time for time in times if hasattr(time, "tzinfo")]
    return to_wire_time(min(times)) if times else None


def source_ids(rows: Sequence[Row], known: list[Any]) -> list[Any]:
    """Fill missing source ids with those in the metadata of the content."""
    return [
        source if source is not None else _source_id(row.get("content"))
        for row, source in zip(rows, known, strict=True)
    ]


def _source_id(content: Any) -> str | None:
    if not isinstance(content, str) or '"sourceId"' not in content or not looks_structured(content):
        return None
    try:
        source = orjson.loads(content)["metadata"]["sourceId"]
    except (orjson.JSONDecodeError, UnicodeEncodeError, KeyError, TypeError):
        return None
    return source if isinstance(source, str) else None
