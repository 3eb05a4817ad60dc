"""Rows of benchmarks, their simulated conversations, and the scenario sets that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select, update

from promptlift.service.store import paging
from promptlift.service.store.leases import Leases
from promptlift.service.store.tables import (
    benchmark_conversations,
    benchmarks,
    optimization_variants,
    optimizations,
    scenario_sets,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables import AnyRow

OPEN = ("queued", "running")

LEASES = Leases(benchmarks, benchmarks.c.status.in_(OPEN))

_ADD = insert(benchmark_conversations)
_OUTCOME = (
    "cell", "arm", "status", "task_completed", "sentiment_score", "quality", "turns", "input_tokens",
    "output_tokens", "tokens_estimated",
)  # fmt: skip


def add(connection: Connection, values: dict[str, Any]) -> None:
    """Add a benchmark."""
    connection.execute(insert(benchmarks).values(model_calls=0, tokens=0, worker=None, **values))


def find(connection: Connection, account_id: str, benchmark_id: str, *, lock: bool = False) -> AnyRow | None:
    """Return a benchmark of the account, ``None`` when there is none of this id."""
    statement = select(benchmarks).filter_by(account_id=account_id, id=benchmark_id)
    return connection.execute(statement.with_for_update() if lock else statement).one_or_none()


def get(connection: Connection, benchmark_id: str) -> AnyRow:
    """Return a benchmark that exists, of any account: for background work."""
    return connection.execute(select(benchmarks).filter_by(id=benchmark_id)).one()


def page(
    connection: Connection, account_id: str, *, status: str | None, limit: int, offset: int
) -> tuple[Sequence[AnyRow], int]:
    """Return one page of benchmarks, newest first, and how many there are."""
    wanted = paging.equal(benchmarks, account_id=account_id, status=status)
    return paging.page(connection, benchmarks, wanted, limit=limit, offset=offset)


def change(connection: Connection, benchmark_id: str, values: dict[str, Any]) -> None:
    """Change columns of a benchmark."""
    connection.execute(update(benchmarks).filter_by(id=benchmark_id).values(**values))


def count_calls(connection: Connection, benchmark_id: str, worker: str, calls: int, tokens: int) -> bool:
    """Count model calls into a benchmark; says whether this worker still has it."""
    result = connection.execute(
        update(benchmarks)
        .filter_by(id=benchmark_id, worker=worker)
        .where(benchmarks.c.status.in_(OPEN))
        .values(model_calls=benchmarks.c.model_calls + calls, tokens=benchmarks.c.tokens + tokens)
    )
    return result.rowcount == 1


def remove(connection: Connection, account_id: str, benchmark_id: str) -> bool:
    """Delete a benchmark and its conversations; says whether there was one. Its scenario set stays."""
    # The row first: a worker that is about to keep conversations waits for it, and then finds that it is gone.
    if find(connection, account_id, benchmark_id, lock=True) is None:
        return False
    connection.execute(delete(benchmark_conversations).filter_by(benchmark_id=benchmark_id))
    connection.execute(delete(benchmarks).filter_by(id=benchmark_id))
    return True


# Conversations


def add_conversations(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Keep conversations; all rows have the same columns."""
    connection.execute(_ADD, list(rows))


def outcomes(connection: Connection, benchmark_id: str) -> Sequence[AnyRow]:
    """Return what came of the conversations so far by cell and arm, without their texts."""
    columns = [benchmark_conversations.c[name] for name in _OUTCOME]
    return connection.execute(
        select(*columns)
        .filter_by(benchmark_id=benchmark_id)
        .order_by(benchmark_conversations.c.cell, benchmark_conversations.c.arm)
    ).all()


def counts(connection: Connection, ids: Sequence[str]) -> dict[str, int]:
    """Count the conversations of each of these benchmarks, those that were lost included."""
    found = connection.execute(
        select(benchmark_conversations.c.benchmark_id, func.count())
        .where(benchmark_conversations.c.benchmark_id.in_(ids))
        .group_by(benchmark_conversations.c.benchmark_id)
    ).all()
    return dict.fromkeys(ids, 0) | {row[0]: int(row[1]) for row in found}


def forget_dropped(connection: Connection, benchmark_id: str) -> None:
    """Delete the conversations that were lost, so that they are held again."""
    connection.execute(delete(benchmark_conversations).filter_by(benchmark_id=benchmark_id, status="dropped"))


def conversations(
    connection: Connection,
    benchmark_id: str,
    *,
    arm: int | None,
    task_completed: bool | None,
    content: bool,
    limit: int,
    offset: int,
) -> tuple[Sequence[AnyRow], int]:
    """Return conversations by cell and arm, and how many there are."""
    table = benchmark_conversations
    wanted = paging.equal(table, benchmark_id=benchmark_id, arm=arm, task_completed=task_completed)
    total = connection.scalar(select(func.count()).select_from(table).where(*wanted)) or 0
    columns = [column for column in table.c if content or column.name != "content"]
    rows = connection.execute(
        select(*columns).where(*wanted).order_by(table.c.cell, table.c.arm).limit(limit).offset(offset)
    ).all()
    return rows, total


# Scenario sets


def add_set(connection: Connection, values: dict[str, Any]) -> None:
    """Add a version of a scenario set."""
    connection.execute(insert(scenario_sets).values(**values))


def find_set(
    connection: Connection, account_id: str, set_id: str, *, version: int | None = None
) -> AnyRow | None:
    """Return a version of a scenario set of the account, the newest without ``version``; ``None`` when there is none."""
    wanted = paging.equal(scenario_sets, account_id=account_id, set_id=set_id, version=version)
    return connection.execute(
        select(scenario_sets).where(*wanted).order_by(scenario_sets.c.version.desc()).limit(1)
    ).one_or_none()


def get_set(connection: Connection, row_id: str) -> AnyRow:
    """Return one version of a scenario set."""
    return connection.execute(select(scenario_sets).filter_by(id=row_id)).one()


def sets(connection: Connection, row_ids: Sequence[str]) -> dict[str, AnyRow]:
    """Return these versions of scenario sets without their scenarios, by the id of their row."""
    columns = [column for column in scenario_sets.c if column.name != "cells"]
    rows = connection.execute(select(*columns).where(scenario_sets.c.id.in_(row_ids)))
    return {row.id: row for row in rows}


def sets_page(
    connection: Connection, account_id: str, *, limit: int, offset: int
) -> tuple[Sequence[AnyRow], int]:
    """Return one page of the versions of scenario sets, newest first, and how many there are."""
    wanted = paging.equal(scenario_sets, account_id=account_id)
    return paging.page(connection, scenario_sets, wanted, limit=limit, offset=offset)


def fill_set(connection: Connection, row_id: str, cells: str, size: int) -> None:
    """Keep the scenarios of a set, unless another benchmark has chosen them meanwhile."""
    connection.execute(
        update(scenario_sets)
        .filter_by(id=row_id)
        .where(scenario_sets.c.cells.is_(None))
        .values(cells=cells, size=size)
    )


def find_variant(connection: Connection, account_id: str, variant_id: str) -> AnyRow | None:
    """Return a variant with the prompt of its optimization; ``None`` when the account has none of this id."""
    return connection.execute(
        select(optimization_variants, optimizations.c.prompt_id)
        .join(optimizations, optimizations.c.id == optimization_variants.c.optimization_id)
        .where(
            optimization_variants.c.account_id == account_id,
            optimization_variants.c.id == variant_id,
        )
    ).one_or_none()
