"""The personas that accounts wrote themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.service.store.rows import Rows, newest, wanted
from promptlift.service.store.tables.prompts import PersonaRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Select


def living(account_id: str) -> Select[PersonaRow]:
    """Return the query of the personas of an account, newest first."""
    return newest(PersonaRow, account_id=account_id).filter_by(deleted_at=None)


def alive_at(connection: Connection, account_id: str, at: int) -> Sequence[PersonaRow]:
    """Return the personas that the account had at a time (epoch ms), in the order they were made."""
    there = (PersonaRow.created_at <= at) & (PersonaRow.deleted_at.is_(None) | (PersonaRow.deleted_at > at))
    query = wanted(PersonaRow, account_id=account_id).where(there).order_by(PersonaRow.seq)
    return Rows(connection).all(query)
