"""Logged conversations before and after a text went live, by the start of a conversation, not by when it was logged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Integer, cast, func, select, true, type_coerce

from promptlift.service.store.rows import Rows
from promptlift.service.store.tables import (
    conversation_contents,
    conversations,
    events,
    insights,
    prompt_versions,
)
from promptlift.service.store.tables.mapping import Json
from promptlift.service.store.tables.prompts import PromptRow
from promptlift.service.store.tables.runs import DeploymentRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    # Start and end of a span; ``None`` for no bound.
    Span = tuple[int | None, int | None]

# Conversations to compare on each side: the latest with the previous text, and the latest with the live one.
NEAREST = 2_000


def last_event(connection: Connection) -> int:
    """Return the number of the newest event."""
    return int(connection.scalar(select(func.max(events.c.seq))) or 0)


_NEWS = select(events.c.account_id, conversations.c.prompt_id).join(
    conversations, conversations.c.id == events.c.subject_id
)


def with_news(connection: Connection, *, after: int) -> set[tuple[str, str]]:
    """Return the prompts with insights newer than an event, with their accounts."""
    found = _NEWS.where(events.c.seq > after, events.c.type == "insights.generated").distinct()
    return {(account_id, prompt_id) for account_id, prompt_id in connection.execute(found)}


def watched(connection: Connection) -> Sequence[DeploymentRow]:
    """Return the live deployments of all accounts.

    The original does not count: applying it again changes nothing that could do harm.
    """
    return Rows(connection).all(
        select(DeploymentRow)
        .join(PromptRow, PromptRow.id == DeploymentRow.prompt_id)
        .where(
            DeploymentRow.state == "live",
            DeploymentRow.verification.is_not(None),
            PromptRow.deleted_at.is_(None),
        )
        .order_by(DeploymentRow.seq)
    )


def spans(connection: Connection, deployment: DeploymentRow) -> tuple[Span, Span]:
    """Return the spans of time that a look compares: with the previous text, and with the live one.

    Imported conversations are often older than the prompt in this database: they used its first text.
    """
    mine = prompt_versions.c.prompt_id == deployment.prompt_id
    first = connection.scalar(select(func.min(prompt_versions.c.seq)).where(mine))
    before = prompt_versions.c.seq == deployment.previous_version_seq
    since = None
    if deployment.previous_version_seq != first:
        since = connection.scalar(select(prompt_versions.c.created_at).where(mine, before))
    return (since, deployment.applied_at), (deployment.live_since, None)


class WatchedConversation(NamedTuple):
    """A judged conversation with one of the compared texts."""

    id: str
    started_at: int
    task_completed: bool
    sentiment_score: float
    status: str
    response_seconds: float | None
    message_count: int
    insights: dict[str, Any]


def judged(connection: Connection, deployment: DeploymentRow, span: Span) -> list[WatchedConversation]:
    """Return the latest judged conversations of a span, oldest first."""
    details = (
        conversations.c.status,
        conversations.c.response_seconds,
        conversations.c.message_count,
        type_coerce(insights.c.document, Json),
    )
    rows = connection.execute(_latest(deployment, span, *details)).all()
    return [WatchedConversation._make(row) for row in reversed(rows)]


def figures(connection: Connection, deployment: DeploymentRow, span: Span) -> tuple[int, int]:
    """Count the conversations of `judged`, and those of them that completed their task."""
    some = _latest(deployment, span).subquery()
    row = connection.execute(
        select(func.count(), func.sum(cast(some.c.task_completed, Integer))).select_from(some)
    ).one()
    return int(row[0]), int(row[1] or 0)


def _latest(deployment: DeploymentRow, span: Span, *columns: ColumnElement[Any]) -> Select[Any]:
    """Select the ended conversations with a verdict in a span of time."""
    since, until = span
    return (
        select(
            conversations.c.id,
            conversations.c.started_at,
            insights.c.task_completed,
            insights.c.sentiment_score,
            *columns,
        )
        .join(insights, insights.c.conversation_id == conversations.c.id)
        .where(
            conversations.c.account_id == deployment.account_id,
            conversations.c.prompt_id == deployment.prompt_id,
            conversations.c.has_insights.is_(True),
            conversations.c.status != "in_progress",
            insights.c.task_completed.is_not(None),
            true() if since is None else conversations.c.started_at >= since,
            true() if until is None else conversations.c.started_at < until,
        )
        .order_by(conversations.c.started_at.desc(), conversations.c.seq.desc())
        .limit(NEAREST)
    )


def content(connection: Connection, conversation_id: str) -> bytes:
    """Return the transcript of a conversation; empty if there is none."""
    content = select(conversation_contents.c.content).filter_by(conversation_id=conversation_id)
    return connection.scalar(content) or b""
