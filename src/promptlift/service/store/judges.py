"""Rows of custom judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select

from promptlift.service.store.leases import announce
from promptlift.service.store.rows import Rows, newest, wanted
from promptlift.service.store.tables import judge_verdicts, judges
from promptlift.service.store.tables.runs import JudgeRow, RunRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select


def add(connection: Connection, row: JudgeRow) -> JudgeRow:
    """Add a version of a judge and return it."""
    Rows(connection).insert(row)
    return row


def find(
    connection: Connection, account_id: str, judge_id: str, *, version: int | None = None, lock: bool = False
) -> JudgeRow | None:
    """Return a version of a judge of the account, by default the newest; ``None`` if there is none."""
    query = wanted(JudgeRow, account_id=account_id, judge_id=judge_id, version=version)
    query = query.order_by(JudgeRow.version.desc()).limit(1)
    return Rows(connection).find(query.with_for_update() if lock else query)


def find_named(connection: Connection, account_id: str, name: str) -> JudgeRow | None:
    """Return the newest version of the judge with this name; ``None`` if the account has none."""
    return Rows(connection).find(newest(JudgeRow, account_id=account_id, name=name).limit(1))


def get(connection: Connection, row_id: str) -> JudgeRow:
    """Return one version of a judge."""
    return Rows(connection).scalars(wanted(JudgeRow, id=row_id)).one()


def newest_versions(account_id: str) -> Select[JudgeRow]:
    """Return the query for the judges of an account, each in its newest version."""
    last = select(func.max(JudgeRow.seq)).filter_by(account_id=account_id).group_by(JudgeRow.judge_id)
    return newest(JudgeRow).where(JudgeRow.seq.in_(last))


def version_counts(connection: Connection, judge_ids: Sequence[str]) -> dict[str, int]:
    """Count the versions of judges."""
    rows = connection.execute(
        select(judges.c.judge_id, func.count())
        .where(judges.c.judge_id.in_(judge_ids))
        .group_by(judges.c.judge_id)
    )
    return {row[0]: int(row[1]) for row in rows}


def verdict_counts(connection: Connection, row_ids: Sequence[str]) -> dict[str, int]:
    """Count the verdicts of versions of judges, without failed ones."""
    rows = connection.execute(
        select(judge_verdicts.c.judge_row_id, func.count())
        .where(judge_verdicts.c.judge_row_id.in_(row_ids), judge_verdicts.c.verdict.is_not(None))
        .group_by(judge_verdicts.c.judge_row_id)
    )
    return dict.fromkeys(row_ids, 0) | {row[0]: int(row[1]) for row in rows}


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
    announce(connection, RunRow.__table__)
    connection.execute(delete(judge_verdicts).where(judge_verdicts.c.judge_row_id.in_(ids)))
    connection.execute(delete(JudgeRow).where(JudgeRow.id.in_(ids)))
    return True
