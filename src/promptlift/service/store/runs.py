"""Runs of all kinds: their rows, their leases, and their simulated conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import defer

from promptlift.service.store.leases import Leases, announce
from promptlift.service.store.rows import Rows, newest, wanted
from promptlift.service.store.tables.runs import (
    BenchmarkConversationRow,
    CellRow,
    OptimizationRow,
    RunRow,
    ScenarioSetRow,
    SimulationRow,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Select

    from promptlift.schema.queries import PageQuery

AnyRun = OptimizationRow | RunRow
R = TypeVar("R", OptimizationRow, RunRow)

OPEN = ("queued", "running")


def leases(*kinds: str) -> Leases:
    """Return the leases of runs of some kinds."""
    return Leases(RunRow, RunRow.kind.in_(kinds) & RunRow.status.in_(OPEN))


def add(connection: Connection, row: R) -> R:
    """Add a run and return it."""
    Rows(connection).insert(row)
    announce(connection, type(row))
    return row


def of(account_id: str, *kinds: str) -> Select[RunRow]:
    """Return the query for the runs of an account of these kinds, newest first."""
    return newest(RunRow, account_id=account_id).where(RunRow.kind.in_(kinds))


def get(connection: Connection, run_id: str) -> RunRow:
    """Return an existing run of any account, for background work."""
    return Rows(connection).scalars(wanted(RunRow, id=run_id)).one()


def page(rows: Rows, query: Select[RunRow], place: PageQuery) -> tuple[Sequence[RunRow], int]:
    """Return one page of runs without their state, and their total number."""
    return rows.page(query.options(defer(RunRow.state, raiseload=True)), place)


def change(connection: Connection, row: AnyRun, **values: Any) -> None:
    """Change columns of a run."""
    connection.execute(update(type(row)).filter_by(id=row.id).values(values))
    row.change(values)
    if "status" in values:
        announce(connection, type(row))


def count(connection: Connection, row: AnyRun, worker: str, spent: Mapping[str, int]) -> bool:
    """Record a run's usage, and return whether this worker still holds it."""
    kind = type(row)
    result = connection.execute(
        update(kind)
        .filter_by(id=row.id, worker=worker)
        .where(kind.status.in_(OPEN))
        .values({name: kind.__table__.c[name] + amount for name, amount in spent.items()})
    )
    return result.rowcount == 1


S = TypeVar("S", SimulationRow, BenchmarkConversationRow)


def cells(connection: Connection, optimization_id: str, *, stage: str | None = None) -> Sequence[CellRow]:
    """Return the cells of an optimization by number."""
    query = wanted(CellRow, optimization_id=optimization_id, stage=stage).order_by(CellRow.number)
    return Rows(connection).all(query)


def cells_of(connection: Connection, held: Sequence[SimulationRow]) -> dict[int, CellRow]:
    """Return the cells of conversations of one optimization by number."""
    numbers = {row.cell for row in held}
    query = select(CellRow).filter_by(optimization_id=held[0].optimization_id) if held else None
    rows = [] if query is None else Rows(connection).all(query.where(CellRow.number.in_(numbers)))
    return {row.number: row for row in rows}


def conversations(kind: type[S], *, content: bool = False, **values: str | int | bool | None) -> Select[S]:
    """Return the query for conversations with these values by cell and arm."""
    found = wanted(kind, **values).order_by(kind.cell, kind.arm)
    return found if content else found.options(defer(kind.content, raiseload=True))


def outcomes(
    connection: Connection,
    optimization_id: str,
    *,
    stage: str | None = None,
    cells: tuple[int, int] | None = None,
    passes: int | None = None,
) -> Sequence[SimulationRow]:
    """Return conversations by cell and arm, without their texts.

    Parameters
    ----------
    cells
        The first and the last cell.
    passes
        Only of the first passes.
    """
    found = conversations(SimulationRow, optimization_id=optimization_id, stage=stage)
    if cells is not None:
        found = found.where(SimulationRow.cell.between(*cells))
    if passes is not None:
        found = found.where(SimulationRow.pass_number <= passes)
    return Rows(connection).all(found)


def by_cell(found: Iterable[SimulationRow]) -> dict[int, dict[int, SimulationRow]]:
    """Return conversations by cell, and within a cell by arm."""
    cells: dict[int, dict[int, SimulationRow]] = {}
    for row in found:
        cells.setdefault(row.cell, {})[row.arm] = row
    return cells


def transcripts(connection: Connection, optimization_id: str, **values: str) -> list[str]:
    """Return the transcripts of conversations with these values by cell and arm."""
    held = conversations(SimulationRow, content=True, optimization_id=optimization_id, **values)
    found = connection.scalars(held.with_only_columns(SimulationRow.content))
    return [content.decode("utf-8", "replace") for content in found if content]


def count_by_stage(connection: Connection, optimization_id: str) -> dict[str, int]:
    """Count the conversations of each stage, including lost ones."""
    stages = select(SimulationRow.stage, func.count()).filter_by(optimization_id=optimization_id)
    return dict(connection.execute(stages.group_by(SimulationRow.stage)).all())


def benchmark_outcomes(connection: Connection, benchmark_id: str) -> Sequence[BenchmarkConversationRow]:
    """Return the conversations so far by cell and arm, without their texts."""
    return Rows(connection).all(conversations(BenchmarkConversationRow, benchmark_id=benchmark_id))


def remove_benchmark(connection: Connection, account_id: str, benchmark_id: str) -> bool:
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
