"""Counts and sums of conversations, kept in the transaction of each change that moves them.

Lists and the views of a prompt read them instead of all its conversations. They are derived: what is true is in
``conversations`` and ``insights``. `conversations.add` counts new conversations itself; a change of a row that is
there already, or of its insights, goes into the block of `following`::

    with conversation_counts.following(connection, conversation_ids):
        connection.execute(update(conversations)...)

Nothing else has to be said, whatever the change is. What moves no count (who judges, regenerating, deleting a prompt)
needs no block. Several processes may count at once: the rows are changed in one order, so none waits for another in
a circle, as long as a transaction changes conversations once, after it has locked everything else.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import orjson
from sqlalchemy import bindparam, func, select

from promptlift.schema.basis import basis_of_analyser
from promptlift.service import clock
from promptlift.service.store import bulk
from promptlift.service.store.tables import (
    BLOCK_COLUMNS,
    conversation_blocks,
    conversation_issue_sets,
    conversation_sums,
    conversation_turns,
    conversations,
    insights,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Table

# Sequence numbers of a block. A list reads at most so many index entries before its page, and one row for each block:
# both are about equally long for a list of a million.
BLOCK = 4_096
# The prompt of the rows that count all prompts of an account.
ALL_PROMPTS = ""
# Lengths of the spans, each a whole number of the one before. A time since then is whole spans and a part of a minute.
SPANS = (60 * clock.SECOND, clock.HOUR, clock.DAY, 30 * clock.DAY)
# Scores and seconds are summed as whole numbers of this part, so that what was added can be taken away again and leaves
# nothing. A mean is as near to that of the values themselves.
FRACTION = 10**10
# Of issues, the gravest first.
SEVERITIES = ("high", "medium", "low")
# On PostgreSQL so many counts are merged with one statement.
_MERGED_FROM = 200

_COLUMN_NUMBERS = {pair: number for number, pair in enumerate(BLOCK_COLUMNS)}
SUMS = tuple(column.name for column in conversation_sums.c)[4:]
_SENTIMENTS = ("positive", "neutral", "negative")

# A conversation as far as it is counted.
COUNTED = select(
    conversations.c.account_id,
    conversations.c.prompt_id,
    conversations.c.seq,
    conversations.c.status,
    conversations.c.has_insights,
    conversations.c.started_at,
    conversations.c.message_count,
    conversations.c.user_turns,
    conversations.c.response_seconds,
    insights.c.sentiment,
    insights.c.sentiment_score,
    insights.c.task_completed,
    insights.c.basis,
    insights.c.document,
).select_from(conversations.outerjoin(insights, insights.c.conversation_id == conversations.c.id))
_STATE = COUNTED.where(conversations.c.id.in_(bindparam("ids", expanding=True)))
_LOCK = (
    select(conversations.c.seq)
    .where(conversations.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(conversations.c.seq)
    .with_for_update()
)


@contextmanager
def following(connection: Connection, conversation_ids: Collection[str]) -> Iterator[None]:
    """Count again, at the end of the block, what changed in these conversations and their insights.

    The conversations stay locked until the transaction ends. Conversations that the block adds or deletes are
    counted too.
    """
    ids = {"ids": list(conversation_ids)}
    if connection.dialect.name != "sqlite":
        connection.execute(_LOCK, ids)
    before = connection.execute(_STATE, ids).mappings().all()
    yield
    changes = Counts()
    changes.count(before, -1)
    changes.count(connection.execute(_STATE, ids).mappings(), 1)
    changes.write(connection)


def add(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Count new conversations, which have no insights yet; ``rows`` have the columns of the table."""
    changes = Counts()
    changes.count(rows, 1)
    changes.write(connection)


def set_key(issues: bytes) -> str:
    """Return what a set of issues is found by, however long it is."""
    return hashlib.md5(issues, usedforsecurity=False).hexdigest()


class KeptIssue(TypedDict):
    """An issue in an insights document."""

    title: str
    severity: str
    evidence: NotRequired[str | None]


def issues_of(document: str) -> list[KeptIssue]:
    """Return the issues in an insights document."""
    return orjson.loads(document).get("issues") or []


def _issue_set(issues: Iterable[KeptIssue]) -> bytes:
    """Write the titles of issues as a set; empty where there are none."""
    found = {one["title"] for one in issues}
    return orjson.dumps(sorted(found)) if found else b""


class Counts:
    """Counts, or changes of them: by block, and by minute and whatever else a table counts by."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[Any, ...], list[int]] = {}
        self.sums: dict[tuple[Any, ...], list[int]] = {}
        self.turns: dict[tuple[Any, ...], list[int]] = {}
        self.issue_sets: dict[tuple[Any, ...], list[int]] = {}

    def count(self, rows: Iterable[Any], sign: int) -> None:
        """Add conversations with ``sign`` 1, take them away with -1."""
        for row in rows:
            account_id, prompt_id, block = row["account_id"], row["prompt_id"], row["seq"] // BLOCK
            column = _COLUMN_NUMBERS[row["status"], row["has_insights"]]
            for prompt in (prompt_id, ALL_PROMPTS):
                counts = self._blocks.setdefault((account_id, prompt, block), [0] * len(BLOCK_COLUMNS))
                counts[column] += sign
            minute = account_id, prompt_id, row["started_at"] // SPANS[0] * SPANS[0]
            if row.get("sentiment") is None:
                _add(self.sums, minute, _sums_of(row), sign)
                continue
            found = orjson.loads(row["document"])
            by_words = basis_of_analyser(found.get("analyser")) == "words"
            _add(self.sums, minute, _sums_of(row, by_words=by_words), sign)
            ended = int(row["status"] != "in_progress" and row["task_completed"] is not None)
            failed = int(ended and not row["task_completed"])
            if ended:
                _add(self.turns, (*minute, row["user_turns"]), (1, failed), sign)
            if issues := _issue_set(found.get("issues") or ()):
                _add(self.issue_sets, (*minute, set_key(issues), issues), (1, ended, failed), sign)

    def write(self, connection: Connection) -> None:
        """Write everything, in an order that is the same for all processes."""
        _write(connection, conversation_blocks, self._blocks)
        _write(connection, conversation_sums, _in_all_spans(self.sums))
        _write(connection, conversation_turns, _in_all_spans(self.turns))
        _write(connection, conversation_issue_sets, _in_all_spans(self.issue_sets))


def _add(counts: dict[tuple[Any, ...], list[int]], key: tuple[Any, ...], values: Any, sign: int) -> None:
    there = counts.get(key)
    if there is None:
        there = counts[key] = [0] * len(values)
    for number, value in enumerate(values):
        if value:
            there[number] += sign * value


def _in_all_spans(by_minute: Mapping[tuple[Any, ...], list[int]]) -> dict[tuple[Any, ...], list[int]]:
    counts: dict[tuple[Any, ...], list[int]] = {}
    for (account_id, prompt_id, minute, *others), values in by_minute.items():
        if any(values):
            for span in SPANS:
                _add(counts, (account_id, prompt_id, span, minute // span * span, *others), values, 1)
    return counts


def _sums_of(row: Mapping[str, Any], *, by_words: bool = False) -> tuple[int, ...]:
    status, response = row["status"], row["response_seconds"]
    whole = 0 if response is None else int(response)
    fraction = 0 if response is None else round((response - whole) * FRACTION)
    sentiment = row.get("sentiment")
    judged = row.get("task_completed") is not None and status != "in_progress"
    return (
        1,
        int(status == "completed"),
        int(status == "abandoned"),
        row["message_count"],
        int(response is not None),
        whole,
        fraction,
        int(judged),
        int(judged and row["task_completed"]),
        *(int(judged and row["basis"] == basis) for basis in ("outcome", "learned", "words")),
        *(int(sentiment == name) for name in _SENTIMENTS),
        int(by_words),
        *(
            (0, 0)
            if sentiment is None
            else (round(row["sentiment_score"] ** power * FRACTION) for power in (1, 2))
        ),
    )


def _write(connection: Connection, table: Table, changes: Mapping[tuple[Any, ...], list[int]]) -> None:
    rows = [(*key, *changes[key]) for key in sorted(changes) if any(changes[key])]
    if len(rows) >= _MERGED_FROM and connection.dialect.name != "sqlite":
        _merge(connection, table, rows)
    elif rows:
        connection.exec_driver_sql(_adding(table, connection.dialect.name), rows)


def _merge(connection: Connection, table: Table, rows: Sequence[Sequence[Any]]) -> None:
    """Add to many counts of PostgreSQL with one statement, in the order of the rows."""
    names = [column.name for column in table.c]
    new = f"new_{table.name}"
    connection.exec_driver_sql(
        f"CREATE TEMPORARY TABLE IF NOT EXISTS {new} (LIKE {table.name} INCLUDING DEFAULTS) ON COMMIT DELETE ROWS"
    )
    bulk.copy_rows(connection, table, names, rows, into=new)
    listed = ", ".join(names)
    connection.exec_driver_sql(
        f"INSERT INTO {table.name} ({listed}) SELECT {listed} FROM {new} ORDER BY ctid {_on_conflict(table)}"  # noqa: S608 - names of our tables
    )
    connection.exec_driver_sql(f"TRUNCATE {new}")


@cache
def _adding(table: Table, dialect: str) -> str:
    """Return the statement that adds to the counts of a table. As text: each log of a conversation runs two of them."""
    names = [column.name for column in table.c]
    places = ", ".join(["?" if dialect == "sqlite" else "%s"] * len(names))
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({places}) {_on_conflict(table)}"  # noqa: S608 - names of our tables


@cache
def _on_conflict(table: Table) -> str:
    keys = [column.name for column in table.primary_key]
    names = [column.name for column in table.c]
    # The row's own columns: a query for them would not see what another process counted meanwhile.
    added = [
        f"{name} = {table.name}.{name} + excluded.{name}" for name in names if name not in (*keys, "issues")
    ]
    return f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {', '.join(added)}"


def kept(connection: Connection) -> dict[tuple[str, bool], int]:
    """Count the conversations of all accounts by status and whether they have insights."""
    sums = [func.coalesce(func.sum(conversation_blocks.c[name]), 0) for name in BLOCK_COLUMNS.values()]
    row = connection.execute(select(*sums).where(conversation_blocks.c.prompt_id == ALL_PROMPTS)).one()
    return dict(zip(BLOCK_COLUMNS, map(int, row), strict=True))
