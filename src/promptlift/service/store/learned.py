"""Judges that learned from labels, and the conversations that they learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, select, update

from promptlift.service.store.leases import in_batches
from promptlift.service.store.rows import Rows, newest, wanted
from promptlift.service.store.tables import conversation_contents, conversations, insights, learned_judges
from promptlift.service.store.tables.prompts import LearnedJudgeRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row, Select


class ToLearn(NamedTuple):
    """An ended conversation with its transcript and its insights, if it has any."""

    id: str
    status: str
    content: bytes
    document: str | None


_ENDED = (
    select(conversations.c.id, conversations.c.status, conversation_contents.c.content, insights.c.document)
    .join(conversation_contents, conversation_contents.c.conversation_id == conversations.c.id)
    .outerjoin(insights, insights.c.conversation_id == conversations.c.id)
    .where(conversations.c.status != "in_progress")
)


def newest_ended(
    connection: Connection, account_id: str, prompt_id: str, *, limit: int, since: int = 0
) -> list[ToLearn]:
    """Return the newest ended conversations of a prompt that were logged at or after a time."""
    query = _of(account_id, prompt_id).where(conversations.c.created_at >= since)
    query = query.order_by(conversations.c.seq.desc()).limit(limit)
    return [ToLearn._make(row) for row in connection.execute(query)]


def ended(connection: Connection, account_id: str, prompt_id: str, ids: Sequence[str]) -> list[ToLearn]:
    """Return which of some conversations belong to a prompt and have ended."""
    return [
        ToLearn._make(row)
        for some in in_batches(ids)
        for row in connection.execute(_of(account_id, prompt_id).where(conversations.c.id.in_(some)))
    ]


def _of(account_id: str, prompt_id: str) -> Select[Row[tuple[str, str, bytes, str | None]]]:
    return _ENDED.where(conversations.c.account_id == account_id, conversations.c.prompt_id == prompt_id)


def current(rows: Rows, prompt_id: str) -> LearnedJudgeRow | None:
    """Return the newest version of a prompt's learned judge."""
    return rows.scalars(newest(LearnedJudgeRow, prompt_id=prompt_id).limit(1)).one_or_none()


def get(connection: Connection, row_id: str) -> LearnedJudgeRow | None:
    """Return a version; ``None`` if it was removed."""
    return Rows(connection).find(wanted(LearnedJudgeRow, id=row_id))


def add(rows: Rows, row: LearnedJudgeRow) -> None:
    """Add a version; earlier ones no longer judge."""
    rows.core.execute(update(learned_judges).filter_by(prompt_id=row.prompt_id).values(judges=False))
    rows.insert(row)


def remove(connection: Connection, prompt_id: str) -> bool:
    """Remove all versions of a prompt; return whether there were any."""
    return bool(connection.execute(delete(learned_judges).filter_by(prompt_id=prompt_id)).rowcount)
