"""The made-up truth of a rehearsal: how able a text is, how hard a conversation, and how it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from promptlift.service.rehearsal.causes import Causes
from promptlift.service.rehearsal.draws import Draws
from promptlift.service.rehearsal.rewrites import REWRITES

if TYPE_CHECKING:
    from promptlift.service.rehearsal.causes import Failing

__all__ = ["Plan", "Truth"]

# In logits, dealt to the ten rewrites by the seed.
_SOME_BETTER: Final = (2.4, 2.0, 1.7, 1.2, 0.3, 0.0, 0.0, 0.0, -0.7, -1.4)
_NONE_BETTER: Final = (0.2, 0.1, 0.0, 0.0, 0.0, 0.0, -0.2, -0.4, -0.7, -1.4)
_SHARE_BETTER: Final = 2 / 3
_SHARE_UNFRIENDLY: Final = 1 / 6
# Of the original: about 45 to 65 % of its conversations succeed.
_BASE_LOW: Final = -0.2
_BASE_HIGH: Final = 0.7
_OPENING_SPREAD: Final = 1.2
# The turn in which a conversation that succeeds does so.
_TURNS: Final = (0.30, 0.70, 0.92, 1.0)


@dataclass(frozen=True, slots=True)
class Plan:
    """The course of one conversation.

    Attributes
    ----------
    solved_in
        The turn in which it solves the matter, from 1; ``None`` when it never does.
    failing
        How it fails when it does.
    unfriendly
        Whether it is short with the person.
    """

    solved_in: int | None
    failing: Failing
    unfriendly: bool


class Truth:
    """The made-up truth of the rehearsal of one seed.

    Parameters
    ----------
    seed
        Of the run.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        fate = Draws(seed, "fate")
        effects = _SOME_BETTER if fate.uniform() < _SHARE_BETTER else _NONE_BETTER
        names = fate.shuffled([one.name for one in REWRITES])
        self.effects: dict[str, float] = dict(zip(names, effects, strict=True))
        self.unfriendly: str | None = names[0] if fate.uniform() < _SHARE_UNFRIENDLY else None
        self.base = fate.between(_BASE_LOW, _BASE_HIGH)
        self.causes = Causes(seed, curable=effects is _SOME_BETTER)
        self._read = lru_cache(maxsize=256)(self._carried)

    def ability(self, content: str) -> float:
        """Return the ability of a text in logits: the marks of rewrites in it count, its other words do not."""
        return self.base + sum(self.effects[name] for name in self._read(content))

    def chance(self, content: str, opening: str) -> float:
        """Return the chance that a conversation with this text and opening succeeds, given a patient person."""
        chance = 1.0 / (1.0 + math.exp(-(self.ability(content) + self._ease(opening))))
        return chance + (1.0 - chance) * self.causes.share_mended(content, opening)

    def plan(self, content: str, opening: str) -> Plan:
        """Decide what comes of a conversation."""
        draws = Draws(self.seed, "conversation", content, opening)
        solved = draws.uniform() < self.chance(content, opening)
        turn = draws.uniform()
        return Plan(
            solved_in=next(n for n, edge in enumerate(_TURNS, 1) if turn < edge) if solved else None,
            failing=self.causes.of(opening),
            unfriendly=self.unfriendly in self._read(content),
        )

    def patience(self, description: str) -> int:
        """Return the number of useless answers that a person accepts before giving up."""
        said = description.lower()
        extra = 1 if "patient" in said or "calm" in said else 0
        less = 1 if "hurry" in said or "leaves after" in said or "gives up after" in said else 0
        return max(2, Draws(self.seed, "person", description).whole(2, 4) + extra - less)

    def _ease(self, opening: str) -> float:
        return _OPENING_SPREAD * Draws(self.seed, "opening", opening).normal()

    @staticmethod
    def _carried(content: str) -> tuple[str, ...]:
        return tuple(one.name for one in REWRITES if one.mark in content)
