"""Logged conversations before and after a text went live. When a conversation started decides, not when it came in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Integer, cast, func, select, true

from promptlift.service.store.tables import (
    conversation_contents,
    conversations,
    deployments,
    events,
    insights,
    prompt_versions,
    prompts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from promptlift.service.store.tables import AnyRow

# Conversations that are looked at on each side: the latest with the text before, and the latest with the live one.
NEAREST = 2_000


def last_event(connection: Connection) -> int:
    """Return the number of the newest event."""
    return int(connection.scalar(select(func.max(events.c.seq))) or 0)


def prompts_with_news(connection: Connection, *, after: int) -> set[str]:
    """Return the prompts with insights that came after an event."""
    return set(
        connection.scalars(
            select(conversations.c.prompt_id)
            .join(events, events.c.subject_id == conversations.c.id)
            .where(events.c.seq > after, events.c.type == "insights.generated")
            .distinct()
        )
    )


def watched(connection: Connection) -> Sequence[AnyRow]:
    """Return the live deployments of all accounts.

    The original is none: applying it again changes nothing that could do harm.
    """
    return connection.execute(
        select(deployments)
        .join(prompts, prompts.c.id == deployments.c.prompt_id)
        .where(
            deployments.c.state == "live",
            deployments.c.verification.is_not(None),
            prompts.c.deleted_at.is_(None),
        )
        .order_by(deployments.c.seq)
    ).all()


def _of(
    account_id: str, prompt_id: str, since: int | None, until: int | None
) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for conversations of a span of time that have ended and have insights."""
    return (
        conversations.c.account_id == account_id,
        conversations.c.prompt_id == prompt_id,
        conversations.c.has_insights.is_(True),
        conversations.c.status != "in_progress",
        true() if since is None else conversations.c.started_at >= since,
        true() if until is None else conversations.c.started_at < until,
    )


def judged(
    connection: Connection,
    account_id: str,
    prompt_id: str,
    *,
    since: int | None,
    until: int | None,
) -> Sequence[AnyRow]:
    """Return the latest judged conversations of a span, oldest first."""
    wanted = _of(account_id, prompt_id, since, until)
    details = (
        conversations.c.status,
        conversations.c.response_seconds,
        conversations.c.message_count,
        insights.c.document,
    )
    return connection.execute(_latest(wanted, *details)).all()[::-1]


def figures(
    connection: Connection,
    account_id: str,
    prompt_id: str,
    *,
    since: int | None,
    until: int | None,
) -> tuple[int, int]:
    """Count the conversations that `judged` returns, and those of them that completed their task."""
    some = _latest(_of(account_id, prompt_id, since, until)).subquery()
    row = connection.execute(
        select(func.count(), func.sum(cast(some.c.task_completed, Integer))).select_from(some)
    ).one()
    return int(row[0]), int(row[1] or 0)


def _latest(wanted: tuple[ColumnElement[bool], ...], *columns: ColumnElement[Any]) -> Select[Any]:
    return (
        select(
            conversations.c.id,
            conversations.c.started_at,
            insights.c.task_completed,
            insights.c.sentiment_score,
            *columns,
        )
        .join(insights, insights.c.conversation_id == conversations.c.id)
        .where(*wanted)
        .order_by(conversations.c.started_at.desc(), conversations.c.seq.desc())
        .limit(NEAREST)
    )


def start_of_before(connection: Connection, deployment: AnyRow) -> int | None:
    """Return since when the text before was live; ``None`` when it was the first one of the prompt.

    A log is often imported with conversations that are older than the prompt here: they were held with its first text.
    """
    mine = prompt_versions.c.prompt_id == deployment.prompt_id
    first = connection.scalar(select(func.min(prompt_versions.c.seq)).where(mine))
    if deployment.previous_version_seq == first:
        return None
    return connection.scalar(
        select(prompt_versions.c.created_at).where(
            mine, prompt_versions.c.seq == deployment.previous_version_seq
        )
    )


def content(connection: Connection, conversation_id: str) -> bytes:
    """Return the transcript of a conversation; empty when there is none."""
    content = select(conversation_contents.c.content).filter_by(conversation_id=conversation_id)
    return connection.scalar(content) or b""
