"""Personas: an account's own, and the library included in the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.schema.model import Done, Page
from promptlift.schema.simulations import Persona
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.errors import full, invalid_state
from promptlift.service.identifiers import new_id
from promptlift.service.simulations.personas import library, library_by_id
from promptlift.service.store import accounts, prompts
from promptlift.service.store.tables.prompts import PersonaRow

if TYPE_CHECKING:
    from promptlift.schema.queries import PersonasQuery
    from promptlift.schema.simulations import PersonaCreate, PersonaUpdate
    from promptlift.service.call import AnyCall
    from promptlift.service.simulations import personas
    from promptlift.service.store.rows import Rows

# unspecified: how many personas an account may have. Every optimization draws from all of them.
OWN_MAX = 1_000


@answers(endpoints.PERSONAS_LIST)
def page(call: Call[None, PersonasQuery]) -> Page[Persona]:
    """Return one page of personas: the account's own, newest first, then the library."""
    with call.read() as rows:
        own, count = rows.page(prompts.living_personas(call.account_id), call.query)
    start = max(0, call.query.offset - count)
    built_in = library()[start : start + call.query.limit - len(own)]
    return Page[Persona](
        data=[*(row.shown(Persona, built_in=False) for row in own), *map(_built_in, built_in)],
        pagination=call.query.of(count + len(library())),
    )


@answers(endpoints.PERSONAS_GET)
def get(call: Call) -> Persona:
    """Return one persona."""
    if call.id in library_by_id():
        return _built_in(library_by_id()[call.id])
    with call.read() as rows:
        return _own(rows, call).shown(Persona, built_in=False)


@answers(endpoints.PERSONAS_CREATE)
def create(call: Call[PersonaCreate]) -> Persona:
    """Add a persona and return it."""
    with call.write() as rows:
        accounts.lock(rows.core, call.account_id)
        if rows.count(prompts.living_personas(call.account_id)) >= OWN_MAX:
            raise full("personas", OWN_MAX)
        row = PersonaRow(
            id=new_id("per"),
            account_id=call.account_id,
            name=call.body.name,
            description=call.body.description,
            created_at=clock.moment(),
        )
        rows.add(row)
        return row.shown(Persona, built_in=False)


@answers(endpoints.PERSONAS_UPDATE)
def update(call: Call[PersonaUpdate]) -> Persona:
    """Update the provided fields of a persona and return it. Running optimizations keep the persona as it was."""
    _refuse_library(call.id)
    with call.write() as rows:
        row = _own(rows, call)
        row.change(call.body.model_dump(exclude_unset=True))
        return row.shown(Persona, built_in=False)


@answers(endpoints.PERSONAS_DELETE)
def delete(call: Call) -> Done:
    """Delete a persona. Its simulated conversations stay."""
    _refuse_library(call.id)
    with call.write() as rows:
        _own(rows, call).deleted_at = clock.moment()
    return Done(success=True, message="Persona deleted")


def _own(rows: Rows, call: AnyCall) -> PersonaRow:
    return rows.found(prompts.living_personas(call.account_id).filter_by(id=call.id), "Persona")


def _refuse_library(persona_id: str) -> None:
    if persona_id in library_by_id():
        raise invalid_state(
            "A persona of the library cannot be changed or deleted; create one of your own instead",
            details={"builtIn": "true"},
        )


def _built_in(persona: personas.SimulatedPersona) -> Persona:
    return Persona(
        id=persona.id, name=persona.name, description=persona.description, built_in=True, created_at=None
    )
