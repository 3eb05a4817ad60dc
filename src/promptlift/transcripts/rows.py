"""Tables with one row per message: CSV, Parquet, or JSON objects."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import TranscriptError
from promptlift.schema.boundary import Boundary
from promptlift.schema.limits import CONTENT_BYTES, KB, MESSAGES, NAME_CHARS
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
    from collections.abc import Callable, Iterable, Iterator, Mapping

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
# Maximum characters of conversations waiting for an earlier one, and of all held conversations.
_WAITING_CHARS: Final = 16 * 1024 * KB
_HELD_CHARS: Final = 1024 * 1024 * KB
_TOO_MIXED: Final = (
    f"the rows of more than {_HELD_CHARS // KB // 1024 // 1024} GB of conversations are mixed, and the rest is not read. Sort the "
    "table by conversation, or split it into files of whole conversations, and import it again"
)
_ALL_OF_ONE: Final = (
    f"the first {{:,}} rows are all of one conversation{{}}, which may have {MESSAGES} messages; the rest is "
    "not read. Specify the column that identifies conversations: --column conversation=NAME"
)
_METADATA: Final = ("userId", "sessionId", "channel", "language")
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

    def conversation_of(self, row: dict[str, Any]) -> str | None:
        """Return the name of a row's conversation."""
        name = self.get(row, "conversation")
        return None if name is None else str(name)


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
    """The messages of one row, and their sort key."""

    turns: list[ParsedMessage]
    order: float | None


@dataclass(slots=True)
class _Thread:
    """The rows of one conversation in the order of the file.

    Attributes
    ----------
    size
        Characters of its messages.
    is_whole
        Whether all of its rows have been read.
    """

    line: int
    rows: list[_Row] = field(default_factory=list)
    count: int = 0
    size: int = 0
    is_whole: bool = False
    models: Counter[str] = field(default_factory=Counter)
    fields: dict[str, Any] = field(default_factory=dict)
    others: dict[str, Any] = field(default_factory=dict)
    fault: tuple[int, str] | None = None

    def add(self, row: _Row) -> None:
        """Add a row, unless the conversation exceeds the limit: then none of it is held any longer."""
        self.rows.append(row)
        self.count += len(row.turns)
        self.size += sum(len(turn.content) for turn in row.turns)
        if self.count > MESSAGES or self.size > CONTENT_BYTES:
            self.refuse(self.line, TOO_MANY if self.count > MESSAGES else TOO_LONG)

    def refuse(self, line: int, reason: str) -> None:
        """Leave the conversation out."""
        self.fault = line, reason
        self.rows.clear()
        self.size = 0


class _OtherColumns:
    """Columns that do not describe messages: those with one value per conversation are its metadata."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._varying: set[str] = set()

    def take(self, row: dict[str, Any], columns: Columns, thread: _Thread) -> None:
        """Record the unknown cells of a row."""
        for name, cell in _unknown_cells(row, columns):
            self._counts[name] += 1
            if name not in self._varying and not self._fits(name, cell, columns, thread):
                self._varying.add(name)

    def again(self, row: dict[str, Any], columns: Columns, thread: _Thread) -> None:
        """Store the cells of a row on the second reading of a table."""
        for name, cell in _unknown_cells(row, columns):
            if name not in self._varying:
                self._fits(name, cell, columns, thread)

    @staticmethod
    def _fits(name: str, cell: Any, columns: Columns, thread: _Thread) -> bool:
        """Return whether a cell may apply to the whole conversation; the first value is stored."""
        plain_cell = cell if isinstance(cell, str | int | float) else str(cell)
        if isinstance(plain_cell, str) and len(plain_cell) > _LONG and name != columns.of.get("prompt"):
            return False
        return not isinstance(cell, dict | list) and thread.others.setdefault(name, plain_cell) == plain_cell

    def of(self, thread: _Thread) -> dict[str, Any]:
        """Return the values of the columns for a conversation."""
        return {name: cell for name, cell in thread.others.items() if name not in self._varying}

    def varies(self, name: str | None) -> bool:
        """Return whether a column has several values in a conversation."""
        return name in self._varying

    def drop(self, collector: Collector) -> None:
        """Count the cells of columns that vary by message."""
        for name in self._counts:
            if name in self._varying:
                collector.drop(name, self._counts[name])


def _unknown_cells(row: dict[str, Any], columns: Columns) -> Iterator[tuple[str, Any]]:
    """Yield the non-empty cells in columns of unknown meaning, and in those of the prompt."""
    for name, cell in row.items():
        if name not in columns.known and is_something(cell) and cell not in ("[]", "{}"):
            yield name, cell


class _Survey:
    """Facts about a whole table that are needed before writing one of its conversations.

    Attributes
    ----------
    columns
        Columns of the row with most of them, ``None`` if there are no rows.
    others
        The columns of unknown meaning.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        # The number of the last row of each conversation, by the hash of its name: if two names collide, the
        # conversation that ends first is merely held until the other one ends.
        self._last: dict[int, int] = {}
        self.columns: Columns | None = None
        self.others = _OtherColumns()

    def take(self, number: int, row: dict[str, Any]) -> Columns:
        """Record a row by its number, and return its columns."""
        columns = _columns_of(row, self._given)
        if self.columns is None or len(columns.of) > len(self.columns.of):
            self.columns = columns
        self._last[hash(columns.conversation_of(row))] = number
        return columns

    def check(self, number: int) -> None:
        """Stop reading if all rows so far belong to one conversation, far exceeding its limit.

        Raises
        ------
        TooMuchError
            The limit is exceeded; the message explains what to do.
        """
        if len(self._last) == 1 and number >= ONE_CONVERSATION:
            named = None if self.columns is None else self.columns.of.get("conversation")
            how = "" if named is None else f" by {named}"
            raise TooMuchError(_ALL_OF_ONE.format(number, how))

    def is_last(self, number: int, name: str | None) -> bool:
        """Return whether this is the last row of its conversation."""
        return number >= self._last.get(hash(name), number)


def read_rows(read: Callable[[], Iterable[Record]], collector: Collector) -> Iterator[None]:
    """Read rows and add one conversation per id, in the order of their first rows.

    The table is first scanned to find where each conversation ends and which columns apply to conversations,
    so that only incomplete conversations are held. If the rows of many conversations are interleaved, some
    are added before others that began earlier.

    Parameters
    ----------
    read
        Opens the table, and returns its rows from the first one.

    Yields
    ------
    None
        Whenever conversations were added.
    """
    survey = _surveyed(read, collector)
    left_out: list[tuple[int, str]] = []
    for name, thread in _threads(read(), collector, survey, survey.others.again):
        if thread.fault is not None:
            what = "the conversation" if name is None else f"conversation {name}"
            line, message = thread.fault
            left_out.append((line, f"{message}; {what} is left out"))
            continue
        conversation = None
        with collector.boundary(thread.line):
            conversation = _conversation(name, thread, survey, collector)
        if conversation is not None:
            collector.add(conversation)
            yield
    for line, message in left_out:  # after problems of rows
        collector.problem(line, message)


def _surveyed(read: Callable[[], Iterable[Record]], collector: Collector) -> _Survey:
    """Read a table once, or twice if it has columns of unknown meaning."""
    survey, others = _Survey(collector.columns), False
    scratch = _scratch(collector)
    for number, (line, row) in enumerate(scratch.objects(read(), "row")):
        with scratch.boundary(line):
            columns = survey.take(number, row)
            others = others or any(True for _ in _unknown_cells(row, columns))
        survey.check(number)
    if others:
        prompts: set[Any] = set()
        for _, thread in _threads(read(), _scratch(collector), survey, survey.others.take):
            if thread.fault is None:
                prompts.add(_prompt_of(thread.others, survey.columns)[1])
        is_of_all = survey.columns is None or not survey.others.varies(survey.columns.of.get("prompt"))
        collector.expect_prompts(prompts if is_of_all else [None])
        survey.others.drop(collector)
    return survey


def _scratch(collector: Collector) -> Collector:
    """Return a throw-away collector, because a later reading of the same table reports the same."""
    return Collector(collector.file, columns=collector.columns, roles=collector.roles)


def _threads(
    records: Iterable[Record],
    collector: Collector,
    survey: _Survey,
    take_others: Callable[[dict[str, Any], Columns, _Thread], None],
) -> Iterator[tuple[str | None, _Thread]]:
    """Yield the conversations of a table, each with its rows, as soon as they are complete."""
    threads: OrderedDict[str | None, _Thread] = OrderedDict()
    ended: deque[str | None] = deque()
    columns: Columns | None = None
    held = waiting = 0
    for number, (line, row) in enumerate(collector.objects(records, "row")):
        name = None
        with collector.boundary(line):
            before, columns = columns, _columns_of(row, collector.columns)
            if columns is not before:
                _check_given(columns, row, collector)
            name = columns.conversation_of(row)
            size = threads[name].size if name in threads else 0
            thread = _take(threads, line, row, columns, survey.columns or columns, collector)
            if thread is not None:
                held += thread.size - size
                take_others(row, columns, thread)
        if name in threads and survey.is_last(number, name):
            threads[name].is_whole = True
            waiting += threads[name].size
            ended.append(name)
        # In the order in which they began, as long as few wait for an incomplete one.
        while threads and (waiting > _WAITING_CHARS or next(iter(threads.values())).is_whole):
            name = next(iter(threads)) if next(iter(threads.values())).is_whole else ended.popleft()
            if (thread := threads.pop(name, None)) is not None:
                held -= thread.size
                waiting -= thread.size
                yield name, thread
        if held > _HELD_CHARS:
            raise TooMuchError(_TOO_MIXED)
    yield from threads.items()


def _columns_of(row: dict[str, Any], given: Mapping[str, str]) -> Columns:
    """Return the columns of a row, which are usually those of the previous row."""
    return _columns(tuple(row), tuple(given.items()))


@lru_cache(maxsize=64)
def _columns(names: tuple[str, ...], given: tuple[tuple[str, str], ...]) -> Columns:
    return Columns(names, dict(given))


def _check_given(columns: Columns, row: dict[str, Any], collector: Collector) -> None:
    """Report columns specified by the user that do not exist."""
    missing = [name for what, name in collector.columns.items() if what not in columns.of]
    if missing:
        collector.note(
            f"There is no column {', '.join(missing)}; the columns are {', '.join(map(str, row))}."
        )


def _take(
    threads: dict[str | None, _Thread],
    line: int,
    row: dict[str, Any],
    columns: Columns,
    of_table: Columns,
    collector: Collector,
) -> _Thread | None:
    """Add a row to its conversation and return the conversation, ``None`` if the row is left out."""
    name = columns.get(row, "conversation")
    if "conversation" in of_table.of and (not is_something(name) or isinstance(name, dict | list)):
        collector.problem(line, f"the row has no {of_table.of['conversation']}; it is left out")
        return None
    if "conversation" not in of_table.of:
        collector.note(_NO_CONVERSATION)
    if _is_internal(row, columns):
        collector.drop("rows that the customer did not see")
        return None
    thread = threads.setdefault(columns.conversation_of(row), _Thread(line))
    if thread.fault is not None:
        return thread
    # Without one of its messages it would be a different conversation.
    with Boundary(lambda reason: thread.refuse(line, reason)):
        thread.add(_Row(_turns(row, columns, collector), _number(columns.get(row, "order"))))
    model = columns.get(row, "model")
    if isinstance(model, str) and model:
        thread.models[model] += 1
    for what in ("status", "company", "start", "title", *_METADATA):
        cell = columns.get(row, what)
        if is_something(cell) and (what != "start" or "start" not in thread.fields):
            thread.fields[what] = cell
    return thread


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
    name: str | None, thread: _Thread, survey: _Survey, collector: Collector
) -> ParsedConversation:
    fields, others = thread.fields, survey.others.of(thread)
    text, prompt, version = _prompt_of(others, survey.columns)
    return ParsedConversation(
        [turn for row in _in_order(thread.rows, collector) for turn in row.turns],
        thread.line,
        source_id=name,
        status=fields.get("status"),
        llm_model=thread.models.most_common(1)[0][0] if thread.models else None,
        company_name=fields.get("company"),
        metadata={**others, **{what: fields[what] for what in _METADATA if what in fields}},
        started_at=collector.time(fields.get("start"), "start"),
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
