"""Conversations: rows, transcripts and idempotency keys."""

from __future__ import annotations

import zlib
from functools import cache, reduce
from operator import add as add_
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import bindparam, delete, false, func, null, select, text, true, union_all

from promptlift.service.store import changes, conversation_counts
from promptlift.service.store.leases import announce
from promptlift.service.store.rows import insert_rows
from promptlift.service.store.tables import conversation_contents, conversations, idempotency_keys, insights
from promptlift.service.store.tables.conversations import (
    BLOCK_COLUMNS,
    ConversationRow,
    conversation_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select, SQLColumnExpression

    from promptlift.schema.queries import ConversationsQuery


class StoredConversation(NamedTuple):
    """The columns of a conversation needed by answers and updates; mapped rows would be too slow for pages.

    Attributes
    ----------
    metadata, document
        JSON as text: the metadata logged with the content, and the insights without their topic.
    topic_number
        The topic, if the built-in rules judged: 0 for none.
    content
        The transcript.
    """

    seq: int
    id: str
    account_id: str
    prompt_id: str
    status: str
    has_insights: bool
    judging: str
    generation: int
    judge_problem: str | None
    llm_model: str | None
    company_name: str | None
    idempotency_key: str | None
    source_id: str | None
    content_hash: str | None
    created_at: int
    started_at: int
    ended_at: int
    message_count: int
    user_turns: int
    response_seconds: float | None
    title: str | None
    metadata: str | None
    input_tokens: int | None
    output_tokens: int | None
    tool_calls: int | None
    tool_errors: int | None
    cost: float | None
    latency_ms: float | None
    content: bytes | None
    document: str | None
    topic_number: int | None


_COLUMNS = tuple(conversations.c[name] for name in StoredConversation._fields if name in conversations.c)


def page(
    connection: Connection, account_id: str, query: ConversationsQuery, *, since: int | None = None
) -> tuple[Sequence[StoredConversation], int]:
    """Return one page of conversations, newest first, and their total number.

    They include ``document`` and ``content`` only on request. A page costs the same at any offset: the counts
    give the total and the block of sequence numbers in which it begins. Conversations updated ``since`` a
    time are counted directly, at a cost in proportion to their number.
    """
    prompt_id, status, has_insights, offset = (
        query.linked_id,
        query.status,
        query.has_insights,
        query.offset,
    )
    wanted = {
        "account": account_id,
        "prompt": prompt_id,
        "status": status,
        "has_insights": has_insights,
        "counted": conversation_counts.ALL_PROMPTS if prompt_id is None else prompt_id,
        "limit": query.limit,
    }
    shown = {"with_insights": query.include_insights, "with_content": query.include_content}
    filters = {
        "of_prompt": prompt_id is not None,
        "of_status": status is not None,
        "of_insights": has_insights is not None,
    }
    if since is not None and since > 0:
        wanted |= {"since": since, "offset": offset}
        total = connection.scalar(_updated(**filters, counted=True), wanted) or 0
        changed = _shown(_updated(**filters, counted=False), **shown)
        return _read(connection, changed, wanted) if offset < total else [], total
    blocks = connection.execute(_counts(status=status, has_insights=has_insights), wanted).all()
    total = sum(count for _, count in blocks)
    if offset >= total:
        return [], total
    below = before = 0
    for block, count in blocks:
        if before + count > offset:
            below = (block + 1) * conversation_counts.BLOCK
            break
        before += count
    statement = _shown(_chosen(**filters, dialect=connection.dialect.name), **shown)
    return _read(connection, statement, {**wanted, "below": below, "offset": offset - before}), total


def _read(
    connection: Connection, statement: Select[Any], wanted: Mapping[str, object]
) -> list[StoredConversation]:
    return [StoredConversation._make(row) for row in connection.execute(statement, wanted)]


@cache
def _counts(*, status: str | None, has_insights: bool | None) -> Select[Any]:
    """Count the conversations of a list in each block of sequence numbers, the newest block first."""
    names = [
        name
        for (of_status, with_insights), name in BLOCK_COLUMNS.items()
        if status in (None, of_status) and has_insights in (None, with_insights)
    ]
    count: Any = reduce(add_, (conversation_blocks.c[name] for name in names))
    return (
        select(conversation_blocks.c.block, count)
        .where(
            conversation_blocks.c.account_id == bindparam("account"),
            conversation_blocks.c.prompt_id == bindparam("counted"),
            count > 0,
        )
        .order_by(conversation_blocks.c.block.desc())
    )


@cache
def _shown(chosen_numbers: Any, *, with_insights: bool, with_content: bool) -> Select[Any]:
    """Read one page, chosen by an index alone; other columns are read only for its rows."""
    chosen = chosen_numbers.subquery()
    source: Any = chosen.join(conversations, conversations.c.seq == chosen.c.seq)
    content: ColumnElement[Any] = null()
    document: tuple[ColumnElement[Any], ...] = (null(), null())
    if with_content:
        source = source.outerjoin(  # the transcript of an old conversation may have been deleted
            conversation_contents, conversation_contents.c.conversation_id == conversations.c.id
        )
        content = conversation_contents.c.content
    if with_insights:
        source = source.outerjoin(insights, insights.c.conversation_id == conversations.c.id)
        document = (insights.c.document, insights.c.topic_number)
    return select(*_COLUMNS, content, *document).select_from(source).order_by(conversations.c.seq.desc())


@cache
def _chosen(*, of_prompt: bool, of_status: bool, of_insights: bool, dialect: str) -> Any:
    """Return the sequence numbers of a page.

    The index of the filters is in order only for a fixed status and presence of insights. A list that leaves
    one of them open is merged from several ranges of it.
    """
    fixed = [
        conversations.c.account_id == bindparam("account"),
        conversations.c.seq < bindparam("below"),
        *([conversations.c.prompt_id == bindparam("prompt")] if of_prompt else []),
    ]
    of_one = conversations.c.status == bindparam("status")
    if of_status and of_insights:
        ranges = [[of_one, conversations.c.has_insights == bindparam("has_insights")]]
    elif of_status:
        ranges = [[of_one, conversations.c.has_insights == flag] for flag in (true(), false())]
    elif of_insights:
        ranges = [
            [conversations.c.status == status, conversations.c.has_insights == bindparam("has_insights")]
            for status in dict.fromkeys(status for status, _ in BLOCK_COLUMNS)
        ]
    else:
        ranges = [[]]
    newest_first = conversations.c.seq.desc()
    parts = [select(conversations.c.seq).where(*fixed, *some).order_by(newest_first) for some in ranges]
    if len(parts) == 1:
        return parts[0].limit(bindparam("limit")).offset(bindparam("offset"))
    # Merged only as far as the page needs. SQLite does that if each range and the whole are ordered;
    # PostgreSQL would sort a range that it expects to be small, unless it knows how little of it is needed.
    if dialect != "sqlite":
        parts = [part.limit(bindparam("offset") + bindparam("limit")) for part in parts]
    ends = [part.subquery() for part in parts]
    merged = union_all(*(select(end.c.seq) for end in ends)).subquery()
    return (
        select(merged.c.seq)
        .order_by(merged.c.seq.desc())
        .limit(bindparam("limit"))
        .offset(bindparam("offset"))
    )


@cache
def _updated(*, of_prompt: bool, of_status: bool, of_insights: bool, counted: bool) -> Select[Any]:
    """Return the sequence numbers of a page of conversations updated since a time, or their total number.

    Written so that only the index of that time applies: few rows changed since the last read, whereas the
    indexes of the other columns lead through all conversations.
    """
    wanted = [
        conversations.c.account_id == bindparam("account"),
        conversations.c.updated_at >= bindparam("since"),
        *([conversations.c.prompt_id.concat("") == bindparam("prompt")] if of_prompt else []),
        *([conversations.c.status.concat("") == bindparam("status")] if of_status else []),
        *([conversations.c.has_insights == bindparam("has_insights")] if of_insights else []),
    ]
    if counted:
        return select(func.count()).select_from(conversations).where(*wanted)
    return (
        select(conversations.c.seq)
        .where(*wanted)
        .order_by((conversations.c.seq + 0).desc())
        .limit(bindparam("limit"))
        .offset(bindparam("offset"))
    )


def find(connection: Connection, account_id: str, conversation_id: str) -> StoredConversation | None:
    """Return a conversation with its transcript and insights, ``None`` if the account has none with this id."""
    row = connection.execute(_ONE, {"account": account_id, "id": conversation_id}).one_or_none()
    return None if row is None else StoredConversation._make(row)


def judged_of(account_id: str, prompt_id: str, *columns: SQLColumnExpression[Any]) -> Select[Any]:
    """Return the query for columns of a prompt's conversations with insights, the latest by their own time first."""
    return (
        select(*columns)
        .select_from(conversations)
        .join(insights, insights.c.conversation_id == conversations.c.id)
        .where(conversations.c.account_id == account_id, conversations.c.prompt_id == prompt_id)
        .order_by(conversations.c.started_at.desc(), conversations.c.seq.desc())
    )


_ONE = (
    select(*_COLUMNS, conversation_contents.c.content, insights.c.document, insights.c.topic_number)
    .outerjoin(conversation_contents, conversation_contents.c.conversation_id == conversations.c.id)
    .outerjoin(insights, insights.c.conversation_id == conversations.c.id)
    .where(conversations.c.account_id == bindparam("account"), conversations.c.id == bindparam("id"))
)
# The statements for logging are built once, because they run for every conversation.
_NEWEST = select(func.max(conversations.c.seq))
_NEXT_NUMBERS = text(
    "SELECT nextval(pg_get_serial_sequence('conversations', 'seq')) FROM generate_series(1, :count)"
)
_DROP_EXPIRED_OF_KEYS = delete(idempotency_keys).where(
    idempotency_keys.c.account_id == bindparam("account"),
    idempotency_keys.c.key.in_(bindparam("keys", expanding=True)),
    idempotency_keys.c.expires_at <= bindparam("now"),
)
_KNOWN_KEYS = select(
    idempotency_keys.c.key, idempotency_keys.c.conversation_id, idempotency_keys.c.expires_at
).where(
    idempotency_keys.c.account_id == bindparam("account"),
    idempotency_keys.c.key.in_(bindparam("keys", expanding=True)),
)
# With outdated statistics of a fast-growing table, PostgreSQL would read all keys of the account for a list
# of them. So each is looked up individually.
_KNOWN_KEYS_ONE_BY_ONE = text(
    "SELECT found.* FROM unnest(CAST(:keys AS text[])) AS asked(key) JOIN LATERAL (SELECT key, conversation_id, expires_at "
    "FROM idempotency_keys WHERE account_id = :account AND key = asked.key LIMIT 1) AS found ON TRUE"
)
_BY_IDS = select(*_COLUMNS, null(), null(), null()).where(
    conversations.c.id.in_(bindparam("ids", expanding=True))
)


def add(connection: Connection, rows: Sequence[Mapping[str, Any]], contents: Mapping[str, bytes]) -> None:
    """Add conversations and their transcripts by id, and count them."""
    numbers = _next_numbers(connection, len(rows))
    stamp = changes.stamp(connection, {row["account_id"] for row in rows})
    numbered = [{**row, "seq": seq, "updated_at": stamp} for row, seq in zip(rows, numbers, strict=True)]
    insert_rows(connection, conversations, numbered)
    add_contents(connection, contents)
    conversation_counts.add(connection, [row["id"] for row in numbered])
    announce(connection, ConversationRow)


def add_contents(connection: Connection, contents: Mapping[str, bytes]) -> None:
    """Add the transcripts of conversations by their ids, compressed quickly rather than to the smallest size."""
    packed = [
        {"conversation_id": one, "content": zlib.compress(raw, 1), "size": len(raw)}
        for one, raw in contents.items()
    ]
    insert_rows(connection, conversation_contents, packed)


def _next_numbers(connection: Connection, count: int) -> Sequence[int]:
    """Reserve sequence numbers before inserting the rows: the counts need them, and bulk inserts do not return them."""
    if connection.dialect.name == "sqlite":  # whose only writer is this transaction
        newest = connection.scalar(_NEWEST) or 0
        return range(newest + 1, newest + 1 + count)
    return connection.scalars(_NEXT_NUMBERS, {"count": count}).all()


def held_by_keys(
    connection: Connection, account_id: str, keys: Sequence[str], *, now: int
) -> dict[str, StoredConversation]:
    """Return the conversations of valid idempotency keys, by key. Expired ones are dropped."""
    if not keys:
        return {}
    statement = _KNOWN_KEYS if connection.dialect.name == "sqlite" else _KNOWN_KEYS_ONE_BY_ONE
    known = connection.execute(statement, {"account": account_id, "keys": list(keys)}).all()
    if expired := [row.key for row in known if row.expires_at <= now]:
        connection.execute(_DROP_EXPIRED_OF_KEYS, {"account": account_id, "keys": expired, "now": now})
    living = {row.key: row.conversation_id for row in known if row.expires_at > now}
    if not living:
        return {}
    rows = {row.id: row for row in _read(connection, _BY_IDS, {"ids": list(set(living.values()))})}
    return {key: rows[one] for key, one in living.items()}


def hold_keys(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store idempotency keys.

    Raises
    ------
    IntegrityError
        Another process took one of them since the look-up; the transaction is lost.
    """
    insert_rows(connection, idempotency_keys, rows)


# Lifetime of keys from bulk requests: an export may be imported again after weeks.
NEVER: Final = 2**62


def drop_expired_keys(connection: Connection, *, now: int) -> int:
    """Delete expired idempotency keys."""
    return connection.execute(delete(idempotency_keys).where(idempotency_keys.c.expires_at <= now)).rowcount
