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

# Conversations that are looked at on each side, those nearest to the change.
NEAREST = 1_000
WATCHED = ("pending", "verified")


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


def watched(connection: Connection, *, below: int) -> Sequence[AnyRow]:
    """Return the live deployments of all accounts whose last check saw fewer conversations than ``below``."""
    return connection.execute(
        select(deployments)
        .join(prompts, prompts.c.id == deployments.c.prompt_id)
        .where(
            deployments.c.state == "live",
            deployments.c.verification.in_(WATCHED),
            deployments.c.checked < below,
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


def count(connection: Connection, account_id: str, prompt_id: str, *, since: int, most: int) -> int:
    """Count judged conversations that started at a time or later, no further than ``most``."""
    some = select(conversations.c.id).where(*_of(account_id, prompt_id, since, None)).limit(most).subquery()
    return int(connection.scalar(select(func.count()).select_from(some)) or 0)


def judged(
    connection: Connection,
    account_id: str,
    prompt_id: str,
    *,
    since: int | None,
    until: int | None,
    nearest_to_end: bool,
) -> Sequence[AnyRow]:
    """Return judged conversations of a span, those nearest to one end of it first."""
    wanted = _of(account_id, prompt_id, since, until)
    return connection.execute(_nearest(wanted, insights.c.document, to_end=nearest_to_end)).all()


def figures(
    connection: Connection,
    account_id: str,
    prompt_id: str,
    *,
    since: int | None,
    until: int | None,
    nearest_to_end: bool,
) -> tuple[int, int]:
    """Count the conversations that `judged` returns, and those of them that completed their task."""
    some = _nearest(_of(account_id, prompt_id, since, until), to_end=nearest_to_end).subquery()
    row = connection.execute(
        select(func.count(), func.sum(cast(some.c.task_completed, Integer))).select_from(some)
    ).one()
    return int(row[0]), int(row[1] or 0)


def _nearest(
    wanted: tuple[ColumnElement[bool], ...], *columns: ColumnElement[Any], to_end: bool
) -> Select[Any]:
    order = conversations.c.started_at, conversations.c.seq
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
        .order_by(*(column.desc() if to_end else column for column in order))
        .limit(NEAREST)
    )


def start_of_before(connection: Connection, deployment: AnyRow) -> int | None:
    """From when on the text before was live; ``None`` when it was the first one of the prompt.

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
