"""Records to log, from tables with one row per conversation or one row per message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.errors import FrameError
from promptlift.schema.metadata import is_metadata_column, key_of_column
from promptlift.schema.model import to_wire_time

if TYPE_CHECKING:
    from collections.abc import Sequence

Record = dict[str, Any]

_NUMBERS: Final = ("input_tokens", "output_tokens", "cost", "latency_ms", "tool_calls", "tool_errors")
_CONVERSATION_FIELDS: Final = ("status", "llm_model", "company_name", "idempotency_key", "title", *_NUMBERS)
_TIME_COLUMNS: Final = ("sent_at", "timestamp")


def records_from(frame: pd.DataFrame) -> list[Record]:
    """Make one record per conversation from a table.

    With a column ``role`` every row is a message, and rows of one ``conversation_id`` are one conversation,
    ordered by ``turn`` if present. Otherwise every row is a conversation with ``content``. The columns
    status, llm_model, company_name, idempotency_key, title, input_tokens, output_tokens, cost, latency_ms,
    tool_calls, tool_errors and ``metadata.…`` are used if present; ``source_id``, or else
    ``conversation_id``, is stored as the source's id.

    Raises
    ------
    FrameError
        Columns are missing; the message names them.
    """
    if "role" in frame.columns:
        _need(frame, ("conversation_id", "role", "content"))
        return _from_messages(frame)
    _need(frame, ("content",))
    names = [name for name in ("content", *_CONVERSATION_FIELDS) if name in frame.columns]
    records = _with_metadata(frame, _rows(frame, names))
    for column in ("conversation_id", "source_id"):
        if column in frame.columns:
            for record, source in zip(records, frame[column], strict=True):
                record["source_id"] = record.get("source_id") if pd.isna(source) else str(source)
    return records


def _need(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise FrameError(
            missing,
            [str(name) for name in frame.columns],
            hint="Pass one row per conversation with content, or one row per message with conversation_id, role and content.",
        )


def _rows(frame: pd.DataFrame, names: Sequence[str]) -> list[Record]:
    columns = [[_plain(value) for value in frame[name]] for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _with_metadata(frame: pd.DataFrame, records: list[Record]) -> list[Record]:
    """Add the columns ``metadata.…`` and ``score.…`` to the records of their rows."""
    names = [name for name in map(str, frame.columns) if is_metadata_column(name)]
    if not names:
        return records
    keys = [key_of_column(name) for name in names]
    rows = _rows(frame, names)
    for record, row in zip(records, rows, strict=True):
        values = zip(keys, row.values(), strict=True)
        record["metadata"] = {key: value for key, value in values if value is not None}
    return records


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | list | dict):
        return value
    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


def _from_messages(frame: pd.DataFrame) -> list[Record]:
    if "turn" in frame.columns:
        frame = frame.sort_values("turn", kind="stable")
    names = [name for name in ("role", "content", "model", "tokens") if name in frame.columns]
    messages = _rows(frame, names)
    for column in _TIME_COLUMNS:
        if column in frame.columns:
            for message, time in zip(messages, frame[column], strict=True):
                message["timestamp"] = _wire_time(time)
            break
    found: dict[str, Record] = {}
    extra = [name for name in _CONVERSATION_FIELDS if name in frame.columns]
    extras = _with_metadata(frame, _rows(frame, extra) if extra else [{} for _ in messages])
    for source, message, fields in zip(frame["conversation_id"], messages, extras, strict=True):
        identifier = str(source)
        record = found.setdefault(identifier, {"source_id": identifier, "messages": [], **fields})
        record["messages"].append({name: value for name, value in message.items() if value is not None})
    order = {
        str(source): place for place, source in enumerate(pd.unique(frame.sort_index()["conversation_id"]))
    }
    return sorted(found.values(), key=lambda record: order[record["source_id"]])


def _wire_time(time: Any) -> str | None:
    if pd.isna(time):
        return None
    if isinstance(time, str):
        return time
    return to_wire_time(pd.Timestamp(time))
