"""The script of a rehearsal: its lines, rules and situations, and how each conversation ends.

Everything follows from the seed of the run and from texts, by hashing.
"""

from __future__ import annotations

import math
import random
import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any, Final, NamedTuple

SCRIPT: Final[dict[str, Any]] = tomllib.loads(
    resources.files(__package__).joinpath("script.toml").read_text(encoding="utf-8")
)
RULES: Final[dict[str, str]] = SCRIPT["rules"]
FAILINGS: Final = ("vague", "again", "declined", "beside")
MARK: Final = "(Rehearsal)"
"""Stands before the assistant's first answer."""

_KINDS: Final = {line: kind for kind, lines in SCRIPT["lines"].items() for line in lines}
# What each rule changes in the chance of success, in logits; the seed deals them out.
_SOME_BETTER: Final = (1.9, 1.5, 1.2, 0.9, 0.3, 0.0, 0.0, 0.0, -0.7, -1.4)
_NONE_BETTER: Final = (0.2, 0.1, 0.0, 0.0, 0.0, 0.0, -0.2, -0.4, -0.7, -1.4)
# More than this is never gained, however many rules help.
_MOST_GAINED: Final = 2.0
# Shares of conversations that are solved by the first, second, … answer, added up.
_TURNS: Final = (0.30, 0.70, 0.92, 1.0)


def drawn(*key: str | int) -> random.Random:
    """Return random numbers that belong to a key; only ``random()`` is the same in every version of Python."""
    return random.Random(ascii(key))


def kind_of(text: str) -> str | None:
    """Return the kind of a line; ``None`` for any other text."""
    return _KINDS.get(text.removeprefix(MARK).strip())


def subjects(text: str) -> tuple[str, ...]:
    """Return the subjects that a text names."""
    said = text.casefold()
    return tuple(one for one in SCRIPT["subjects"] if one in said)


class ScriptedPlan(NamedTuple):
    """How one conversation goes.

    Attributes
    ----------
    solved_in
        The answer that solves the matter, from 1; ``None`` when none does.
    failing
        The kind of useless answers where none does.
    curt
        Whether the answer that solves it is unfriendly.
    """

    solved_in: int | None
    failing: str
    curt: bool


class Script:
    """The outcomes of one seed: in two of three seeds some rules help much, in the others none does.

    In one of six seeds the most effective rule makes the assistant unfriendly.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        fate = drawn(seed, "fate")
        effects = _SOME_BETTER if fate.random() < 2 / 3 else _NONE_BETTER
        names = sorted(RULES, key=lambda _: fate.random())
        self.effects = dict(zip(names, effects, strict=True))
        self.unfriendly = names[0] if fate.random() < 1 / 6 else None
        self.base = 0.9 * fate.random() - 0.2
        self._rules_in = lru_cache(maxsize=256)(_rules_in)

    def chance(self, content: str, opening: str) -> float:
        """Return the chance that a conversation succeeds: the rules in the text count, its other words do not."""
        ease = 4.0 * drawn(self.seed, "ease", opening).random() - 2.0
        gained = sum(self.effects[name] for name in self._rules_in(content))
        return 1.0 / (1.0 + math.exp(-(self.base + ease + min(gained, _MOST_GAINED))))

    def plan(self, content: str, opening: str) -> ScriptedPlan:
        """Decide how a conversation goes."""
        draws = drawn(self.seed, "conversation", content, opening)
        solved, turn = draws.random() < self.chance(content, opening), draws.random()
        return ScriptedPlan(
            solved_in=next(n for n, edge in enumerate(_TURNS, 1) if turn < edge) if solved else None,
            failing=FAILINGS[int(len(FAILINGS) * drawn(self.seed, "failing", opening).random())],
            curt=self.unfriendly in self._rules_in(content),
        )


def _rules_in(content: str) -> tuple[str, ...]:
    return tuple(name for name, rule in RULES.items() if rule in content)
