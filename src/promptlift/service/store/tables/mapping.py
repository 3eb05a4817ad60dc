"""The base of all rows, and the columns that many of them have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import orjson
from sqlalchemy import (
    BigInteger,
    Boolean,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    TypeDecorator,
    text,
)
from sqlalchemy.orm import DeclarativeBase, mapped_column

if TYPE_CHECKING:
    from sqlalchemy import Dialect
    from sqlalchemy.orm import MappedColumn

# SQLite numbers rows only in a column that is exactly INTEGER.
_SEQUENCE = BigInteger().with_variant(Integer, "sqlite")

# The number of a row, in the order of insertion; its id in the API; the account that owns it.
Seq = Annotated[int, mapped_column(_SEQUENCE, primary_key=True, autoincrement=True)]
Id = Annotated[str, mapped_column(unique=True)]
Account = Annotated[str, mapped_column(ForeignKey("accounts.id"))]
# A part of a primary key.
Key = Annotated[str, mapped_column(primary_key=True)]
Small = Annotated[int, "small"]


class Json(TypeDecorator[Any]):
    """A value kept as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, _dialect: Dialect) -> str | None:
        """Write a value."""
        return None if value is None else orjson.dumps(value).decode()

    def process_result_value(self, value: str | None, _dialect: Dialect) -> Any:
        """Read a value."""
        return None if value is None else orjson.loads(value)


class Base(DeclarativeBase):
    """A row of a table. Times are milliseconds since 1970, UTC."""

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
    }


def reference(table: str, **options: Any) -> MappedColumn[Any]:
    """Return a column that refers to a row of another table."""
    return mapped_column(ForeignKey(f"{table}.id"), **options)


def only(condition: str) -> dict[str, Any]:
    """Return the options of a partial index."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


# A result row whose columns the query says.
AnyRow = Row[*tuple[Any, ...]]
