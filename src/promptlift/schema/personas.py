"""Personas, who are the users in simulated conversations. The endpoints are ours."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, field_validator

from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel, RequestModel, UtcTime, not_null
from promptlift.schema.texts import LongText, Name, not_blank

PersonaText = Annotated[LongText, AfterValidator(not_blank)]


class Persona(ApiModel):
    """The user of a simulated conversation."""

    id: Annotated[str, Column(name="persona_id")]
    """The persona's id."""
    name: Annotated[str, Column()]
    """The persona's name."""
    description: Annotated[str | None, Column()] = None
    """The persona's character and manner of speaking."""
    built_in: Annotated[bool | None, Column()] = None
    """Whether it comes with the service; such a persona cannot be changed."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When the persona was created."""


class PersonaCreate(RequestModel):
    """Body of ``POST /personas``."""

    name: Name
    description: PersonaText


class PersonaUpdate(RequestModel):
    """Body of ``PATCH /personas/:id``: the fields that change."""

    name: Name | None = None
    description: PersonaText | None = None

    _not_null = field_validator("name", "description", mode="before")(not_null)
