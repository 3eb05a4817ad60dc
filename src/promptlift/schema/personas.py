"""Personas that talk with a prompt in simulated conversations. The endpoints are ours."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, field_validator

from promptlift.schema.model import ApiModel, RequestModel, UtcTime
from promptlift.schema.texts import LongText, Name, visible

PersonaText = Annotated[LongText, AfterValidator(visible)]


class Persona(ApiModel):
    """Somebody who talks with a prompt."""

    id: str
    name: str
    description: str | None = None
    built_in: bool | None = None
    """Whether it comes with the service; such a persona cannot be changed."""
    created_at: UtcTime | None = None


class PersonaCreate(RequestModel):
    """Body of ``POST /personas``."""

    name: Name
    description: PersonaText


class PersonaUpdate(RequestModel):
    """Body of ``PATCH /personas/:id``: the fields that change."""

    name: Name | None = None
    description: PersonaText | None = None

    @field_validator("name", "description", mode="before")
    @classmethod
    def _no_null(cls, value: object) -> object:
        if value is None:
            raise ValueError("must not be null")
        return value
