"""Read one page of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

    from promptlift.service.store.tables import AnyRow

__all__ = ["equal", "page"]


def equal(table: Table, **values: Any) -> list[ColumnElement[bool]]:
    """Return the conditions that columns have these values; a column whose value is ``None`` may have any."""
    return [table.c[name] == value for name, value in values.items() if value is not None]


def page(
    connection: Connection,
    table: Table,
    wanted: Iterable[ColumnElement[bool]],
    *,
    without: Iterable[str] = (),
    limit: int,
    offset: int,
) -> tuple[Sequence[AnyRow], int]:
    """Return one page of the rows that are wanted, newest first, and how many there are.

    Parameters
    ----------
    without
        Columns that are left out.
    """
    conditions = list(wanted)
    total = connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0
    columns = [column for column in table.c if column.name not in set(without)]
    rows = select(*columns).where(*conditions).order_by(table.c.seq.desc()).limit(limit).offset(offset)
    return connection.execute(rows).all(), total
