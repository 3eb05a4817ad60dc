"""Simulated conversations and their cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import func, select
from sqlalchemy.orm import defer

from promptlift.service.store.rows import Rows, wanted
from promptlift.service.store.tables.runs import BenchmarkConversationRow, CellRow, SimulationRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection, Select

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


def query(kind: type[S], *, content: bool = False, **values: str | int | bool | None) -> Select[S]:
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
    found = query(SimulationRow, optimization_id=optimization_id, stage=stage)
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


def contents(connection: Connection, optimization_id: str, **values: str) -> list[str]:
    """Return the transcripts of conversations with these values by cell and arm."""
    held = query(SimulationRow, content=True, optimization_id=optimization_id, **values)
    found = connection.scalars(held.with_only_columns(SimulationRow.content))
    return [content.decode("utf-8", "replace") for content in found if content]


def count_by_stage(connection: Connection, optimization_id: str) -> dict[str, int]:
    """Count the conversations of each stage, including lost ones."""
    stages = select(SimulationRow.stage, func.count()).filter_by(optimization_id=optimization_id)
    return dict(connection.execute(stages.group_by(SimulationRow.stage)).all())
