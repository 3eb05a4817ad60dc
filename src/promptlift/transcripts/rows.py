"""Tables with one row for each message: CSV, Parquet, or JSON objects."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import TranscriptError
from promptlift.schema.limits import MESSAGES, NAME_CHARS
from promptlift.transcripts.chat import MessageDetails, fold
from promptlift.transcripts.collector import ParsedConversation, ParsedMessage, is_something
from promptlift.transcripts.markup import plain
from promptlift.transcripts.reading import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["NEEDED", "Columns", "check_columns", "read_rows"]

# What a column may be called, in snake_case; of several in one table the first of a list is taken.
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "conversation": (
        *("conversation_id", "thread_id", "session_id", "chat_id", "dialogue_id", "dialog_id", "conv_id"),
        *("ticket_id", "call_id", "case_id", "conversation", "thread", "session", "dialogue", "dialog"),
    ),
    "role": (
        *(
            "role",
            "message_role",
            "author_role",
            "author_type",
            "sender_type",
            "sender_role",
            "speaker",
            "sender",
        ),
        *("author", "from"),
    ),
    "text": (
        *("content", "text", "message", "message_content", "message_text", "body", "utterance", "value"),
        *("plain_body", "comment_body", "comment", "message_body"),
    ),
    "time": (
        *("timestamp", "sent_at", "message_created_at", "message_timestamp", "created_at", "create_time"),
        *("datetime", "date_time", "time", "ts", "date"),
    ),
    "order": (
        *("turn", "turn_index", "turn_number", "message_index", "message_number", "index", "idx"),
        *("position", "sequence", "sequence_number", "seq", "order", "step"),
    ),
    "model": ("model", "llm_model", "model_name"),
    "tokens": ("tokens", "token_count", "num_tokens", "completion_tokens"),
    "status": ("conversation_status", "status"),
    "company": ("company_name", "company"),
    "start": ("conversation_created_at", "conversation_started_at", "started_at"),
    "userId": ("user_id",),
    "sessionId": ("session_id",),
    "channel": ("channel",),
    "language": ("language", "lang"),
    "title": ("title", "conversation_title", "subject"),
    "prompt": ("prompt_name", "prompt"),
    "prompt_version": ("prompt_version",),
    # Of tables of Intercom and Zendesk: what a row is, and whether the customer saw it.
    "part": ("part_type",),
    "public": ("public", "is_public"),
}
_HIDDEN: Final = ("false", "0", "no")
NEEDED: Final = "a role column (such as role or speaker) and a text column (such as content or message)"
# What is one for a whole conversation, or says something else.
_OF_ALL: Final = ("prompt", "prompt_version")
_LONG: Final = 1_000
_METADATA: Final = ("userId", "sessionId", "channel", "language")
_NO_CONVERSATION: Final = "No column says which conversation a row belongs to (such as conversation_id); all rows are one conversation."


class Columns:
    """The columns of a table by their meaning."""

    def __init__(self, names: Iterable[str], given: Mapping[str, str] | None = None) -> None:
        by_idea: dict[str, str] = {}
        for name in names:
            by_idea.setdefault(_snake(name), name)
        self.of: dict[str, str] = {}
        for what, candidates in _NAMES.items():
            if given and what in given:
                candidates = (_snake(given[what]),)  # noqa: PLW2901
            found = next((by_idea[name] for name in candidates if name in by_idea), None)
            if found is not None:
                self.of[what] = found

    @property
    def complete(self) -> bool:
        """Whether the table can be read as messages."""
        return "role" in self.of and "text" in self.of

    def get(self, row: dict[str, Any], what: str) -> Any:
        """Return the cell of a row, ``None`` when the table has no such column."""
        name = self.of.get(what)
        return None if name is None else row.get(name)


def check_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return the columns that the user names.

    Raises
    ------
    TranscriptError
        When nothing is called so that a column may hold.
    """
    for what in columns or {}:
        if what not in _NAMES:
            raise TranscriptError(f"No column holds {what!r}; a column may hold {', '.join(_NAMES)}")
    return dict(columns or {})


@dataclass(slots=True)
class _Row:
    """The messages of one row, and what they are sorted by."""

    turns: list[ParsedMessage]
    order: float | None


@dataclass(slots=True)
class _Thread:
    """The rows of one conversation in the order of the file."""

    line: int
    rows: list[_Row] = field(default_factory=list)
    count: int = 0
    models: Counter[str] = field(default_factory=Counter)
    fields: dict[str, Any] = field(default_factory=dict)
    others: dict[str, Any] = field(default_factory=dict)
    fault: tuple[int, str] | None = None


class _OtherColumns:
    """Columns that say nothing of a message: those with one value in each conversation are its metadata."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._varying: set[str] = set()

    def take(self, row: dict[str, Any], columns: Columns, thread: _Thread) -> None:
        """Take note of the cells of a row that are not known."""
        known = {name for what, name in columns.of.items() if what not in _OF_ALL}
        texts = [columns.of.get("prompt")]
        for name, cell in row.items():
            if name in known or not is_something(cell) or cell in ("[]", "{}"):
                continue
            self._counts[name] += 1
            plain_cell = cell if isinstance(cell, str | int | float) else str(cell)
            is_long = isinstance(plain_cell, str) and len(plain_cell) > _LONG and name not in texts
            if (
                is_long
                or isinstance(cell, dict | list)
                or thread.others.setdefault(name, plain_cell) != plain_cell
            ):
                self._varying.add(name)

    def of(self, thread: _Thread) -> dict[str, Any]:
        """Return what the columns say of a conversation."""
        return {name: cell for name, cell in thread.others.items() if name not in self._varying}

    def drop(self, collector: Collector) -> None:
        """Count the cells of columns that are of single messages."""
        for name in self._counts:
            if name in self._varying:
                collector.drop(name, self._counts[name])


def read_rows(records: Iterable[Record], collector: Collector) -> None:
    """Read rows and add one conversation for every id, in the order of their first rows."""
    threads: dict[Any, _Thread] = {}
    columns: Columns | None = None
    others = _OtherColumns()
    for line, row in collector.objects(records, "row"):
        if columns is None or not set(columns.of.values()) <= row.keys():
            columns = Columns(row, collector.columns)
            _check_given(columns, row, collector)
        thread = _take(threads, line, row, columns, collector)
        if thread is not None:
            others.take(row, columns, thread)
    others.drop(collector)
    for name, thread in threads.items():
        if thread.fault is not None:
            what = "the conversation" if name is None else f"conversation {name}"
            line, message = thread.fault
            collector.problem(line, f"{message}; {what} is left out")
        elif thread.count > MESSAGES:
            message = f"the conversation has {thread.count} messages; the limit is {MESSAGES}"
            collector.problem(thread.line, message)
        else:
            collector.add(_conversation(name, thread, columns, others.of(thread), collector))


def _check_given(columns: Columns, row: dict[str, Any], collector: Collector) -> None:
    """Note columns that the user names and that are not there."""
    missing = [name for what, name in collector.columns.items() if what not in columns.of]
    if missing:
        collector.note(
            f"There is no column {', '.join(missing)}; the columns are {', '.join(map(str, row))}."
        )


def _take(
    threads: dict[Any, _Thread], line: int, row: dict[str, Any], columns: Columns, collector: Collector
) -> _Thread | None:
    """Add a row to its conversation and return that, ``None`` when the row is left out."""
    name = columns.get(row, "conversation")
    if "conversation" in columns.of and (not is_something(name) or isinstance(name, dict | list)):
        collector.problem(line, f"the row has no {columns.of['conversation']}; it is left out")
        return None
    if "conversation" not in columns.of:
        collector.note(_NO_CONVERSATION)
    if _is_internal(row, columns):
        collector.drop("rows that the customer did not see")
        return None
    thread = threads.setdefault(None if name is None else str(name), _Thread(line))
    try:
        turns = _turns(row, columns, collector)
    except (Unreadable, RecursionError) as error:
        # Without one of its messages it would be a different conversation.
        thread.fault = thread.fault or (line, str(error))
        return None
    thread.count += len(turns)
    if thread.count <= MESSAGES:
        thread.rows.append(_Row(turns, _number(columns.get(row, "order"))))
    else:
        thread.rows.clear()  # it is over the limit: its messages are only counted
    model = columns.get(row, "model")
    if isinstance(model, str) and model:
        thread.models[model] += 1
    for what in ("status", "company", "start", "title", *_METADATA):
        cell = columns.get(row, what)
        if is_something(cell) and (what != "start" or "start" not in thread.fields):
            thread.fields[what] = cell
    return thread


def _is_internal(row: dict[str, Any], columns: Columns) -> bool:
    """Whether a row of a help desk is a note, or says only that the conversation was assigned, closed or the like."""
    part = columns.get(row, "part")
    if part is not None and ("note" in str(part) or not is_something(columns.get(row, "text"))):
        return True
    return str(columns.get(row, "public")).strip().lower() in _HIDDEN


def _turns(row: dict[str, Any], columns: Columns, collector: Collector) -> list[ParsedMessage]:
    text = columns.get(row, "text")
    if text is None:
        collector.drop(f"{columns.of.get('text', 'content')} (row without text)")
        return []
    if not isinstance(text, str | list | dict):
        text = str(text)
    if "part" in columns.of:
        text = plain(text)
    model = columns.get(row, "model")
    detail = MessageDetails(
        collector.time(columns.get(row, "time"), columns.of.get("time", "time")),
        model if isinstance(model, str) and model else None,
        collector.tokens(columns.get(row, "tokens"), columns.of.get("tokens", "tokens")),
    )
    message = {"role": columns.get(row, "role"), "content": text}
    return fold([message], collector, path="row", details={0: detail}, name=lambda _: "the row")


def _conversation(
    name: str | None, thread: _Thread, columns: Columns | None, others: dict[str, Any], collector: Collector
) -> ParsedConversation:
    fields = thread.fields
    prompt, version = (others.pop(columns.of.get(what, ""), None) if columns else None for what in _OF_ALL)
    # A column called prompt may hold its name or its text.
    is_text = isinstance(prompt, str) and (len(prompt) > NAME_CHARS or "\n" in prompt)
    return ParsedConversation(
        [turn for row in _in_order(thread.rows, collector) for turn in row.turns],
        thread.line,
        source_id=name,
        status=fields.get("status"),
        llm_model=thread.models.most_common(1)[0][0] if thread.models else None,
        company_name=fields.get("company"),
        metadata={**others, **{what: fields[what] for what in _METADATA if what in fields}},
        started_at=collector.time(fields.get("start"), "start"),
        system_prompt=prompt if is_text else None,
        prompt_name=None if is_text else prompt,
        prompt_version=version,
        title=fields.get("title"),
    )


def _in_order(rows: list[_Row], collector: Collector) -> list[_Row]:
    """Sort by turn number, else by time, else leave the order of the file."""
    orders = [row.order for row in rows]
    times = [row.turns[0].timestamp for row in rows if row.turns]
    if None not in orders and len(set(orders)) == len(orders):
        sorted_rows = sorted(rows, key=lambda row: row.order or 0)
    elif rows and None not in times and len(times) == len(rows):
        sorted_rows = sorted(rows, key=lambda row: row.turns[0].timestamp)  # type: ignore[arg-type, return-value]
    else:
        return rows
    if any(a is not b for a, b in zip(rows, sorted_rows, strict=True)):
        collector.tally("Conversations whose rows were out of order and were sorted: {}.")
    return sorted_rows


def _number(value: Any) -> float | None:
    try:
        return float(value) if is_something(value) and not isinstance(value, bool) else None
    except (TypeError, ValueError, OverflowError):
        return None


def _snake(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name).strip().lstrip("\ufeff"))
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")
