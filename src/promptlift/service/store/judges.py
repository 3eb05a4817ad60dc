"""Rows of judges of one's own and of their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, func, insert, select, update

from promptlift.service.store import paging
from promptlift.service.store.leases import Leases
from promptlift.service.store.tables import judge_runs, judge_verdicts, judges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables import AnyRow

OPEN = ("queued", "running")

LEASES = Leases(judge_runs, judge_runs.c.status.in_(OPEN))


def add(connection: Connection, values: dict[str, Any]) -> None:
    """Add a version of a judge."""
    connection.execute(insert(judges).values(**values))


def find(
    connection: Connection, account_id: str, judge_id: str, *, version: int | None = None, lock: bool = False
) -> AnyRow | None:
    """Return a version of a judge of the account, the newest without ``version``; ``None`` when there is none."""
    wanted = paging.equal(judges, account_id=account_id, judge_id=judge_id, version=version)
    statement = select(judges).where(*wanted).order_by(judges.c.version.desc()).limit(1)
    return connection.execute(statement.with_for_update() if lock else statement).one_or_none()


def find_named(connection: Connection, account_id: str, name: str) -> AnyRow | None:
    """Return the newest version of the judge of this name; ``None`` when the account has none."""
    wanted = (judges.c.account_id == account_id, judges.c.name == name)
    return connection.execute(
        select(judges).where(*wanted).order_by(judges.c.seq.desc()).limit(1)
    ).one_or_none()


def get(connection: Connection, row_id: str) -> AnyRow:
    """Return one version of a judge."""
    return connection.execute(select(judges).filter_by(id=row_id)).one()


def page(
    connection: Connection, account_id: str, *, judge_id: str | None, limit: int, offset: int
) -> tuple[Sequence[AnyRow], int]:
    """Return one page and the number of all: the versions of a judge, or each judge in its newest version."""
    if judge_id is not None:
        wanted = paging.equal(judges, account_id=account_id, judge_id=judge_id)
    else:
        newest = select(func.max(judges.c.seq)).filter_by(account_id=account_id).group_by(judges.c.judge_id)
        wanted = [judges.c.seq.in_(newest)]
    return paging.page(connection, judges, wanted, limit=limit, offset=offset)


def version_counts(connection: Connection, judge_ids: Sequence[str]) -> dict[str, int]:
    """Count the versions of judges."""
    rows = connection.execute(
        select(judges.c.judge_id, func.count())
        .where(judges.c.judge_id.in_(judge_ids))
        .group_by(judges.c.judge_id)
    )
    return {row[0]: int(row[1]) for row in rows}


def verdict_counts(connection: Connection, row_ids: Sequence[str]) -> dict[str, int]:
    """Count the verdicts of versions of judges, those that failed left out."""
    rows = connection.execute(
        select(judge_verdicts.c.judge_row_id, func.count())
        .where(judge_verdicts.c.judge_row_id.in_(row_ids), judge_verdicts.c.verdict.is_not(None))
        .group_by(judge_verdicts.c.judge_row_id)
    )
    return dict.fromkeys(row_ids, 0) | {row[0]: int(row[1]) for row in rows}


def remove(connection: Connection, account_id: str, judge_id: str) -> bool:
    """Delete a judge with everything that belongs to it; says whether there was one."""
    mine = and_(judges.c.account_id == account_id, judges.c.judge_id == judge_id)
    # The runs first: a worker that is about to keep verdicts waits for their rows, and then finds that they are gone. One that
    # has such a row already adds verdicts, whose foreign key waits for the judge: so it is waited for before that is locked.
    runs = select(judge_runs.c.id).where(judge_runs.c.judge_row_id.in_(select(judges.c.id).where(mine)))
    connection.execute(runs.order_by(judge_runs.c.seq).with_for_update())
    ids = list(connection.scalars(select(judges.c.id).where(mine).order_by(judges.c.seq).with_for_update()))
    if not ids:
        return False
    for table in (judge_runs, judge_verdicts):
        connection.execute(delete(table).where(table.c.judge_row_id.in_(ids)))
    connection.execute(delete(judges).where(mine))
    return True


# Runs


def add_run(connection: Connection, values: dict[str, Any]) -> None:
    """Add a run."""
    counts = dict.fromkeys(("model_calls", "tokens", "input_tokens", "output_tokens"), 0)
    connection.execute(insert(judge_runs).values(worker=None, **counts, **values))


def find_run(connection: Connection, account_id: str, run_id: str, *, lock: bool = False) -> AnyRow | None:
    """Return a run of the account, ``None`` when there is none of this id."""
    statement = select(judge_runs).filter_by(account_id=account_id, id=run_id)
    return connection.execute(statement.with_for_update() if lock else statement).one_or_none()


def get_run(connection: Connection, run_id: str) -> AnyRow:
    """Return a run that exists, of any account: for background work."""
    return connection.execute(select(judge_runs).filter_by(id=run_id)).one()


def runs_page(
    connection: Connection, account_id: str, *, judge_id: str | None, limit: int, offset: int
) -> tuple[Sequence[AnyRow], int]:
    """Return one page of runs, newest first, and how many there are."""
    wanted = paging.equal(judge_runs, account_id=account_id)
    if judge_id is not None:
        of_judge = select(judges.c.id).filter_by(account_id=account_id, judge_id=judge_id)
        wanted.append(judge_runs.c.judge_row_id.in_(of_judge))
    return paging.page(connection, judge_runs, wanted, without=("state",), limit=limit, offset=offset)


def change_run(connection: Connection, run_id: str, values: dict[str, Any]) -> None:
    """Change columns of a run."""
    connection.execute(update(judge_runs).filter_by(id=run_id).values(**values))


def count_calls(connection: Connection, run_id: str, worker: str, spent: dict[str, int]) -> bool:
    """Count calls and tokens into a run; says whether this worker still has it."""
    result = connection.execute(
        update(judge_runs)
        .filter_by(id=run_id, worker=worker)
        .where(judge_runs.c.status.in_(OPEN))
        .values({name: judge_runs.c[name] + amount for name, amount in spent.items()})
    )
    return result.rowcount == 1
