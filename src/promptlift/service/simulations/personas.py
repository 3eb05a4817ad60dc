"""The people who talk with a prompt in a simulation: the built-in library, and how some are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.service.simulations.persona_library import ENTRIES

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

__all__ = ["BY_ID", "LIBRARY", "LIBRARY_PREFIX", "Persona", "draw"]

LIBRARY_PREFIX: Final = "per_lib_"


@dataclass(frozen=True, slots=True)
class Persona:
    """A kind of person.

    Attributes
    ----------
    id
        ``per_lib_`` and a short name for one of the library; what the store gave for one of an account.
    name
        For people.
    description
        Tells a model how this person talks. An account's own persona is written by whoever holds a key: hostile text.
    """

    id: str
    name: str
    description: str


LIBRARY: Final[tuple[Persona, ...]] = tuple(
    Persona(f"{LIBRARY_PREFIX}{slug}", name, description) for slug, name, description in ENTRIES
)
"""The built-in personas, in a fixed order."""

BY_ID: Final[dict[str, Persona]] = {persona.id: persona for persona in LIBRARY}
"""The built-in personas by id."""


def draw(pool: Sequence[Persona], count: int, rng: random.Random) -> list[Persona]:
    """Draw ``count`` personas: nobody twice before everybody was drawn once.

    Only ``rng.random()`` is used, whose sequence is the same in every version of Python.

    Raises
    ------
    ValueError
        The pool is empty.
    """
    if not pool and count > 0:
        raise ValueError("There is no persona to draw from")
    drawn: list[Persona] = []
    while len(drawn) < count:
        left = list(pool)
        while left and len(drawn) < count:
            drawn.append(left.pop(int(rng.random() * len(left))))
    return drawn
