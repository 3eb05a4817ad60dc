"""Custom judges: their versions, the conversations that they judge, and their verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, case, delete, func, insert, select, type_coerce

from promptlift.schema.judges import JudgeVerdict
from promptlift.service import clock
from promptlift.service.store.leases import announce, in_batches
from promptlift.service.store.rows import Moment, Rows, equal, newest, wanted
from promptlift.service.store.tables.conversations import ContentRow, ConversationRow
from promptlift.service.store.tables.prompts import PromptRow
from promptlift.service.store.tables.runs import JudgeRow, RunRow, VerdictRow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Select

    from promptlift.schema.queries import VerdictsQuery


def find(
    connection: Connection, account_id: str, judge_id: str, *, version: int | None = None, lock: bool = False
) -> JudgeRow | None:
    """Return a version of a judge of the account, by default the newest; ``None`` if there is none."""
    query = wanted(JudgeRow, account_id=account_id, judge_id=judge_id, version=version)
    query = query.order_by(JudgeRow.version.desc()).limit(1)
    return Rows(connection).find(query.with_for_update() if lock else query)


def get(connection: Connection, row_id: str) -> JudgeRow:
    """Return one version of a judge."""
    return Rows(connection).scalars(wanted(JudgeRow, id=row_id)).one()


def newest_versions(account_id: str) -> Select[JudgeRow]:
    """Return the query for the judges of an account, each in its newest version."""
    last = select(func.max(JudgeRow.seq)).filter_by(account_id=account_id).group_by(JudgeRow.judge_id)
    return newest(JudgeRow).where(JudgeRow.seq.in_(last))


def runs_of(account_id: str, judge_id: str) -> ColumnElement[bool]:
    """Return the condition that a run belongs to a judge, in any version."""
    return RunRow.subject_id.in_(select(JudgeRow.id).filter_by(account_id=account_id, judge_id=judge_id))


def remove(connection: Connection, account_id: str, judge_id: str) -> bool:
    """Delete a judge with everything that belongs to it, and return whether there was one."""
    mine = wanted(JudgeRow, account_id=account_id, judge_id=judge_id).with_only_columns(JudgeRow.id)
    # The runs first: a worker about to store verdicts waits for their rows, and then finds that they are
    # gone. A worker that already holds such a row adds verdicts, whose foreign key waits for the judge, so
    # wait for it before locking the judge.
    of_judge = runs_of(account_id, judge_id)
    connection.execute(select(RunRow.id).where(of_judge).order_by(RunRow.seq).with_for_update())
    ids = list(connection.scalars(mine.order_by(JudgeRow.seq).with_for_update()))
    if not ids:
        return False
    connection.execute(delete(RunRow).where(RunRow.subject_id.in_(ids)))
    announce(connection, RunRow)
    connection.execute(delete(VerdictRow).where(VerdictRow.judge_row_id.in_(ids)))
    connection.execute(delete(JudgeRow).where(JudgeRow.id.in_(ids)))
    return True


# Verdicts


class ToAnswer(NamedTuple):
    """A conversation to judge, with its transcript."""

    id: str
    generation: int
    content: str


_SHOWN: tuple[Any, ...] = (
    (VerdictRow.judge_row_id + "." + VerdictRow.conversation_id).label("id"),
    VerdictRow.conversation_id,
    ConversationRow.prompt_id,
    ConversationRow.status,
    JudgeRow.name.label("judge"),
    JudgeRow.version.label("judge_version"),
    VerdictRow.verdict,
    VerdictRow.reason,
    VerdictRow.analyser,
    VerdictRow.problem,
    type_coerce(ConversationRow.started_at, Moment).label("started_at"),
    type_coerce(ConversationRow.created_at, Moment).label("created_at"),
    type_coerce(VerdictRow.created_at, Moment).label("judged_at"),
)


class MeasuredRates(NamedTuple):
    """The size of a backfill: conversations to judge and their characters, and those that it leaves out."""

    conversations: int
    chars: int
    already_judged: int
    without_content: int


def selected(
    account_id: str, prompt_id: str | None, *, since: datetime | None, until: datetime | None
) -> list[ColumnElement[bool]]:
    """Return the conditions of a selection, which excludes conversations of deleted prompts."""
    living = select(PromptRow.id).where(PromptRow.account_id == account_id, PromptRow.deleted_at.is_(None))
    which = equal(ConversationRow, account_id=account_id, prompt_id=prompt_id)
    which.append(ConversationRow.prompt_id.in_(living))
    if since is not None:
        which.append(ConversationRow.started_at >= clock.from_datetime(since))
    if until is not None:
        which.append(ConversationRow.started_at < clock.from_datetime(until))
    return which


def _verdict_of(judge_row_id: str) -> ColumnElement[bool]:
    return and_(VerdictRow.conversation_id == ConversationRow.id, VerdictRow.judge_row_id == judge_row_id)


def measure(
    connection: Connection,
    judge_row_id: str,
    selection: Sequence[ColumnElement[bool]],
    *,
    most_chars: int,
    limit: int | None,
) -> MeasuredRates:
    """Measure the size of a backfill.

    Parameters
    ----------
    most_chars
        Maximum characters of a transcript to send.
    limit
        Maximum number of conversations to judge, newest first.
    """
    there, judged = ContentRow.conversation_id.is_not(None), VerdictRow.verdict.is_not(None)
    counts = connection.execute(
        select(
            func.count().filter(judged).label("already"), func.count().filter(~judged & ~there).label("gone")
        )
        .select_from(ConversationRow)
        .outerjoin(VerdictRow, _verdict_of(judge_row_id))
        .outerjoin(ContentRow, ContentRow.conversation_id == ConversationRow.id)
        .where(*selection)
    ).one()
    todo = (
        select(case((ContentRow.size > most_chars, most_chars), else_=ContentRow.size).label("chars"))
        .select_from(ConversationRow)
        .outerjoin(VerdictRow, _verdict_of(judge_row_id))
        .join(ContentRow, ContentRow.conversation_id == ConversationRow.id)
        .where(*selection, VerdictRow.verdict.is_(None))
        .order_by(ConversationRow.seq.desc())
        .limit(limit)
        .subquery()
    )
    found = connection.execute(select(func.count(), func.coalesce(func.sum(todo.c.chars), 0))).one()
    return MeasuredRates(int(found[0]), int(found[1]), int(counts.already), int(counts.gone))


def to_judge(
    connection: Connection, judge_row_id: str, selection: Sequence[ColumnElement[bool]], *, limit: int
) -> Sequence[ToAnswer]:
    """Return conversations of a selection that this version has not yet judged or tried, newest first."""
    rows = connection.execute(
        select(ConversationRow.id, ConversationRow.generation, ContentRow.content)
        .join(ContentRow, ContentRow.conversation_id == ConversationRow.id)
        .outerjoin(VerdictRow, _verdict_of(judge_row_id))
        .where(*selection, VerdictRow.conversation_id.is_(None))
        .order_by(ConversationRow.seq.desc())
        .limit(limit)
    )
    return [ToAnswer(row.id, row.generation, row.content.decode("utf-8", "replace")) for row in rows]


def contents(connection: Connection, account_id: str, ids: Sequence[str]) -> dict[str, str]:
    """Return the transcripts of the account's conversations by their ids; missing ones are left out."""
    found: dict[str, str] = {}
    for some in in_batches(ids):
        rows = connection.execute(
            select(ConversationRow.id, ContentRow.content)
            .join(ContentRow, ContentRow.conversation_id == ConversationRow.id)
            .where(ConversationRow.account_id == account_id, ConversationRow.id.in_(some))
        )
        found |= {row.id: row.content.decode("utf-8", "replace") for row in rows}
    return found


def keep_verdicts(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Store verdicts of one judge.

    Verdicts are left out for conversations that were deleted, that changed in content or state since they
    were read (their ``generation``), or that meanwhile have one.
    """
    row_ids = {row["judge_row_id"] for row in rows}
    ids = [row["conversation_id"] for row in rows]
    living = (
        select(ConversationRow.id, ConversationRow.generation)
        .where(ConversationRow.id.in_(ids))
        .order_by(ConversationRow.seq)
    )
    # They must not be deleted during this transaction: a verdict refers to its conversation.
    there = {
        row.id: row.generation
        for row in connection.execute(living.with_for_update(key_share=True, read=True))
    }
    known = set(
        connection.scalars(
            select(VerdictRow.conversation_id).where(
                VerdictRow.judge_row_id.in_(row_ids), VerdictRow.conversation_id.in_(ids)
            )
        )
    )
    new = []
    for row in rows:
        generation = there.get(row["conversation_id"])
        if row["conversation_id"] not in known and generation == row["generation"]:
            new.append({name: value for name, value in row.items() if name != "generation"})
    if new:
        connection.execute(insert(VerdictRow), new)


def forget_failed(connection: Connection, judge_row_id: str) -> None:
    """Delete the failed attempts of a version, so that they are repeated."""
    connection.execute(
        delete(VerdictRow).filter_by(judge_row_id=judge_row_id).where(VerdictRow.verdict.is_(None))
    )


def progress(connection: Connection, run_id: str) -> tuple[int, int]:
    """Count the verdicts and the failed attempts of a run."""
    found = select(func.count(VerdictRow.verdict), func.count()).filter_by(run_id=run_id)
    done, tried = connection.execute(found).one()
    return done, tried - done


def known_verdicts(
    connection: Connection, judge_row_id: str, ids: Sequence[str], analyser: str
) -> dict[str, bool]:
    """Return the answers of a version for conversations, by this model."""
    found: dict[str, bool] = {}
    for some in in_batches(ids):
        rows = connection.execute(
            select(VerdictRow.conversation_id, VerdictRow.verdict).where(
                VerdictRow.judge_row_id == judge_row_id,
                VerdictRow.analyser == analyser,
                VerdictRow.verdict.is_not(None),
                VerdictRow.conversation_id.in_(some),
            )
        )
        found |= {row[0]: bool(row[1]) for row in rows}
    return found


def verdict_page(
    connection: Connection, judge: JudgeRow, query: VerdictsQuery
) -> tuple[list[JudgeVerdict], int]:
    """Return one page of verdicts of a version, newest conversations first, and their total number.

    With ``query.all_versions``, the newest answer for each conversation, from any version of the judge.
    """
    found = (
        select(*_SHOWN)
        .select_from(VerdictRow)
        .join(JudgeRow, JudgeRow.id == VerdictRow.judge_row_id)
        .join(ConversationRow, ConversationRow.id == VerdictRow.conversation_id)
        .where(*equal(ConversationRow, prompt_id=query.linked_id))
    )
    if query.all_versions:
        place = func.row_number().over(
            partition_by=VerdictRow.conversation_id, order_by=JudgeRow.version.desc()
        )
        ranked = (
            select(VerdictRow.judge_row_id, VerdictRow.conversation_id, place.label("place"))
            .join(JudgeRow, JudgeRow.id == VerdictRow.judge_row_id)
            .where(JudgeRow.judge_id == judge.judge_id, VerdictRow.verdict.is_not(None))
            .subquery()
        )
        same = and_(
            ranked.c.conversation_id == VerdictRow.conversation_id,
            ranked.c.judge_row_id == VerdictRow.judge_row_id,
        )
        found = found.join(ranked, same).where(ranked.c.place == 1)
    else:
        found = found.where(VerdictRow.judge_row_id == judge.id)
    page = found.order_by(ConversationRow.seq.desc()).limit(query.limit).offset(query.offset)
    shown = [JudgeVerdict(**row) for row in connection.execute(page).mappings()]
    return shown, Rows(connection).count(found)
