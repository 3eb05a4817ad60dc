"""Personas: an account's own, and the library that comes with the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.service import clock
from promptlift.service.errors import ApiException, not_found
from promptlift.service.identifiers import new_id
from promptlift.service.simulations.personas import library, library_by_id
from promptlift.service.store import accounts, personas

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.personas import PersonaCreate, PersonaUpdate
    from promptlift.service.simulations.personas import Persona
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow

# unspecified: how many personas an account may have. Every optimization draws from all of them.
OWN_MAX = 1_000


def page(database: Database, caller: Caller, *, limit: int, offset: int) -> dict[str, Any]:
    """Return one page of personas: the account's own, newest first, then the library."""
    with database.read() as connection:
        own = personas.count(connection, caller.account_id)
        rows = personas.page(connection, caller.account_id, limit=limit, offset=offset)
    start = max(0, offset - own)
    built_in = library()[start : start + limit - len(rows)]
    return {
        "data": [*(_own(row) for row in rows), *(_built_in(persona) for persona in built_in)],
        "pagination": {"total": own + len(library()), "limit": limit, "offset": offset},
    }


def get(database: Database, caller: Caller, persona_id: str) -> dict[str, Any]:
    """Return one persona.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    if persona_id in library_by_id():
        return _built_in(library_by_id()[persona_id])
    with database.read() as connection:
        return _own(_find(connection, caller, persona_id))


def create(database: Database, caller: Caller, body: PersonaCreate) -> dict[str, Any]:
    """Add a persona and return it.

    Raises
    ------
    ApiException
        ``INVALID_STATE`` when the account has too many.
    """
    persona_id = new_id("per")
    values = {
        "id": persona_id,
        "account_id": caller.account_id,
        "name": body.name,
        "description": body.description,
        "created_at": clock.now(),
    }
    with database.write() as connection:
        accounts.lock(connection, caller.account_id)
        if personas.count(connection, caller.account_id) >= OWN_MAX:
            raise ApiException(
                "INVALID_STATE",
                f"The account has the maximum of {OWN_MAX} personas; delete one first",
                details={"personas": f"at most {OWN_MAX}"},
            )
        personas.add(connection, values)
        return _own(_find(connection, caller, persona_id))


def update(database: Database, caller: Caller, persona_id: str, body: PersonaUpdate) -> dict[str, Any]:
    """Update the provided fields of a persona and return it. Running optimizations keep the persona as it was.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, or ``INVALID_STATE`` for one of the library.
    """
    _check_own(persona_id)
    changes = body.model_dump(exclude_unset=True)
    with database.write() as connection:
        if changes:
            personas.change(connection, caller.account_id, persona_id, changes)
        return _own(_find(connection, caller, persona_id))


def delete(database: Database, caller: Caller, persona_id: str) -> dict[str, Any]:
    """Delete a persona, and say so. Its simulated conversations stay.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, or ``INVALID_STATE`` for one of the library.
    """
    _check_own(persona_id)
    with database.write() as connection:
        _find(connection, caller, persona_id)
        personas.change(connection, caller.account_id, persona_id, {"deleted_at": clock.now()})
    return {"success": True, "message": "Persona deleted"}


def _find(connection: Connection, caller: Caller, persona_id: str) -> AnyRow:
    row = personas.find(connection, caller.account_id, persona_id)
    if row is None:
        raise not_found("Persona")
    return row


def _check_own(persona_id: str) -> None:
    if persona_id in library_by_id():
        raise ApiException(
            "INVALID_STATE",
            "A persona of the library cannot be changed or deleted; create one of your own instead",
            details={"builtIn": "true"},
        )


def _own(row: AnyRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "builtIn": False,
        "createdAt": clock.iso(row.created_at),
    }


def _built_in(persona: Persona) -> dict[str, Any]:
    return {
        "id": persona.id,
        "name": persona.name,
        "description": persona.description,
        "builtIn": True,
        "createdAt": None,
    }
