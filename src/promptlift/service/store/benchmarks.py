"""What benchmarks keep: their simulated conversations, and the scenario sets that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import defer

from promptlift.service.store import paging
from promptlift.service.store.rows import Rows, newest, wanted
from promptlift.service.store.tables import benchmark_conversations, optimization_variants, optimizations
from promptlift.service.store.tables.runs import RunRow, ScenarioSetRow
from promptlift.service.store.wake_ups import announce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables import AnyRow

_ADD = insert(benchmark_conversations)
_OUTCOME = (
    "cell", "arm", "status", "task_completed", "sentiment_score", "quality", "turns", "input_tokens",
    "output_tokens", "tokens_estimated",
)  # fmt: skip


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


def remove(connection: Connection, account_id: str, benchmark_id: str) -> bool:
    """Delete a benchmark and its conversations, and return whether there was one. Its scenario set stays."""
    # The row first: a worker that is about to keep conversations waits for it, and then finds that it is gone.
    mine = wanted(RunRow, account_id=account_id, id=benchmark_id).filter_by(kind="benchmark")
    if Rows(connection).find(mine.with_for_update()) is None:
        return False
    connection.execute(delete(benchmark_conversations).filter_by(benchmark_id=benchmark_id))
    connection.execute(delete(RunRow).filter_by(id=benchmark_id))
    announce(connection, RunRow.__table__)
    return True


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


def add_set(connection: Connection, row: ScenarioSetRow) -> ScenarioSetRow:
    """Add a version of a scenario set and return it."""
    rows = Rows(connection)
    rows.add(row)
    rows.flush()
    return row


def find_set(
    connection: Connection, account_id: str, set_id: str, *, version: int | None = None
) -> ScenarioSetRow | None:
    """Return a version of a scenario set of the account, the newest without ``version``; ``None`` when there is none."""
    query = wanted(ScenarioSetRow, account_id=account_id, set_id=set_id, version=version)
    return Rows(connection).find(query.order_by(ScenarioSetRow.version.desc()).limit(1))


def get_set(connection: Connection, row_id: str) -> ScenarioSetRow:
    """Return one version of a scenario set."""
    return Rows(connection).scalars(wanted(ScenarioSetRow, id=row_id)).one()


def sets(connection: Connection, row_ids: Sequence[str]) -> dict[str, ScenarioSetRow]:
    """Return these versions of scenario sets without their scenarios, by the id of their row."""
    query = wanted(ScenarioSetRow).where(ScenarioSetRow.id.in_(row_ids)).options(defer(ScenarioSetRow.cells))
    return {row.id: row for row in Rows(connection).all(query)}


def sets_page(
    connection: Connection, account_id: str, *, limit: int, offset: int
) -> tuple[Sequence[ScenarioSetRow], int]:
    """Return one page of the versions of scenario sets, newest first, and how many there are."""
    rows, query = Rows(connection), newest(ScenarioSetRow, account_id=account_id)
    return rows.all(query.limit(limit).offset(offset)), rows.count(query)


def fill_set(connection: Connection, row_id: str, cells: list[dict[str, Any]]) -> None:
    """Keep the scenarios of a set, unless another benchmark has chosen them meanwhile."""
    connection.execute(
        update(ScenarioSetRow)
        .filter_by(id=row_id)
        .where(ScenarioSetRow.cells.is_(None))
        .values(cells=cells, size=len(cells))
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
