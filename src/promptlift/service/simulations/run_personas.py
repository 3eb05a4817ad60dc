"""The personas of a run: the account's own and the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.service.simulations.personas import Persona, library
from promptlift.service.store import personas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

__all__ = ["all_personas", "named"]


def all_personas(connection: Connection, account_id: str, *, before: int) -> list[Persona]:
    """Return the account's own personas as they were at a time, and the library."""
    return [*_own(connection, account_id, before), *library()]


def named(connection: Connection, account_id: str, ids: Sequence[str], *, before: int) -> dict[str, Persona]:
    """Return the personas with these ids; unknown ids are left out."""
    there = {persona.id: persona for persona in all_personas(connection, account_id, before=before)}
    return {one: there[one] for one in ids if one in there}


def _own(connection: Connection, account_id: str, before: int) -> list[Persona]:
    rows = personas.alive_at(connection, account_id, before)
    return [Persona(row.id, row.name, row.description) for row in rows]
