"""Rows of the personas that accounts wrote themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from promptlift.service.store.tables import personas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from promptlift.service.store.tables import AnyRow


def _living(account_id: str) -> tuple[ColumnElement[bool], ...]:
    return (personas.c.account_id == account_id, personas.c.deleted_at.is_(None))


def find(connection: Connection, account_id: str, persona_id: str) -> AnyRow | None:
    """Return a persona of the account, ``None`` when there is none of this id."""
    return connection.execute(
        select(personas).where(*_living(account_id), personas.c.id == persona_id)
    ).one_or_none()


def count(connection: Connection, account_id: str) -> int:
    """Count the personas of the account."""
    return int(connection.scalar(select(func.count()).select_from(personas).where(*_living(account_id))) or 0)


def page(connection: Connection, account_id: str, *, limit: int, offset: int) -> Sequence[AnyRow]:
    """Return personas of the account, newest first."""
    return connection.execute(
        select(personas)
        .where(*_living(account_id))
        .order_by(personas.c.seq.desc())
        .limit(limit)
        .offset(offset)
    ).all()


def add(connection: Connection, values: dict[str, Any]) -> None:
    """Add a persona."""
    connection.execute(insert(personas).values(**values))


def change(connection: Connection, account_id: str, persona_id: str, values: dict[str, Any]) -> None:
    """Change columns of a persona."""
    connection.execute(
        update(personas).where(*_living(account_id), personas.c.id == persona_id).values(**values)
    )


def alive_at(connection: Connection, account_id: str, at: int) -> Sequence[AnyRow]:
    """Return the personas that the account had at a time (epoch ms), in the order they were made."""
    return connection.execute(
        select(personas)
        .where(
            personas.c.account_id == account_id,
            personas.c.created_at <= at,
            personas.c.deleted_at.is_(None) | (personas.c.deleted_at > at),
        )
        .order_by(personas.c.seq)
    ).all()
