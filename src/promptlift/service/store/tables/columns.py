"""What tables share: their metadata, and columns that many have."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, MetaData, Row, String, text

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite counts rows up only in a column that is exactly INTEGER.
SEQUENCE = BigInteger().with_variant(Integer, "sqlite")

ID = String(64)


def numbered() -> tuple[Column[Any], Column[Any]]:
    """Return the number of a row in the order in which rows came, and its id in the API."""
    return (
        Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
        Column("id", ID, nullable=False, unique=True),
    )


def account(*, index: bool | None = None) -> Column[Any]:
    """Return the account that a row belongs to."""
    return Column("account_id", ID, ForeignKey("accounts.id"), nullable=False, index=index)


def reference(table: str) -> Column[Any]:
    """Return a column that refers to a row of another table."""
    return Column(f"{table.removesuffix('s')}_id", ID, ForeignKey(f"{table}.id"), nullable=False)


def integers(*names: str) -> list[Column[Any]]:
    """Return columns of whole numbers."""
    return [Column(name, BigInteger, nullable=False) for name in names]


def span_of_prompt() -> list[Column[Any]]:
    """Return what conversations are counted by: their prompt, the length of a span of time, and when it begins."""
    names = ("account_id", "prompt_id")
    return [*(Column(name, ID, nullable=False) for name in names), *integers("span", "start")]


def only(condition: str) -> dict[str, Any]:
    """Return the options of an index of only some rows."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


# A result row whose columns the query says.
AnyRow = Row[*tuple[Any, ...]]
