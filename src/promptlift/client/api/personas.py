"""Endpoints of personas, which the embedded service supports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.client.api.group import Group
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from typing import Any

    from promptlift.schema.pages import Done, Page
    from promptlift.schema.simulations import Persona


class Personas(Group):
    """Personas that talk in simulated conversations. The embedded service supports them; others may not."""

    def list(self, *, limit: int | None = None, offset: int | None = None) -> Page[Persona]:
        """Return one page of personas: the account's own, then those of the library."""
        return self._send(endpoints.PERSONAS_LIST, limit=limit, offset=offset)

    def create(self, *, name: str, description: str) -> Persona:
        """Add a persona to the account."""
        return self._send(endpoints.PERSONAS_CREATE, name=name, description=description)

    def get(self, persona_id: str) -> Persona:
        """Return one persona."""
        return self._send(endpoints.PERSONAS_GET, persona_id)

    def update(self, persona_id: str, **fields: Any) -> Persona:
        """Change ``name`` or ``description`` of a persona of the account."""
        return self._send(endpoints.PERSONAS_UPDATE, persona_id, **fields)

    def delete(self, persona_id: str) -> Done:
        """Delete a persona of the account."""
        return self._send(endpoints.PERSONAS_DELETE, persona_id)
