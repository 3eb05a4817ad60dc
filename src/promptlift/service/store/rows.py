"""The base of all rows, their columns, the rows of a transaction as objects, and many rows written at once."""

from __future__ import annotations

import zlib
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import orjson
from sqlalchemy import (
    BigInteger,
    Boolean,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from promptlift.schema.model import ApiModel
from promptlift.service import clock
from promptlift.service.errors import not_found

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Dialect, Select, Table
    from sqlalchemy.orm import InstrumentedAttribute, MappedColumn

    from promptlift.schema.queries import PageQuery

M = TypeVar("M", bound=ApiModel)

# SQLite numbers rows only in a column that is exactly INTEGER.
_SEQUENCE = BigInteger().with_variant(Integer, "sqlite")

# The number of a row, in the order of insertion; its id in the API; the account that owns it.
Seq = Annotated[int, mapped_column(_SEQUENCE, primary_key=True, autoincrement=True)]
Id = Annotated[str, mapped_column(unique=True)]
Account = Annotated[str, mapped_column(ForeignKey("accounts.id"))]
# Part of a primary key.
Key = Annotated[str, mapped_column(primary_key=True)]
Small = Annotated[int, "small"]


class Moment(TypeDecorator[datetime]):
    """A time, stored as milliseconds since 1970, UTC."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | int | None, _dialect: Dialect) -> int | None:
        """Write a time, which may already be in milliseconds."""
        return clock.from_datetime(value) if isinstance(value, datetime) else value

    def process_result_value(self, value: int | None, _dialect: Dialect) -> datetime | None:
        """Read a time."""
        return None if value is None else clock.to_datetime(value)


class Json(TypeDecorator[Any]):
    """A value stored as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, _dialect: Dialect) -> str | None:
        """Write a value."""
        return None if value is None else orjson.dumps(value).decode()

    def process_result_value(self, value: str | None, _dialect: Dialect) -> Any:
        """Read a value."""
        return None if value is None else orjson.loads(value)


class Compressed(TypeDecorator[bytes]):
    """Bytes that are read decompressed: they are written in bulk, by `conversations.add_contents`, which compresses them."""

    impl = LargeBinary
    cache_ok = True

    def process_result_value(self, value: bytes | None, _dialect: Dialect) -> bytes | None:
        """Decompress bytes."""
        return None if value is None else zlib.decompress(value)


class Kept(TypeDecorator[ApiModel]):
    """A model stored as JSON.

    Parameters
    ----------
    model
        The type of the value.
    """

    impl = Text
    cache_ok = True

    def __init__(self, model: type[ApiModel]) -> None:
        super().__init__()
        self.model = model

    def process_bind_param(self, value: ApiModel | None, _dialect: Dialect) -> str | None:
        """Write a value."""
        return None if value is None else orjson.dumps(value.to_wire()).decode()

    def process_result_value(self, value: str | None, _dialect: Dialect) -> ApiModel | None:
        """Read a value."""
        return None if value is None else self.model.model_validate(orjson.loads(value))


class Base(DeclarativeBase):
    """A row of a table. Times that are numbers are milliseconds since 1970, UTC."""

    __table__: ClassVar[Table]
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar = {
        bool: Boolean,
        int: BigInteger,
        Small: Integer,
        float: Float,
        str: Text,
        bytes: LargeBinary,
        datetime: Moment,
    }

    def shown(self, model: type[M], *, only: Iterable[str] | None = None, **more: Any) -> M:
        """Return the row in its API form: the columns that the model shares, or only some, and additional values."""
        names = model.model_fields if only is None else only
        own = {name: getattr(self, name) for name in names if name in self.__table__.c}
        return model(**own | more)

    def change(self, values: Mapping[str, Any]) -> None:
        """Set columns."""
        for name, value in values.items():
            setattr(self, name, value)


class Owned:
    """What most rows have: their number, their id in the API, and the account that owns them. They come first in the table."""

    seq: Mapped[Seq] = mapped_column(sort_order=-3)
    id: Mapped[Id] = mapped_column(sort_order=-2)
    account_id: Mapped[Account] = mapped_column(sort_order=-1)


def reference(table: str, **options: Any) -> MappedColumn[Any]:
    """Return a column that refers to a row of another table."""
    return mapped_column(ForeignKey(f"{table}.id"), **options)


def only(condition: str) -> dict[str, Any]:
    """Return the options of a partial index."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


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


# Fewer rows are as fast with one statement each.
_COPIED_FROM = 50
_BINARY_TYPES = (
    (LargeBinary, "bytea"),
    (Boolean, "bool"),
    (BigInteger, "int8"),
    (Integer, "int4"),
    (Float, "float8"),
)


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that all have the same columns.

    Raises
    ------
    IntegrityError
        A row violates uniqueness or a foreign key; the transaction is lost.
    """
    if not rows:
        return
    names = list(rows[0])
    if connection.dialect.name == "sqlite":
        # As text: for a row of thirty columns, SQLAlchemy prepares the parameters as slowly as SQLite writes
        # it.
        values = [tuple(map(row.__getitem__, names)) for row in rows]
        connection.exec_driver_sql(_insert_text(table, tuple(names)), values)
        return
    if len(rows) < _COPIED_FROM:
        connection.execute(insert(table), list(rows))
        return
    copy_rows(connection, table, names, ([row[name] for name in names] for row in rows))


def copy_rows(
    connection: Connection,
    table: Table,
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    into: str = "",
) -> None:
    """Copy rows into a table of PostgreSQL, or into another table with the same columns.

    Raises
    ------
    DBAPIError
        As with any other statement.
    """
    import psycopg  # noqa: PLC0415 - only where the database is PostgreSQL

    quoted = map(connection.dialect.identifier_preparer.quote, names)
    statement = f"COPY {into or table.name} ({', '.join(quoted)}) FROM STDIN (FORMAT BINARY)"
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types([_binary_type(table.c[name].type) for name in names])
            for row in rows:
                copy.write_row(row)
    except psycopg.Error as error:
        # SQLAlchemy's error for a failure in one of its own statements.
        raise DBAPIError.instance(statement, None, error, psycopg.Error) from error


@cache
def _insert_text(table: Table, names: tuple[str, ...]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"INSERT INTO {table.name} ({quoted}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - names of our tables


def _binary_type(kind: Any) -> str:
    kind = getattr(kind, "impl_instance", kind)
    return next((name for known, name in _BINARY_TYPES if isinstance(kind, known)), "text")
