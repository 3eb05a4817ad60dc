"""Personas: the library included in the service, an account's own, and those of a run."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from promptlift.service.store import prompts

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

LIBRARY_PREFIX: Final = "per_lib_"


@dataclass(frozen=True, slots=True)
class SimulatedPersona:
    """A kind of person.

    Attributes
    ----------
    id
        ``per_lib_`` and a short name in the library; assigned by the store for an account's own.
    name
        Display name.
    description
        Instructs a model how this person talks. An account's own persona is written by a user: hostile text.
    """

    id: str
    name: str
    description: str


@cache
def library() -> tuple[SimulatedPersona, ...]:
    """Read the built-in personas, in a fixed order."""
    text = resources.files(__package__).joinpath("personas.toml").read_text(encoding="utf-8")
    return tuple(
        SimulatedPersona(f"{LIBRARY_PREFIX}{one['slug']}", one["name"], one["description"])
        for one in tomllib.loads(text)["personas"]
    )


@cache
def library_by_id() -> dict[str, SimulatedPersona]:
    """Return the built-in personas by id."""
    return {persona.id: persona for persona in library()}


def draw(pool: Sequence[SimulatedPersona], count: int, rng: random.Random) -> list[SimulatedPersona]:
    """Draw ``count`` personas, none twice before each was drawn once.

    Only ``rng.random()`` is used, whose sequence is the same in every version of Python.
    """
    drawn: list[SimulatedPersona] = []
    while len(drawn) < count:
        left = list(pool)
        while left and len(drawn) < count:
            drawn.append(left.pop(int(rng.random() * len(left))))
    return drawn


def all_personas(connection: Connection, account_id: str, *, before: datetime) -> list[SimulatedPersona]:
    """Return the account's own personas as they were at a time, and the library."""
    rows = prompts.personas_at(connection, account_id, before)
    return [*(SimulatedPersona(row.id, row.name, row.description) for row in rows), *library()]


def named(
    connection: Connection, account_id: str, ids: Sequence[str], *, before: datetime
) -> dict[str, SimulatedPersona]:
    """Return the personas with these ids; unknown ids are left out."""
    there = {persona.id: persona for persona in all_personas(connection, account_id, before=before)}
    return {one: there[one] for one in ids if one in there}
