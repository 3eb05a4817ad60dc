"""The base of all rows, and common columns."""

from __future__ import annotations

from datetime import datetime
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
    text,
)
from sqlalchemy.orm import DeclarativeBase, mapped_column

from promptlift.schema.model import ApiModel
from promptlift.service import clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Dialect
    from sqlalchemy.orm import MappedColumn

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


def reference(table: str, **options: Any) -> MappedColumn[Any]:
    """Return a column that refers to a row of another table."""
    return mapped_column(ForeignKey(f"{table}.id"), **options)


def only(condition: str) -> dict[str, Any]:
    """Return the options of a partial index."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}
