"""The rows of a transaction as objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from promptlift.service.errors import not_found
from promptlift.service.store.tables.mapping import Base

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select
    from sqlalchemy.orm import InstrumentedAttribute

    from promptlift.schema.queries import PageQuery

R = TypeVar("R", bound=Base)


def wanted(kind: type[R], **values: Any) -> Select[R]:
    """Return the query for the rows with these values; ``None`` matches any value."""
    return select(kind).filter_by(**{name: value for name, value in values.items() if value is not None})


def newest(kind: type[R], **values: Any) -> Select[R]:
    """Return the same query, newest rows first."""
    return wanted(kind, **values).order_by(kind.__table__.c.seq.desc())


def equal(kind: type[Base], **values: Any) -> list[ColumnElement[bool]]:
    """Return the conditions that columns have these values; ``None`` matches any value."""
    return [getattr(kind, name) == value for name, value in values.items() if value is not None]


def counts(
    connection: Connection,
    column: InstrumentedAttribute[str],
    values: Sequence[str],
    *where: ColumnElement[bool],
) -> dict[str, int]:
    """Count the rows with each of these values of a column, under some conditions."""
    found = select(column, func.count()).where(column.in_(values), *where).group_by(column)
    return dict.fromkeys(values, 0) | dict(connection.execute(found).all())


class Rows(Session):
    """The rows of a transaction as objects.

    Parameters
    ----------
    connection
        Connection that began the transaction, and ends it.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, expire_on_commit=False)
        self.core = connection

    def find(self, query: Select[R]) -> R | None:
        """Return the only row of a query, if there is one."""
        return self.scalars(query).one_or_none()

    def found(self, query: Select[R], kind: str) -> R:
        """Return the only row of a query.

        Raises
        ------
        ApiException
            ``NOT_FOUND``, with the kind of the row.
        """
        row = self.scalars(query).one_or_none()
        if row is None:
            raise not_found(kind)
        return row

    def all(self, query: Select[R]) -> Sequence[R]:
        """Return the rows of a query."""
        return self.scalars(query).all()

    def insert(self, *rows: Base) -> None:
        """Add rows, and write them immediately."""
        self.add_all(rows)
        self.flush()

    def count(self, query: Select[Any]) -> int:
        """Count the rows of a query."""
        counted = query.with_only_columns(func.count(), maintain_column_froms=True).order_by(None)
        return self.scalar(counted) or 0

    def page(self, query: Select[R], place: PageQuery) -> tuple[Sequence[R], int]:
        """Return one page of the rows of a query, and their total number."""
        total = self.count(query)
        return self.all(query.limit(place.limit).offset(place.offset)), total
