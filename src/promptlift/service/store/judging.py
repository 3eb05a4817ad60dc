"""The queue of conversations that wait for insights, their workers, the outcomes, and the judges that learn from labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import and_, case, delete, exists, func, insert, or_, select, update

from promptlift.service import clock
from promptlift.service.store import changes, conversation_counts
from promptlift.service.store.leases import Leases, announce, in_batches
from promptlift.service.store.rows import equal, newest
from promptlift.service.store.tables.conversations import ContentRow, ConversationRow, InsightsRow
from promptlift.service.store.tables.prompts import LearnedJudgeRow, PromptRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection, Select

    from promptlift.service.store.rows import Rows


# Between two attempts at a conversation without an answer from the model.
LONGEST_PAUSE: Final = 600 * clock.SECOND

LEASES = Leases(
    ConversationRow,
    ConversationRow.judging.in_(("pending", "claimed")),
    due=ConversationRow.judge_after,
    free={"judging": "pending"},
    claimed={"judging": "claimed"},
)
"""Leases of conversations that wait for insights."""


class ToJudge(NamedTuple):
    """A claimed conversation with its transcript and the judge's context."""

    id: str
    account_id: str
    prompt_id: str
    generation: int
    judge_attempts: int
    content: bytes
    objective: str | None
    outcome: str | None
    metadata: str | None
    status: str
    known: str | None
    """The document of its insights, if only the verdict must be redetermined."""
    learned: str | None
    """Id of the active learned judge of its prompt."""


class Trouble(NamedTuple):
    """Number of conversations of a prompt that could not be judged so far, for one reason."""

    judging: str
    judge_problem: str
    conversations: int


def _claimed_by(worker: str) -> dict[str, str]:
    return {"judging": "claimed", "worker": worker}


def to_judge(connection: Connection, conversation_ids: Sequence[str], worker: str) -> Sequence[ToJudge]:
    """Return the conversations that this job has claimed and not yet judged."""
    found = connection.execute(
        select(
            *(getattr(ConversationRow, name) for name in ToJudge._fields[:5]),
            ContentRow.content,
            PromptRow.objective,
            PromptRow.outcome,
            ConversationRow.metadata_,
            ConversationRow.status,
            InsightsRow.document,
            LearnedJudgeRow.id,
        )
        .join(ContentRow, ContentRow.conversation_id == ConversationRow.id)
        .join(PromptRow, PromptRow.id == ConversationRow.prompt_id)
        .outerjoin(LearnedJudgeRow, and_(LearnedJudgeRow.prompt_id == PromptRow.id, LearnedJudgeRow.judges))
        .outerjoin(
            InsightsRow,
            and_(
                InsightsRow.conversation_id == ConversationRow.id,
                InsightsRow.generation == ConversationRow.generation,
            ),
        )
        .where(
            ConversationRow.id.in_(conversation_ids),
            ConversationRow.judging == "claimed",
            ConversationRow.worker == worker,
        )
    )
    return [ToJudge._make(row) for row in found]


def keep(
    connection: Connection,
    worker: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    also: Callable[[set[str]], None] = lambda _kept: None,
) -> set[str]:
    """Store the insights of conversations and return the ids of those stored.

    Conversations that this worker no longer holds, or that were queued to be judged again in the meantime,
    are left out.

    Parameters
    ----------
    also
        Called with the same ids, for further writes. Counts come last: all conversations of an account share
        their rows, and the next writer waits for the end of this transaction.
    """
    ids = [row["conversation_id"] for row in rows]
    claimed = select(ConversationRow.id, ConversationRow.account_id, ConversationRow.generation).filter_by(
        **_claimed_by(worker)
    )
    statement = claimed.where(ConversationRow.id.in_(ids))
    if connection.dialect.name != "sqlite":
        # In the order in which others lock conversations, so that there is no deadlock.
        statement = statement.order_by(ConversationRow.seq).with_for_update()
    found = connection.execute(statement).all()
    wanted = {row.id: row.generation for row in found}
    kept = [row for row in rows if wanted.get(row["conversation_id"]) == row["generation"]]
    names = {row["conversation_id"] for row in kept}
    if kept:
        stamp = changes.stamp(connection, {row.account_id for row in found})
        with conversation_counts.following(connection, names):
            connection.execute(
                update(ConversationRow)
                .where(ConversationRow.id.in_(names))
                .values(judging="done", worker=None, has_insights=True, judge_problem=None, updated_at=stamp)
            )
            connection.execute(delete(InsightsRow).where(InsightsRow.conversation_id.in_(names)))
            connection.execute(
                insert(InsightsRow),
                [{**row, **conversation_counts.counted_of(row["document"])} for row in kept],
            )
            announce(connection, InsightsRow)
            also(names)
    else:
        also(names)
    return names


def put_back(
    connection: Connection,
    worker: str,
    conversation_ids: Sequence[str],
    *,
    after: int,
    problem: str,
    counts: bool = True,
) -> None:
    """Postpone conversations until ``after`` because the judge is unreachable.

    Parameters
    ----------
    counts
        Whether this counts as an attempt: not if the model is unavailable to all.
    """
    connection.execute(
        update(ConversationRow)
        .filter_by(**_claimed_by(worker))
        .where(ConversationRow.id.in_(conversation_ids))
        .values(
            judging="pending",
            worker=None,
            judge_after=after,
            judge_attempts=ConversationRow.judge_attempts + int(counts),
            judge_problem=problem,
            updated_at=_stamp(connection, conversation_ids),
        )
    )


def _stamp(connection: Connection, conversation_ids: Sequence[str]) -> int:
    accounts = select(ConversationRow.account_id).where(ConversationRow.id.in_(conversation_ids)).distinct()
    return changes.stamp(connection, connection.scalars(accounts).all())


def make_account_due(connection: Connection, account_id: str, *, now: int) -> None:
    """Make an account's waiting conversations due."""
    waiting = ConversationRow.judging == "pending", ConversationRow.judge_after > now
    connection.execute(
        update(ConversationRow).filter_by(account_id=account_id).where(*waiting).values(judge_after=now)
    )
    announce(connection, ConversationRow)


def give_up(connection: Connection, worker: str, conversation_id: str, *, problem: str) -> None:
    """Record that a conversation cannot be judged, and why. It can still be queued again."""
    connection.execute(
        update(ConversationRow)
        .filter_by(id=conversation_id, **_claimed_by(worker))
        .values(
            judging="failed",
            worker=None,
            judge_problem=problem,
            updated_at=_stamp(connection, [conversation_id]),
        )
    )


def ask_again(
    connection: Connection,
    account_id: str,
    *,
    prompt_id: str | None = None,
    conversation_id: str | None = None,
    now: int,
) -> int:
    """Queue conversations to be judged again; their insights stay until they are replaced."""
    wanted = equal(ConversationRow, account_id=account_id, prompt_id=prompt_id, id=conversation_id)
    # Without its transcript a conversation keeps its existing insights.
    wanted.append(exists().where(ContentRow.conversation_id == ConversationRow.id))
    had_problem = ConversationRow.judge_problem.is_not(None)
    stamp = changes.stamp(connection, [account_id])
    announce(connection, ConversationRow)
    return connection.execute(
        update(ConversationRow)
        .where(*wanted)
        .values(
            judging="pending",
            worker=None,
            generation=ConversationRow.generation + 1,
            judge_after=now,
            judge_attempts=0,
            judge_problem=None,
            # For the others, lists do not change.
            updated_at=case((had_problem, stamp), else_=ConversationRow.updated_at),
        )
    ).rowcount


def decide_again(
    connection: Connection,
    account_id: str,
    *,
    prompt_id: str | None = None,
    conversation_id: str | None = None,
    now: int,
) -> None:
    """Queue judged conversations for a new verdict on existing insights, after a change of what decides them.

    No judge is called; existing insights stay unchanged. A conversation that a worker holds is taken from it,
    because its verdict would be outdated.
    """
    wanted = equal(ConversationRow, account_id=account_id, prompt_id=prompt_id, id=conversation_id)
    if prompt_id is None:
        ruled = select(PromptRow.id).filter_by(account_id=account_id).where(PromptRow.outcome.is_not(None))
        wanted.append(ConversationRow.prompt_id.in_(ruled))
    if connection.dialect.name != "sqlite":
        # All of them first, in the order in which others lock conversations, so that there is no deadlock.
        locked = select(ConversationRow.seq).where(*wanted).order_by(ConversationRow.seq).with_for_update()
        connection.execute(select(func.count()).select_from(locked.subquery()))
    connection.execute(
        update(ConversationRow)
        .where(*wanted, ConversationRow.judging == "done")
        .values(judging="pending", worker=None, judge_after=now, judge_attempts=0)
    )
    held = select(ConversationRow.id).where(*wanted, ConversationRow.judging == "claimed")
    for some in in_batches(connection.scalars(held.order_by(ConversationRow.seq).with_for_update()).all()):
        known = exists().where(
            ConversationRow.id == InsightsRow.conversation_id,
            ConversationRow.id.in_(some),
            ConversationRow.generation == InsightsRow.generation,
        )
        connection.execute(update(InsightsRow).where(known).values(generation=InsightsRow.generation + 1))
        connection.execute(
            update(ConversationRow)
            .where(ConversationRow.id.in_(some))
            .values(
                judging="pending", worker=None, judge_after=now, generation=ConversationRow.generation + 1
            )
        )
    announce(connection, ConversationRow)


def troubles(connection: Connection, account_id: str, prompt_id: str) -> list[Trouble]:
    """Count the conversations of a prompt without insights that could not be judged so far, by state and reason."""
    of = (ConversationRow.judging, ConversationRow.judge_problem)
    found = connection.execute(
        select(*of, func.count())
        .filter_by(account_id=account_id, prompt_id=prompt_id, has_insights=False)
        .where(ConversationRow.judge_problem.is_not(None))
        .group_by(*of)
    )
    return [Trouble._make(row) for row in found]


def judged_again(connection: Connection, account_id: str, prompt_id: str) -> int:
    """Count the conversations of a prompt that have insights and wait for new ones, or for a new verdict."""
    waiting = or_(ConversationRow.judging == "pending", ConversationRow.judging == "claimed")
    statement = select(func.count(ConversationRow.id)).filter_by(
        account_id=account_id, prompt_id=prompt_id, has_insights=True
    )
    return int(connection.scalar(statement.where(waiting)) or 0)


def make_due(connection: Connection, conversation_ids: Sequence[str], *, now: int) -> None:
    """Make waiting conversations due now instead of after their pause."""
    announce(connection, ConversationRow)
    for some in in_batches(conversation_ids):
        connection.execute(
            update(ConversationRow)
            .where(
                ConversationRow.id.in_(some),
                ConversationRow.judging == "pending",
                ConversationRow.judge_after > now,
            )
            .values(judge_after=now)
        )


# Judges that learn from labels


class ToLearn(NamedTuple):
    """An ended conversation with its transcript and its insights, if it has any."""

    id: str
    status: str
    content: bytes
    document: str | None


def _ended(account_id: str, prompt_id: str) -> Select[str, str, bytes, str]:
    return (
        select(ConversationRow.id, ConversationRow.status, ContentRow.content, InsightsRow.document)
        .join(ContentRow, ContentRow.conversation_id == ConversationRow.id)
        .outerjoin(InsightsRow, InsightsRow.conversation_id == ConversationRow.id)
        .where(*equal(ConversationRow, account_id=account_id, prompt_id=prompt_id))
        .where(ConversationRow.status != "in_progress")
    )


def newest_ended(
    connection: Connection, account_id: str, prompt_id: str, *, limit: int, since: int = 0
) -> list[ToLearn]:
    """Return the newest ended conversations of a prompt that were logged at or after a time."""
    query = _ended(account_id, prompt_id).where(ConversationRow.created_at >= since)
    query = query.order_by(ConversationRow.seq.desc()).limit(limit)
    return [ToLearn._make(row) for row in connection.execute(query)]


def ended(connection: Connection, account_id: str, prompt_id: str, ids: Sequence[str]) -> list[ToLearn]:
    """Return which of some conversations belong to a prompt and have ended."""
    query = _ended(account_id, prompt_id)
    return [
        ToLearn._make(row)
        for some in in_batches(ids)
        for row in connection.execute(query.where(ConversationRow.id.in_(some)))
    ]


def learned_judge(rows: Rows, prompt_id: str) -> LearnedJudgeRow | None:
    """Return the newest version of a prompt's learned judge."""
    return rows.find(newest(LearnedJudgeRow, prompt_id=prompt_id).limit(1))


def add_learned_judge(rows: Rows, row: LearnedJudgeRow) -> None:
    """Add a version; earlier ones no longer judge."""
    rows.core.execute(update(LearnedJudgeRow).filter_by(prompt_id=row.prompt_id).values(judges=False))
    rows.insert(row)


def remove_learned_judge(connection: Connection, prompt_id: str) -> bool:
    """Remove all versions of a prompt; return whether there were any."""
    return bool(connection.execute(delete(LearnedJudgeRow).filter_by(prompt_id=prompt_id)).rowcount)
