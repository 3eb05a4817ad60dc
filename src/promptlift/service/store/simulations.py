"""Simulated conversations and the cells that they lie in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, insert, select

from promptlift.service.store.rows import equal
from promptlift.service.store.tables import optimization_cells, optimization_variants, simulations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables import AnyRow

_ADD = insert(simulations)


def add_cells(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Keep who talks about what, before the first conversation in these cells."""
    connection.execute(insert(optimization_cells), list(rows))


def cells(connection: Connection, optimization_id: str, *, stage: str | None = None) -> Sequence[AnyRow]:
    """Return the cells of an optimization by number."""
    wanted = equal(optimization_cells, optimization_id=optimization_id, stage=stage)
    return connection.execute(
        select(optimization_cells).where(*wanted).order_by(optimization_cells.c.number)
    ).all()


def add(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Keep conversations; all rows have the same columns."""
    connection.execute(_ADD, list(rows))


def of_cells(connection: Connection, optimization_id: str, first: int, last: int) -> Sequence[AnyRow]:
    """Return the outcomes of the conversations in a range of cells by cell and arm, without their texts."""
    columns = (
        simulations.c.cell,
        simulations.c.arm,
        simulations.c.status,
        simulations.c.task_completed,
        simulations.c.sentiment_score,
        simulations.c.quality,
        simulations.c.criteria,
    )
    return connection.execute(
        select(*columns)
        .where(
            simulations.c.optimization_id == optimization_id,
            simulations.c.cell >= first,
            simulations.c.cell <= last,
        )
        .order_by(simulations.c.cell, simulations.c.arm)
    ).all()


def of_stage(connection: Connection, optimization_id: str, stage: str) -> Sequence[AnyRow]:
    """Return the conversations of a stage by cell and arm: how they ended, what went wrong, and the targets that they met."""
    table = simulations
    return connection.execute(
        select(
            table.c.id, table.c.cell, table.c.arm, table.c.task_completed, table.c.issues, table.c.criteria
        )
        .filter_by(optimization_id=optimization_id, stage=stage)
        .order_by(table.c.cell, table.c.arm)
    ).all()


def contents_of_stage(connection: Connection, optimization_id: str, stage: str) -> Sequence[bytes | None]:
    """Return the transcripts of a stage by cell and arm."""
    return connection.scalars(
        select(simulations.c.content)
        .filter_by(optimization_id=optimization_id, stage=stage)
        .order_by(simulations.c.cell, simulations.c.arm)
    ).all()


def content(connection: Connection, optimization_id: str, simulation_id: str) -> bytes | None:
    """Return the transcript of one conversation."""
    return connection.scalar(
        select(simulations.c.content).filter_by(optimization_id=optimization_id, id=simulation_id)
    )


def criteria(
    connection: Connection, optimization_id: str, *, stage: str, arms: Sequence[int], passes: int
) -> Sequence[AnyRow]:
    """Return cell, arm and criteria of the conversations of some arms in the first passes."""
    table = simulations
    return connection.execute(
        select(table.c.cell, table.c.arm, table.c.criteria).where(
            table.c.optimization_id == optimization_id,
            table.c.stage == stage,
            table.c.arm.in_(arms),
            table.c.pass_number <= passes,
        )
    ).all()


def count_by_stage(connection: Connection, optimization_id: str) -> dict[str, int]:
    """Count the conversations of each stage, those that were lost included."""
    rows = connection.execute(
        select(simulations.c.stage, func.count())
        .filter_by(optimization_id=optimization_id)
        .group_by(simulations.c.stage)
    ).all()
    return dict(map(tuple, rows))


def page(
    connection: Connection,
    account_id: str,
    optimization_id: str,
    *,
    arm: int | None,
    stage: str | None,
    task_completed: bool | None,
    content: bool,
    limit: int,
    offset: int,
) -> tuple[Sequence[AnyRow], int]:
    """Conversations by cell and arm with their persona and scenario, and how many there are."""
    wanted = equal(
        simulations,
        account_id=account_id,
        optimization_id=optimization_id,
        arm=arm,
        stage=stage,
        task_completed=task_completed,
    )
    total = connection.scalar(select(func.count()).select_from(simulations).where(*wanted)) or 0
    columns = [column for column in simulations.c if content or column.name != "content"]
    rows = connection.execute(
        select(
            *columns,
            optimization_cells.c.persona,
            optimization_cells.c.scenario,
            optimization_variants.c.id.label("variant_id"),
        )
        .join(
            optimization_cells,
            and_(
                optimization_cells.c.optimization_id == simulations.c.optimization_id,
                optimization_cells.c.number == simulations.c.cell,
            ),
        )
        .join(
            optimization_variants,
            and_(
                optimization_variants.c.optimization_id == simulations.c.optimization_id,
                optimization_variants.c.number == simulations.c.arm,
            ),
        )
        .where(*wanted)
        .order_by(simulations.c.cell, simulations.c.arm)
        .limit(limit)
        .offset(offset)
    ).all()
    return rows, total
