"""Tables with one row per message: CSV, Parquet, or JSON objects."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import re
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import TranscriptError
from promptlift.schema.boundary import reason
from promptlift.schema.limits import CONTENT_BYTES, MESSAGES, NAME_CHARS
from promptlift.schema.transcript import ROLES
from promptlift.transcripts.chat import fold, kind_of
from promptlift.transcripts.collector import (
    TOO_LONG,
    TOO_MANY,
    Collector,
    ParsedConversation,
    ParsedMessage,
    is_something,
)
from promptlift.transcripts.helpdesk import plain
from promptlift.transcripts.reading import ONE_CONVERSATION, TooMuchError
from promptlift.transcripts.sources import RECORD_CHARS
from promptlift.transcripts.usage import UsageSums, amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from promptlift.transcripts.sources import Record

__all__ = ["Columns", "check_columns", "read_rows"]

# Possible names of columns, in snake_case; if a table has several, the first in the list is used.
_NAMES: Final = {
    what: tuple(names.split())
    for what, names in {
        "conversation": "conversation thread session chat dialogue dialog convo conv ticket call case interaction",
        "role": (
            "role message_role author_role author_type sender_type sender_role speaker sender author from"
        ),
        "text": (
            "content text message message_content message_text body utterance value plain_body "
            "comment_body comment message_body"
        ),
        "time": (
            "timestamp sent_at message_created_at message_timestamp created_at create_time "
            "datetime date_time time ts date"
        ),
        "order": (
            "turn turn_index turn_number message_index message_number index idx position sequence "
            "sequence_number seq order step"
        ),
        "model": "model llm_model model_name",
        "tokens": "tokens token_count num_tokens completion_tokens output_tokens",
        "input_tokens": "input_tokens prompt_tokens",
        "cost": "cost total_cost cost_usd",
        "latency": "latency_ms response_time_ms duration_ms",
        "status": "conversation_status status",
        "company": "company_name company",
        "start": "conversation_created_at conversation_started_at started_at",
        "userId": "user_id",
        "sessionId": "session_id",
        "channel": "channel",
        "language": "language lang",
        "title": "title conversation_title subject",
        "prompt": "prompt_name prompt",
        "prompt_version": "prompt_version",
        # In tables of Intercom and Zendesk: the kind of a row, and whether the customer saw it.
        "part": "part_type",
        "public": "public is_public",
    }.items()
}
# What may follow the name of a conversation in that of its column: conversation_id, ticket_no, threadId, callid.
_ID: Final = re.compile(r"_?(id|ids|uuid|guid|key|no|nr|num|number|ref|ts)$")
_HIDDEN: Final = ("false", "0", "no")
# Columns with one value per conversation, or with another meaning.
_OF_ALL: Final = ("prompt", "prompt_version")
_LONG: Final = 1_000
_ALL_OF_ONE: Final = (
    f"the first {{:,}} rows are all of one conversation{{}}, which may have {MESSAGES} messages; the rest is "
    "not read. Specify the column that identifies conversations: --column conversation=NAME"
)
_METADATA: Final = ("userId", "sessionId", "channel", "language")
_USAGE: Final = ("input_tokens", "cost", "latency")
_OF_CONVERSATION: Final = ("model", "status", "company", "start", "title", *_USAGE, *_METADATA)
_GUESSED: Final = (
    "The conversations are told apart by the column {}, whose values repeat in consecutive rows. To use another: "
    "--column conversation=NAME"
)
_NO_CONVERSATION: Final = (
    "No column tells the conversations apart, so all rows are one conversation. If one does, name it: "
    "--column conversation=NAME (the columns are {})"
)
# Rows to look at, and their characters, in order to guess the column of the conversation.
_LOOKED_AT: Final = 1_000
_STORED_AT_ONCE: Final = 500
# The rows of a conversation follow the number of its first row.
_PLACE_BITS: Final = 31


class Columns:
    """The columns of a table by their meaning."""

    def __init__(self, names: Iterable[str], given: Mapping[str, str] | None = None) -> None:
        self.names = tuple(names)
        by_idea: dict[str, str] = {}
        for name in self.names:
            by_idea.setdefault(_snake(name), name)
        self.of: dict[str, str] = {}
        for what, candidates in _NAMES.items():
            by_name = by_idea
            if given and what in given:
                candidates = (_snake(given[what]),)  # noqa: PLW2901
            elif what == "conversation":
                by_name = {_ID.sub("", idea): name for idea, name in by_idea.items()}
            found = next((by_name[name] for name in candidates if name in by_name), None)
            if found is not None:
                self.of[what] = found
        # The others may apply to whole conversations.
        known = {name for what, name in self.of.items() if what not in _OF_ALL}
        self.others = tuple(name for name in self.names if name not in known)
        self.of_conversation = [(what, self.of[what]) for what in _OF_CONVERSATION if what in self.of]

    @property
    def complete(self) -> bool:
        """Whether the table can be read as messages."""
        return "role" in self.of and "text" in self.of

    def get(self, row: dict[str, Any], what: str) -> Any:
        """Return the cell of a row, ``None`` if the table has no such column."""
        name = self.of.get(what)
        return None if name is None else row.get(name)


def check_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return the columns specified by the user.

    Raises
    ------
    TranscriptError
        If there is no such meaning of a column.
    """
    for what in columns or {}:
        if what not in _NAMES:
            raise TranscriptError(f"No column holds {what!r}; a column may hold {', '.join(_NAMES)}")
    return dict(columns or {})


@dataclass(slots=True)
class _Row:
    """What one row says: its messages, their sort key, and the cells that are of the conversation; or why it is unreadable."""

    line: int
    turns: list[ParsedMessage] = field(default_factory=list)
    order: float | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    others: dict[str, Any] = field(default_factory=dict)
    fault: str | None = None


class _Table:
    """The rows of a table, sorted by conversation in a temporary database, so that it may be larger than the memory.

    Attributes
    ----------
    columns
        Columns of the row with most of them, ``None`` if there are no rows.
    """

    def __init__(self, collector: Collector, given: Mapping[str, str]) -> None:
        self.columns: Columns | None = None
        self._collector = collector
        self._given = tuple(given.items())
        # The number of the first row of each conversation.
        self._places: dict[str | None, int] = {}
        # Columns of unknown meaning that vary by message.
        self._varying: set[str] = set()
        # Consecutive rows of one conversation are stored together.
        self._key = 0
        self._run: list[bytes] = []
        self._file = sqlite3.connect("", check_same_thread=False)
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute("CREATE TABLE rows (place INTEGER PRIMARY KEY, run BLOB)")

    def close(self) -> None:
        """Delete the database."""
        self._file.close()

    def add(self, number: int, line: int, row: dict[str, Any]) -> None:
        """Add a row by its number."""
        collector = self._collector
        columns = _columns(tuple(row), self._given)
        if self.columns is None or len(columns.of) > len(self.columns.of):
            self.columns = columns
            missing = [name for what, name in self._given if what not in columns.of]
            if missing:
                collector.note(
                    f"There is no column {', '.join(missing)}; the columns are {', '.join(map(str, row))}."
                )
        if _is_internal(row, columns):
            collector.drop("rows that the customer did not see")
            return
        name = columns.get(row, "conversation")
        name = str(name) if is_something(name) and not isinstance(name, dict | list) else None
        place = self._places.setdefault(name, number)
        stored = pickle.dumps((line, row))
        if place != self._key >> _PLACE_BITS or len(self._run) == _STORED_AT_ONCE:
            self._store()
        if not self._run:
            self._key = place << _PLACE_BITS | number
        self._run.append(stored)

    def _store(self) -> None:
        if self._run:
            self._file.execute("INSERT INTO rows VALUES (?, ?)", (self._key, pickle.dumps(self._run)))
            self._run.clear()

    def check(self, number: int) -> None:
        """Stop reading if all rows so far belong to one conversation, far exceeding its limit.

        Raises
        ------
        TooMuchError
            The limit is exceeded; the message explains what to do.
        """
        if len(self._places) == 1 and number >= ONE_CONVERSATION and self.columns is not None:
            named = self.columns.of.get("conversation")
            raise TooMuchError(_ALL_OF_ONE.format(number, "" if named is None else f" by {named}"))

    def _stored(self) -> Iterator[tuple[str | None, Iterator[tuple[int, dict[str, Any]]]]]:
        """Yield the conversations in the order of their first rows, each with line and cells of its rows."""
        names = {place: name for name, place in self._places.items()}
        stored = self._file.execute("SELECT place, run FROM rows ORDER BY place")
        for place, group in itertools.groupby(stored, key=lambda one: one[0] >> _PLACE_BITS):
            rows = (row for _, run in group for row in pickle.loads(run))  # noqa: S301 - written above
            yield names[place], map(pickle.loads, rows)

    def conversations(self) -> Iterator[tuple[str | None, list[_Row]]]:
        """Yield the conversations, with no more rows than one may have; rows without a conversation become problems."""
        assert self.columns is not None  # noqa: S101 - there are rows
        for name, stored in self._stored():
            if name is None and "conversation" in self.columns.of:
                for line, _ in stored:
                    missing = f"the row has no {self.columns.of['conversation']}; it is left out"
                    self._collector.problem(line, missing)
                continue
            rows: list[_Row] = []
            count = 0
            for line, row in stored:
                rows.append(self._read(line, row))
                count += len(rows[-1].turns)
                if count > MESSAGES or len(rows) > ONE_CONVERSATION:
                    break
            yield name, rows

    def _read(self, line: int, row: dict[str, Any]) -> _Row:
        columns = _columns(tuple(row), self._given)
        found = _Row(line)
        try:
            found.turns = _turns(row, columns, self._collector)
        except Exception as error:  # noqa: BLE001 - the cells may be anything
            found.fault = reason(error)
        found.order = _number(columns.get(row, "order"))
        for what, name in columns.of_conversation:
            if is_something(row[name]):
                found.fields[what] = row[name]
        for name, cell in _others(row, columns):
            if name not in self._varying:
                found.others[name] = cell
        return found

    def finish(self) -> None:
        """Find the columns that vary by message, and the prompts that the conversations name."""
        self._store()
        columns = self.columns
        if columns is None:
            return
        if "conversation" not in columns.of:
            self._collector.note(_NO_CONVERSATION.format(", ".join(columns.names)))
        if not columns.others:
            return
        counts: Counter[str] = Counter()
        prompts: set[Any] = set()
        for _, rows in self._stored():
            firsts: dict[str, Any] = {}
            for _, row in rows:
                of_row = _columns(tuple(row), self._given)
                for name, cell in _others(row, of_row):
                    counts[name] += 1
                    long = isinstance(cell, str) and len(cell) > _LONG and name != of_row.of.get("prompt")
                    if long or isinstance(row[name], dict | list) or firsts.setdefault(name, cell) != cell:
                        self._varying.add(name)
            prompts.add(_prompt_of(firsts, columns)[1])
        of_all = columns.of.get("prompt") not in self._varying
        self._collector.expect_prompts(prompts if of_all else [None])
        for name in self._varying:
            self._collector.drop(name, counts[name])


def _others(row: dict[str, Any], columns: Columns) -> Iterator[tuple[str, Any]]:
    """Yield the non-empty cells of columns of unknown meaning."""
    for name in columns.others:
        cell = row[name]
        if is_something(cell) and cell not in ("[]", "{}"):
            yield name, cell if isinstance(cell, str | int | float) else str(cell)


def read_rows(records: Iterable[Record], collector: Collector) -> Iterator[None]:
    """Read rows and add one conversation per id, in the order of their first rows.

    Yields
    ------
    None
        Whenever conversations were added.
    """
    left_out: list[tuple[int, str]] = []
    rows = collector.objects(records, "row")
    first = list(_beginning(rows))
    given = {**_guessed([row for _, row in first], collector), **collector.columns}
    with contextlib.closing(_Table(collector, given)) as table:
        for number, (line, row) in enumerate(itertools.chain(first, rows)):
            with collector.boundary(line):
                table.add(number, line, row)
            table.check(number)
        table.finish()
        for name, of_one in table.conversations():
            fault = _fault_of(of_one)
            if fault is not None:
                what = "the conversation" if name is None else f"conversation {name}"
                left_out.append((fault[0], f"{fault[1]}; {what} is left out"))
                continue
            collector.add_parsed(
                of_one[0].line, partial(_conversation, name, of_one, table.columns, collector)
            )
            yield
    for line, message in left_out:  # after problems of rows
        collector.problem(line, message)


def _beginning(rows: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the first rows of a table, fewer if they are long."""
    size = 0
    for line, row in itertools.islice(rows, _LOOKED_AT):
        yield line, row
        size += sum(len(cell) for cell in row.values() if isinstance(cell, str))
        if size > RECORD_CHARS:
            return


def _guessed(rows: list[dict[str, Any]], collector: Collector) -> dict[str, str]:
    """Return the column that tells the conversations of the first rows apart, unless one is named so or given.

    Its values repeat in consecutive rows only, and mostly two people speak under one value. Of several such columns
    the one with the most values is taken.
    """
    if not rows:
        return {}
    columns = Columns(rows[0], collector.columns)
    if not columns.complete or "conversation" in columns.of:
        return {}
    values: dict[str, int] = {}
    names = [name for what, name in columns.of.items() if what == "userId"]
    for name in [*columns.others, *names]:
        if name in (columns.of.get(what) for what in _OF_ALL):
            continue
        blocks = [
            (value, {str(columns.get(row, "role")) for row in block})
            for value, block in itertools.groupby(rows, key=lambda row: str(row.get(name) or ""))
        ]
        different = {value for value, _ in blocks}
        answered = sum(len(roles) > 1 for _, roles in blocks)
        if "" not in different and 1 < len(different) == len(blocks) <= 2 * answered:
            values[name] = len(blocks)
    if not values:
        return {}
    found = max(values, key=lambda name: values[name])
    collector.note(_GUESSED.format(found))
    return {"conversation": found}


def _fault_of(rows: list[_Row]) -> tuple[int, str] | None:
    """Return why a conversation is left out: without one of its messages it would be a different one."""
    count = size = 0
    for row in rows:
        if row.fault is not None:
            return row.line, row.fault
        count += len(row.turns)
        size += sum(len(turn.content) for turn in row.turns)
        if count > MESSAGES or size > CONTENT_BYTES:
            return rows[0].line, TOO_MANY if count > MESSAGES else TOO_LONG
    return None


@lru_cache(maxsize=64)
def _columns(names: tuple[str, ...], given: tuple[tuple[str, str], ...]) -> Columns:
    return Columns(names, dict(given))


def _is_internal(row: dict[str, Any], columns: Columns) -> bool:
    """Return whether a help desk row is an internal note, or only an event such as an assignment or closing."""
    if columns.of.keys().isdisjoint(("part", "public")):
        return False
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
    time = collector.time(columns.get(row, "time"), columns.of.get("time", "time"))
    tokens = collector.tokens(columns.get(row, "tokens"), columns.of.get("tokens", "tokens"))
    role, model = columns.get(row, "role"), columns.get(row, "model")
    model = model if isinstance(model, str) and model else None
    kind = kind_of(role, "the row", collector.roles)
    if isinstance(text, str) and kind in ROLES:
        return [ParsedMessage(kind, text, time, model if kind == "assistant" else None, tokens)]
    message = {"role": role, "content": text, "timestamp": time, "model": model, "tokens": tokens}
    return fold([message], collector, path="row")


def _conversation(
    name: str | None, rows: list[_Row], columns: Columns | None, collector: Collector
) -> ParsedConversation:
    fields = {what: cell for row in rows for what, cell in row.fields.items()}
    start = next((row.fields["start"] for row in rows if "start" in row.fields), None)
    models = Counter(model for row in rows if isinstance(model := row.fields.get("model"), str))
    others = {name: cell for row in reversed(rows) for name, cell in row.others.items()}
    text, prompt, version = _prompt_of(others, columns)
    return ParsedConversation(
        [turn for row in _in_order(rows, collector) for turn in row.turns],
        rows[0].line,
        source_id=name,
        status=fields.get("status"),
        llm_model=models.most_common(1)[0][0] if models else None,
        company_name=fields.get("company"),
        metadata={**others, **{what: fields[what] for what in _METADATA if what in fields}},
        started_at=collector.time(start, "start"),
        system_prompt=text,
        prompt_name=prompt,
        prompt_version=version,
        title=fields.get("title"),
        usage=_usage(rows),
    )


def _usage(rows: list[_Row]) -> UsageSums:
    """Return the sums of usage; a cell that is the same in every row is that of the whole conversation."""
    usage = UsageSums()
    found = {what: [row.fields[what] for row in rows if what in row.fields] for what in _USAGE}
    for what, cells in found.items():
        once = len(cells) == len(rows) and len(set(map(str, cells))) == 1
        for cell in cells[:1] if once else cells:
            usage.add_call(**{"latency_ms" if what == "latency" else what: amount(cell)})
    return usage


def _prompt_of(others: dict[str, Any], columns: Columns | None) -> tuple[str | None, Any, Any]:
    """Extract the text of the prompt, its name and its version from the columns of a conversation."""
    prompt, version = (others.pop(columns.of.get(what, ""), None) if columns else None for what in _OF_ALL)
    # A column named prompt may contain its name or its text.
    is_text = isinstance(prompt, str) and (len(prompt) > NAME_CHARS or "\n" in prompt)
    return (prompt, None, version) if is_text else (None, prompt, version)


def _in_order(rows: list[_Row], collector: Collector) -> list[_Row]:
    """Sort by turn number, or else by time, or else keep the order of the file."""
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
