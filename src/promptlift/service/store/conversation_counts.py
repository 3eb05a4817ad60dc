"""Counts and sums of conversations, updated in the transaction of each change that affects them.

Lists and the views of a prompt read them instead of all its conversations. They are derived:
``conversations`` and ``insights`` are the source of truth. `conversations.add` counts new conversations
itself; a change to an existing row, or to its insights, goes into the block of `following`::

    with conversation_counts.following(connection, conversation_ids):
        connection.execute(update(conversations)...)

Nothing else is needed, whatever the change. Changes that affect no count (claiming, regenerating, deleting a
prompt) need no block. Several processes may count concurrently: the rows are changed in one order, so there
is no deadlock as long as a transaction changes conversations once, after it has locked everything else.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import orjson
from sqlalchemy import BigInteger, Integer, Text, and_, bindparam, case, cast, func, literal_column, select

from promptlift.schema.basis import basis_of_analyser
from promptlift.service import clock
from promptlift.service.store.leases import in_batches
from promptlift.service.store.rows import copy_rows
from promptlift.service.store.tables import conversations, insights
from promptlift.service.store.tables.conversations import (
    BLOCK_COLUMNS,
    conversation_blocks,
    conversation_issue_sets,
    conversation_sums,
    conversation_turns,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

    from promptlift.schema.insights import Issue

# Sequence numbers of a block. A list reads at most this many index entries before its page, and one row per
# block: for a list of a million both take about equally long.
BLOCK = 4_096
# The prompt of the rows that count all prompts of an account.
ALL_PROMPTS = ""
# The start of the rows that count all days: a prompt used for years has hundreds of thousands of rows by day.
ALL_TIME = -(2**63)
# Scores and seconds are summed as integers in this unit, so that subtracting what was added leaves exactly
# zero. Means are accurate to this unit.
FRACTION = 10**10
# Number of counts merged with one statement on PostgreSQL.
_MERGED_FROM = 200

_COLUMN_NUMBERS = {pair: number for number, pair in enumerate(BLOCK_COLUMNS)}
_ONE, _ZERO = literal_column("1", Integer), literal_column("0", Integer)
_NOTHING = literal_column("''", Text)


def _flag(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, _ONE), else_=_ZERO)


def _whole(value: ColumnElement[Any]) -> ColumnElement[int]:
    return func.coalesce(cast(func.round(value), BigInteger), _ZERO)


_JUDGED = and_(conversations.c.status != "in_progress", insights.c.task_completed.is_not(None))
_SECONDS = _whole(conversations.c.response_seconds)

EACH: Final[Mapping[str, ColumnElement[Any]]] = {
    "account_id": conversations.c.account_id,
    "prompt_id": conversations.c.prompt_id,
    "started_at": conversations.c.started_at,
    "seq": conversations.c.seq,
    "status": conversations.c.status,
    "has_insights": conversations.c.has_insights,
    "user_turns": conversations.c.user_turns,
    # The hash is unknown for a single conversation, which forms its own group.
    "issue_set": _NOTHING,
    "issues": insights.c.issues,
    "llm_model": func.coalesce(conversations.c.llm_model, _NOTHING),
    "topic": func.coalesce(insights.c.topic, cast(insights.c.topic_number, Text), _NOTHING),
    "scored": _flag(insights.c.sentiment.is_not(None)),
    "failed": _flag(and_(_JUDGED, insights.c.task_completed.is_(False))),
    "total": _ONE,
    "completed": _flag(conversations.c.status == "completed"),
    "abandoned": _flag(conversations.c.status == "abandoned"),
    "messages": conversations.c.message_count,
    "responses": _flag(conversations.c.response_seconds.is_not(None)),
    "response_seconds": _SECONDS,
    "response_fractions": _whole((conversations.c.response_seconds - _SECONDS) * FRACTION),
    "judged": _flag(_JUDGED),
    "task_completed": _flag(and_(_JUDGED, insights.c.task_completed)),
    **{
        f"by_{basis}": _flag(and_(_JUDGED, insights.c.basis == basis))
        for basis in ("outcome", "learned", "words")
    },
    **{name: _flag(insights.c.sentiment == name) for name in ("positive", "neutral", "negative")},
    "scored_by_words": _flag(insights.c.by_words),
    "sentiment_fractions": _whole(insights.c.sentiment_score * FRACTION),
    "sentiment_squares": _whole(insights.c.sentiment_score * insights.c.sentiment_score * FRACTION),
}
"""The columns that determine how a conversation is counted."""

WITH_INSIGHTS: Final = conversations.outerjoin(insights, insights.c.conversation_id == conversations.c.id)
SUMS: Final = tuple(column.name for column in conversation_sums.c)[3:]
_JUDGED_AT: Final = SUMS.index("judged")

_STATE = (
    select(*(column.label(name) for name, column in EACH.items()))
    .select_from(WITH_INSIGHTS)
    .where(conversations.c.id.in_(bindparam("ids", expanding=True)))
)
_LOCK = (
    select(conversations.c.seq)
    .where(conversations.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(conversations.c.seq)
    .with_for_update()
)


@contextmanager
def following(connection: Connection, conversation_ids: Collection[str]) -> Iterator[None]:
    """Update the counts, at the end of the block, by the changes to these conversations and their insights.

    The conversations stay locked until the transaction ends. Conversations added or deleted in the block are
    counted too.
    """
    ids = list(conversation_ids)
    if connection.dialect.name != "sqlite":
        connection.execute(_LOCK, {"ids": ids})
    changes = _Changes()
    changes.count(_state(connection, ids), -1)
    yield
    changes.count(_state(connection, ids), 1)
    changes.write(connection)


def add(connection: Connection, conversation_ids: Sequence[str]) -> None:
    """Count new conversations."""
    changes = _Changes()
    changes.count(_state(connection, conversation_ids), 1)
    changes.write(connection)


def _state(connection: Connection, ids: Sequence[str]) -> list[Any]:
    return [row for some in in_batches(ids) for row in connection.execute(_STATE, {"ids": some})]


def issues_of(document: str) -> list[Issue]:
    """Return the issues in an insights document."""
    return orjson.loads(document).get("issues") or []


def counted_of(document: str) -> dict[str, object]:
    """Return the columns by which insights are counted, from their document."""
    found = orjson.loads(document)
    topics = found.get("topics")
    return {
        "by_words": basis_of_analyser(found.get("analyser")) == "words",
        "topic": topics[0] if topics else None,
        "issues": orjson.dumps(sorted({one["title"] for one in found.get("issues") or ()})),
    }


class _Changes:
    """Changes of counts by table and key."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[Any, ...], list[int]] = {}
        self._sums: dict[tuple[Any, ...], list[int]] = {}
        self._turns: dict[tuple[Any, ...], list[int]] = {}
        self._issue_sets: dict[tuple[Any, ...], list[int]] = {}

    def count(self, rows: Iterable[Any], sign: int) -> None:
        """Add conversations with ``sign`` 1, subtract them with -1."""
        for row in rows:
            account_id, prompt_id, started_at, seq, status, has_insights = row[:6]
            user_turns, _, issues, llm_model, topic, scored, failed = row[6:13]
            sums = row[13:]
            judged = sums[_JUDGED_AT]
            column = _COLUMN_NUMBERS[status, has_insights]
            for counted in (prompt_id, ALL_PROMPTS):
                block = self._blocks.setdefault((account_id, counted, seq // BLOCK), [0] * len(BLOCK_COLUMNS))
                block[column] += sign
            day = account_id, prompt_id, started_at // clock.DAY * clock.DAY
            _add(self._sums, day, sums, sign)
            if judged:
                _add(self._turns, (*day, user_turns), (1, failed), sign)
            if scored:
                key = _key(issues, llm_model, topic)
                _add(self._issue_sets, (*day, key, issues, llm_model, topic), (1, judged, failed), sign)

    def write(self, connection: Connection) -> None:
        """Write all changes, in an order that is the same for all processes."""
        _write(connection, conversation_blocks, self._blocks)
        _write(connection, conversation_sums, _and_all_time(self._sums))
        _write(connection, conversation_turns, _and_all_time(self._turns))
        _write(connection, conversation_issue_sets, _and_all_time(self._issue_sets))


def _key(issues: bytes, llm_model: str, topic: str) -> str:
    """Return a fixed-length key of a stratum and its issues."""
    whole = b"\0".join((issues, llm_model.encode(), topic.encode()))
    return hashlib.md5(whole, usedforsecurity=False).hexdigest()


def _add(counts: dict[tuple[Any, ...], list[int]], key: tuple[Any, ...], values: Any, sign: int) -> None:
    there = counts.get(key)
    if there is None:
        there = counts[key] = [0] * len(values)
    for number, value in enumerate(values):
        if value:
            there[number] += sign * value


def _and_all_time(by_day: Mapping[tuple[Any, ...], list[int]]) -> dict[tuple[Any, ...], list[int]]:
    counts = dict(by_day)
    for (account_id, prompt_id, _, *others), values in by_day.items():
        _add(counts, (account_id, prompt_id, ALL_TIME, *others), values, 1)
    return counts


def _write(connection: Connection, table: Table, changes: Mapping[tuple[Any, ...], list[int]]) -> None:
    rows = [(*key, *changes[key]) for key in sorted(changes) if any(changes[key])]
    if len(rows) >= _MERGED_FROM and connection.dialect.name != "sqlite":
        _merge(connection, table, rows)
    elif rows:
        connection.exec_driver_sql(_adding(table, connection.dialect.name), rows)


def _merge(connection: Connection, table: Table, rows: Sequence[Sequence[Any]]) -> None:
    """Add to many counts with one PostgreSQL statement, in the order of the rows."""
    names = [column.name for column in table.c]
    new = f"new_{table.name}"
    connection.exec_driver_sql(
        f"CREATE TEMPORARY TABLE IF NOT EXISTS {new} (LIKE {table.name} INCLUDING DEFAULTS) ON COMMIT DELETE ROWS"
    )
    copy_rows(connection, table, names, rows, into=new)
    listed = ", ".join(names)
    connection.exec_driver_sql(
        f"INSERT INTO {table.name} ({listed}) SELECT {listed} FROM {new} ORDER BY ctid {_on_conflict(table)}"  # noqa: S608 - names of our tables
    )
    connection.exec_driver_sql(f"TRUNCATE {new}")


@cache
def _adding(table: Table, dialect: str) -> str:
    """Return the statement that adds to the counts of a table. As text, since every logged conversation runs two of them."""
    names = [column.name for column in table.c]
    places = ", ".join(["?" if dialect == "sqlite" else "%s"] * len(names))
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({places}) {_on_conflict(table)}"  # noqa: S608 - names of our tables


@cache
def _on_conflict(table: Table) -> str:
    keys = [column.name for column in table.primary_key]
    # The row's own columns: a query for them would miss concurrent counts of other processes.
    added = [
        f"{column.name} = {table.name}.{column.name} + excluded.{column.name}"
        for column in table.c
        if column.name not in keys and isinstance(column.type, Integer)
    ]
    return f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {', '.join(added)}"


def kept(connection: Connection) -> dict[tuple[str, bool], int]:
    """Count the conversations of all accounts by status and presence of insights."""
    sums = [func.coalesce(func.sum(conversation_blocks.c[name]), 0) for name in BLOCK_COLUMNS.values()]
    row = connection.execute(select(*sums).where(conversation_blocks.c.prompt_id == ALL_PROMPTS)).one()
    return dict(zip(BLOCK_COLUMNS, map(int, row), strict=True))
