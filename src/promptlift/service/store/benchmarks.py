"""Rows of benchmarks: their simulated conversations, and their shared scenario sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, update
from sqlalchemy.orm import defer

from promptlift.service.store import simulations
from promptlift.service.store.leases import announce
from promptlift.service.store.rows import Rows, wanted
from promptlift.service.store.tables.runs import BenchmarkConversationRow, RunRow, ScenarioSetRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection


def outcomes(connection: Connection, benchmark_id: str) -> Sequence[BenchmarkConversationRow]:
    """Return the conversations so far by cell and arm, without their texts."""
    return Rows(connection).all(simulations.query(BenchmarkConversationRow, benchmark_id=benchmark_id))


def remove(connection: Connection, account_id: str, benchmark_id: str) -> bool:
    """Delete a benchmark and its conversations, and return whether there was one. Its scenario set stays."""
    # The row first: a worker about to store conversations waits for it, and then finds that it is gone.
    mine = wanted(RunRow, account_id=account_id, id=benchmark_id).filter_by(kind="benchmark")
    if Rows(connection).find(mine.with_for_update()) is None:
        return False
    connection.execute(delete(BenchmarkConversationRow).filter_by(benchmark_id=benchmark_id))
    connection.execute(delete(RunRow).filter_by(id=benchmark_id))
    announce(connection, RunRow)
    return True


def forget_dropped(connection: Connection, benchmark_id: str) -> None:
    """Delete the lost conversations, so that they are simulated again."""
    connection.execute(
        delete(BenchmarkConversationRow).filter_by(benchmark_id=benchmark_id, status="dropped")
    )


# Scenario sets


def find_set(
    connection: Connection, account_id: str, set_id: str, *, version: int | None = None
) -> ScenarioSetRow | None:
    """Return a version of a scenario set of the account, by default the newest; ``None`` if there is none."""
    query = wanted(ScenarioSetRow, account_id=account_id, set_id=set_id, version=version)
    return Rows(connection).find(query.order_by(ScenarioSetRow.version.desc()).limit(1))


def get_set(connection: Connection, row_id: str) -> ScenarioSetRow:
    """Return one version of a scenario set."""
    return Rows(connection).scalars(wanted(ScenarioSetRow, id=row_id)).one()


def sets(connection: Connection, row_ids: Sequence[str]) -> dict[str, ScenarioSetRow]:
    """Return these versions of scenario sets without their scenarios, by the id of their row."""
    query = wanted(ScenarioSetRow).where(ScenarioSetRow.id.in_(row_ids)).options(defer(ScenarioSetRow.cells))
    return {row.id: row for row in Rows(connection).all(query)}


def fill_set(connection: Connection, row_id: str, cells: list[dict[str, Any]]) -> None:
    """Store the scenarios of a set, unless another benchmark has chosen them meanwhile."""
    connection.execute(
        update(ScenarioSetRow)
        .filter_by(id=row_id)
        .where(ScenarioSetRow.cells.is_(None))
        .values(cells=cells, size=len(cells))
    )
