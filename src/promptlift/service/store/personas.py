"""The personas that accounts wrote themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from promptlift.service.store.tables.prompts import PersonaRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Select

    from promptlift.service.store.tables import AnyRow


def living(account_id: str) -> Select[PersonaRow]:
    """Return the query of the personas of an account, newest first."""
    wanted = select(PersonaRow).filter_by(account_id=account_id, deleted_at=None)
    return wanted.order_by(PersonaRow.seq.desc())


def alive_at(connection: Connection, account_id: str, at: int) -> Sequence[AnyRow]:
    """Return the personas that the account had at a time (epoch ms), in the order they were made."""
    return connection.execute(
        select(PersonaRow.id, PersonaRow.name, PersonaRow.description)
        .where(
            PersonaRow.account_id == account_id,
            PersonaRow.created_at <= at,
            PersonaRow.deleted_at.is_(None) | (PersonaRow.deleted_at > at),
        )
        .order_by(PersonaRow.seq)
    ).all()
