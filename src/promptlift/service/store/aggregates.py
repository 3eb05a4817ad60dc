"""Figures over many conversations of one prompt, or of all prompts of an account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Integer, case, cast, func, select

from promptlift.service.store.tables import conversations, insights, prompts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection

    from promptlift.service.store.tables import AnyRow

_ENDED = conversations.c.status != "in_progress"


def _of(
    account_id: str, prompt_id: str | None, since: int | None, until: int | None
) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = [conversations.c.account_id == account_id]
    if prompt_id is not None:
        wanted.append(conversations.c.prompt_id == prompt_id)
    if since is not None:
        wanted.append(conversations.c.started_at >= since)
    if until is not None:
        wanted.append(conversations.c.started_at < until)
    return wanted


def totals(
    connection: Connection,
    account_id: str,
    *,
    prompt_id: str | None = None,
    since: int | None = None,
    until: int | None = None,
) -> AnyRow:
    """Counts and means of the conversations that started in a span of time.

    Task completion is over conversations that have ended and have insights; sentiment over all with insights.
    """
    judged_ended = case((_ENDED, insights.c.task_completed), else_=None)
    return connection.execute(
        select(
            func.count().label("total"),
            func.count(case((conversations.c.status == "completed", 1))).label("completed"),
            func.count(case((conversations.c.status == "abandoned", 1))).label("abandoned"),
            func.count(judged_ended).label("judged"),
            func.sum(cast(judged_ended, Integer)).label("task_completed"),
            func.count(insights.c.sentiment).label("scored"),
            func.avg(insights.c.sentiment_score).label("sentiment"),
            func.count(case((insights.c.sentiment == "positive", 1))).label("positive"),
            func.count(case((insights.c.sentiment == "neutral", 1))).label("neutral"),
            func.count(case((insights.c.sentiment == "negative", 1))).label("negative"),
            func.avg(conversations.c.response_seconds).label("response_seconds"),
            func.avg(conversations.c.message_count).label("message_count"),
            func.min(conversations.c.started_at).label("first"),
            func.max(conversations.c.started_at).label("last"),
        )
        .select_from(conversations.outerjoin(insights, insights.c.conversation_id == conversations.c.id))
        .where(*_of(account_id, prompt_id, since, until))
    ).one()


def judged_documents(
    connection: Connection, account_id: str, prompt_id: str, *, since: int | None, until: int | None
) -> Iterator[tuple[str, bool]]:
    """Insights documents (JSON text) of the span and whether the task was completed, one at a time."""
    rows = connection.execution_options(yield_per=500).execute(
        select(insights.c.document, insights.c.task_completed)
        .join(conversations, conversations.c.id == insights.c.conversation_id)
        .where(*_of(account_id, prompt_id, since, until))
    )
    for row in rows:
        yield row.document, row.task_completed


def failures_by_turns(
    connection: Connection, account_id: str, prompt_id: str, *, since: int
) -> list[tuple[int, int, int]]:
    """User turns, conversations that ended after so many, and how many of these failed their task."""
    rows = connection.execute(
        select(
            conversations.c.user_turns,
            func.count(),
            func.sum(case((insights.c.task_completed.is_(False), 1), else_=0)),
        )
        .join(insights, insights.c.conversation_id == conversations.c.id)
        .where(*_of(account_id, prompt_id, since, None), _ENDED)
        .group_by(conversations.c.user_turns)
        .order_by(conversations.c.user_turns)
    )
    return [(int(turns), int(count), int(failed or 0)) for turns, count, failed in rows]


def completion_by_prompt(
    connection: Connection, account_id: str, *, since: int | None
) -> dict[str, tuple[int, int]]:
    """Judged conversations that have ended, and those with a completed task, for every living prompt."""
    rows = connection.execute(
        select(
            conversations.c.prompt_id,
            func.count(),
            func.sum(cast(insights.c.task_completed, Integer)),
        )
        .join(insights, insights.c.conversation_id == conversations.c.id)
        .join(prompts, prompts.c.id == conversations.c.prompt_id)
        .where(*_of(account_id, None, since, None), _ENDED, prompts.c.deleted_at.is_(None))
        .group_by(conversations.c.prompt_id)
    )
    return {prompt_id: (int(count), int(done or 0)) for prompt_id, count, done in rows}
