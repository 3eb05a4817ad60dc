"""Tables with one row per message: CSV, Parquet, or JSON objects."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import re
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import TranscriptError
from promptlift.schema.boundary import Boundary
from promptlift.schema.limits import CONTENT_BYTES, MESSAGES, NAME_CHARS
from promptlift.transcripts.chat import MessageDetails, fold
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from promptlift.transcripts.sources import Record

__all__ = ["NEEDED", "Columns", "check_columns", "read_rows"]

# Possible names of columns, in snake_case; if a table has several, the first in the list is used.
_NAMES: Final = {
    what: tuple(names.split())
    for what, names in {
        "conversation": (
            "conversation_id thread_id session_id chat_id dialogue_id dialog_id conv_id ticket_id "
            "call_id case_id conversation thread session dialogue dialog"
        ),
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
        "tokens": "tokens token_count num_tokens completion_tokens",
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
_HIDDEN: Final = ("false", "0", "no")
NEEDED: Final = "a role column (such as role or speaker) and a text column (such as content or message)"
# Columns with one value per conversation, or with another meaning.
_OF_ALL: Final = ("prompt", "prompt_version")
_LONG: Final = 1_000
_ALL_OF_ONE: Final = (
    f"the first {{:,}} rows are all of one conversation{{}}, which may have {MESSAGES} messages; the rest is "
    "not read. Specify the column that identifies conversations: --column conversation=NAME"
)
_METADATA: Final = ("userId", "sessionId", "channel", "language")
_OF_CONVERSATION: Final = ("model", "status", "company", "start", "title", *_METADATA)
_NO_CONVERSATION: Final = (
    "No column identifies the conversation of a row (such as conversation_id); all rows are one conversation."
)


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
        # The others may apply to whole conversations.
        self.known = frozenset(name for what, name in self.of.items() if what not in _OF_ALL)

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

    def __init__(self, collector: Collector) -> None:
        self.columns: Columns | None = None
        self._collector = collector
        # The number of the first row of each conversation.
        self._places: dict[str | None, int] = {}
        # Cells of columns of unknown meaning, and the columns that vary by message.
        self._counts: Counter[str] = Counter()
        self._varying: set[str] = set()
        self._file = sqlite3.connect("", check_same_thread=False)
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute(
            "CREATE TABLE rows (place INTEGER, number INTEGER, row BLOB, PRIMARY KEY (place, number)) WITHOUT ROWID"
        )

    def close(self) -> None:
        """Delete the database."""
        self._file.close()

    def add(self, number: int, line: int, row: dict[str, Any]) -> None:
        """Add a row by its number."""
        collector = self._collector
        columns = _columns(tuple(row), tuple(collector.columns.items()))
        if self.columns is None or len(columns.of) > len(self.columns.of):
            self.columns = columns
        missing = [name for what, name in collector.columns.items() if what not in columns.of]
        if missing:
            collector.note(
                f"There is no column {', '.join(missing)}; the columns are {', '.join(map(str, row))}."
            )
        if _is_internal(row, columns):
            collector.drop("rows that the customer did not see")
            return
        name = columns.get(row, "conversation")
        name = str(name) if is_something(name) and not isinstance(name, dict | list) else None
        if name is None and "conversation" in self.columns.of:
            self._nameless(line)
            return
        place = self._places.setdefault(name, number)
        known = pickle.dumps(self._read(line, row, columns))
        self._file.execute("INSERT INTO rows VALUES (?, ?, ?)", (place, number, known))

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

    def _nameless(self, line: int) -> None:
        assert self.columns is not None  # noqa: S101
        self._collector.problem(line, f"the row has no {self.columns.of['conversation']}; it is left out")

    def _read(self, line: int, row: dict[str, Any], columns: Columns) -> _Row:
        found = _Row(line, order=_number(columns.get(row, "order")))

        def refuse(reason: str) -> None:
            found.fault = reason

        with Boundary(refuse):
            found.turns = _turns(row, columns, self._collector)
        cells = ((what, columns.get(row, what)) for what in _OF_CONVERSATION)
        found.fields = {what: cell for what, cell in cells if is_something(cell)}
        for name, cell in row.items():
            if name not in columns.known and is_something(cell) and cell not in ("[]", "{}"):
                self._counts[name] += 1
                plain_cell = cell if isinstance(cell, str | int | float) else str(cell)
                long = isinstance(plain_cell, str) and len(plain_cell) > _LONG
                if isinstance(cell, dict | list) or (long and name != columns.of.get("prompt")):
                    self._varying.add(name)
                else:
                    found.others[name] = plain_cell
        return found

    def conversations(self) -> Iterator[tuple[str | None, list[_Row]]]:
        """Yield the conversations in the order of their first rows, with no more rows than a conversation may have."""
        names = {place: name for name, place in self._places.items()}
        stored = self._file.execute("SELECT place, row FROM rows ORDER BY place, number")
        for place, group in itertools.groupby(stored, key=itemgetter(0)):
            rows: list[_Row] = []
            count = 0
            for _, row in group:
                rows.append(pickle.loads(row))  # noqa: S301 - written above
                count += len(rows[-1].turns)
                if count > MESSAGES or len(rows) > ONE_CONVERSATION:
                    break
            yield names[place], rows

    def finish(self) -> None:
        """Leave out rows without a conversation, and find the columns that vary by message."""
        if self.columns is not None and "conversation" not in self.columns.of:
            self._collector.note(_NO_CONVERSATION)
        elif None in self._places:
            place = (self._places.pop(None),)
            nameless = "SELECT row FROM rows WHERE place = ? ORDER BY number"
            for (row,) in self._file.execute(nameless, place).fetchall():
                self._nameless(pickle.loads(row).line)  # noqa: S301
            self._file.execute("DELETE FROM rows WHERE place = ?", place)
        if self._counts:
            self._survey()

    def _survey(self) -> None:
        """Find the columns that vary by message, and the prompts that the conversations name."""
        prompts: set[Any] = set()
        for _, rows in self.conversations():
            firsts: dict[str, Any] = {}
            for row in rows:
                self._varying |= {
                    name for name, cell in row.others.items() if firsts.setdefault(name, cell) != cell
                }
            if not any(row.fault for row in rows):
                prompts.add(_prompt_of(firsts, self.columns)[1])
        of_all = self.columns is None or self.columns.of.get("prompt") not in self._varying
        self._collector.expect_prompts(prompts if of_all else [None])
        for name, count in self._counts.items():
            if name in self._varying:
                self._collector.drop(name, count)

    def others_of(self, rows: list[_Row]) -> dict[str, Any]:
        """Return the cells that apply to a whole conversation."""
        return {
            name: cell
            for row in reversed(rows)
            for name, cell in row.others.items()
            if name not in self._varying
        }


def read_rows(records: Iterable[Record], collector: Collector) -> Iterator[None]:
    """Read rows and add one conversation per id, in the order of their first rows.

    Yields
    ------
    None
        Whenever conversations were added.
    """
    left_out: list[tuple[int, str]] = []
    with contextlib.closing(_Table(collector)) as table:
        for number, (line, row) in enumerate(collector.objects(records, "row")):
            with collector.boundary(line):
                table.add(number, line, row)
            table.check(number)
        table.finish()
        for name, rows in table.conversations():
            fault = _fault_of(rows)
            if fault is not None:
                what = "the conversation" if name is None else f"conversation {name}"
                left_out.append((fault[0], f"{fault[1]}; {what} is left out"))
                continue
            conversation = None
            with collector.boundary(rows[0].line):
                conversation = _conversation(name, rows, table, collector)
            if conversation is not None:
                collector.add(conversation)
                yield
    for line, message in left_out:  # after problems of rows
        collector.problem(line, message)


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
    name: str | None, rows: list[_Row], table: _Table, collector: Collector
) -> ParsedConversation:
    fields = {what: cell for row in rows for what, cell in row.fields.items()}
    start = next((row.fields["start"] for row in rows if "start" in row.fields), None)
    models = Counter(model for row in rows if isinstance(model := row.fields.get("model"), str))
    others = table.others_of(rows)
    text, prompt, version = _prompt_of(others, table.columns)
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
    )


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
