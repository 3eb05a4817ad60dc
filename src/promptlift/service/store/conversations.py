"""Conversations: rows, transcripts and idempotency keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, func, insert, select

from promptlift.service.store.tables import conversation_contents, conversations, idempotency_keys, insights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from promptlift.service.store.tables import AnyRow

_LISTED = (
    conversations.c.id,
    conversations.c.prompt_id,
    conversations.c.status,
    conversations.c.has_insights,
    conversations.c.judging,
    conversations.c.judge_problem,
    conversations.c.llm_model,
    conversations.c.company_name,
    conversations.c.created_at,
    conversations.c.started_at,
    conversations.c.ended_at,
)


def _wanted(
    account_id: str, *, prompt_id: str | None, status: str | None, has_insights: bool | None
) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = [conversations.c.account_id == account_id]
    if prompt_id is not None:
        wanted.append(conversations.c.prompt_id == prompt_id)
    if status is not None:
        wanted.append(conversations.c.status == status)
    if has_insights is not None:
        wanted.append(conversations.c.has_insights.is_(has_insights))
    return wanted


def page(
    connection: Connection,
    account_id: str,
    *,
    prompt_id: str | None = None,
    status: str | None = None,
    has_insights: bool | None = None,
    with_insights: bool = False,
    with_content: bool = False,
    limit: int,
    offset: int,
) -> tuple[Sequence[AnyRow], int]:
    """Conversations newest first, and how many there are.

    Rows have ``document`` (insights as JSON text) and ``content`` (bytes) when asked for.
    """
    wanted = _wanted(account_id, prompt_id=prompt_id, status=status, has_insights=has_insights)
    total = connection.scalar(select(func.count()).select_from(conversations).where(*wanted)) or 0
    # The page is chosen by the index alone; what is beside it is read for its rows only.
    chosen = (
        select(conversations.c.seq)
        .where(*wanted)
        .order_by(conversations.c.seq.desc())
        .limit(limit)
        .offset(offset)
        .subquery()
    )
    source: Any = chosen.join(conversations, conversations.c.seq == chosen.c.seq)
    columns = list(_LISTED)
    if with_insights:
        source = source.outerjoin(insights, insights.c.conversation_id == conversations.c.id)
        columns.append(insights.c.document)
    if with_content:
        source = source.join(
            conversation_contents, conversation_contents.c.conversation_id == conversations.c.id
        )
        columns.append(conversation_contents.c.content)
    statement = select(*columns).select_from(source).order_by(conversations.c.seq.desc())
    return connection.execute(statement).all(), total


def find(connection: Connection, account_id: str, conversation_id: str) -> AnyRow | None:
    """A conversation with its transcript and insights, ``None`` when the account has none of this id."""
    return connection.execute(
        select(conversations, conversation_contents.c.content, insights.c.document)
        .join(conversation_contents, conversation_contents.c.conversation_id == conversations.c.id)
        .outerjoin(insights, insights.c.conversation_id == conversations.c.id)
        .where(conversations.c.account_id == account_id, conversations.c.id == conversation_id)
    ).one_or_none()


# The statements of the log are made once: it runs them for every conversation.
_ADD_ROWS = insert(conversations)
_ADD_CONTENTS = insert(conversation_contents)
_HOLD_KEYS = insert(idempotency_keys)
_DROP_EXPIRED_OF_KEYS = delete(idempotency_keys).where(
    idempotency_keys.c.account_id == bindparam("account"),
    idempotency_keys.c.key.in_(bindparam("keys", expanding=True)),
    idempotency_keys.c.expires_at <= bindparam("now"),
)
_HELD_BY_KEYS = (
    select(idempotency_keys.c.key, *_LISTED)
    .join(conversations, conversations.c.id == idempotency_keys.c.conversation_id)
    .where(
        idempotency_keys.c.account_id == bindparam("account"),
        idempotency_keys.c.key.in_(bindparam("keys", expanding=True)),
    )
)


def add(connection: Connection, rows: Sequence[dict[str, Any]], contents: Sequence[dict[str, Any]]) -> None:
    """Add conversations and their transcripts."""
    connection.execute(_ADD_ROWS, list(rows))
    connection.execute(_ADD_CONTENTS, list(contents))


def held_by_keys(
    connection: Connection, account_id: str, keys: Sequence[str], *, now: int
) -> dict[str, AnyRow]:
    """Conversations that living idempotency keys stand for, by key. Expired ones are dropped."""
    if not keys:
        return {}
    asked = {"account": account_id, "keys": list(keys)}
    rows = connection.execute(_HELD_BY_KEYS, asked).all()
    if rows and connection.execute(_DROP_EXPIRED_OF_KEYS, {**asked, "now": now}).rowcount:
        rows = connection.execute(_HELD_BY_KEYS, asked).all()
    return {row.key: row for row in rows}


def hold_keys(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Keep idempotency keys.

    Raises
    ------
    IntegrityError
        Somebody else took one of them since it was looked up; the transaction is lost.
    """
    if rows:
        connection.execute(_HOLD_KEYS, list(rows))


def drop_expired_keys(connection: Connection, *, now: int) -> int:
    """Forget idempotency keys whose time is over."""
    return connection.execute(delete(idempotency_keys).where(idempotency_keys.c.expires_at <= now)).rowcount
