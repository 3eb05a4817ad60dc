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
"""Prefix of the assistant's first answer."""

_KINDS: Final = {line: kind for kind, lines in SCRIPT["lines"].items() for line in lines}
# The effect of each rule on the chance of success, in logits; the seed assigns them.
_SOME_BETTER: Final = (1.9, 1.5, 1.2, 0.9, 0.3, 0.0, 0.0, 0.0, -0.7, -1.4)
_NONE_BETTER: Final = (0.2, 0.1, 0.0, 0.0, 0.0, 0.0, -0.2, -0.4, -0.7, -1.4)
# The maximum gain, however many rules help.
_MOST_GAINED: Final = 2.0
# Cumulative shares of conversations solved by the first, second, … answer.
_TURNS: Final = (0.30, 0.70, 0.92, 1.0)


def drawn(*key: str | int) -> random.Random:
    """Return a random generator for a key; only ``random()`` is the same in every version of Python."""
    return random.Random(ascii(key))


def kind_of(text: str) -> str | None:
    """Return the kind of a line; ``None`` for any other text."""
    return _KINDS.get(text.removeprefix(MARK).strip())


def subjects(text: str) -> tuple[str, ...]:
    """Return the subjects named in a text."""
    said = text.casefold()
    return tuple(one for one in SCRIPT["subjects"] if one in said)


class ScriptedPlan(NamedTuple):
    """The course of one conversation.

    Attributes
    ----------
    solved_in
        Number of the answer that solves the matter, from 1; ``None`` if none does.
    failing
        The kind of useless answers if none does.
    curt
        Whether the answer that solves it is unfriendly.
    """

    solved_in: int | None
    failing: str
    curt: bool


class Script:
    """The outcomes of one seed: for two of three seeds some rules help a lot, for the others none does.

    For one of six seeds the most effective rule makes the assistant unfriendly.
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
        """Return the chance that a conversation succeeds, which depends only on the rules in the text."""
        ease = 4.0 * drawn(self.seed, "ease", opening).random() - 2.0
        gained = sum(self.effects[name] for name in self._rules_in(content))
        return 1.0 / (1.0 + math.exp(-(self.base + ease + min(gained, _MOST_GAINED))))

    def plan(self, content: str, opening: str) -> ScriptedPlan:
        """Decide the course of a conversation."""
        draws = drawn(self.seed, "conversation", content, opening)
        solved, turn = draws.random() < self.chance(content, opening), draws.random()
        return ScriptedPlan(
            solved_in=next(n for n, edge in enumerate(_TURNS, 1) if turn < edge) if solved else None,
            failing=FAILINGS[int(len(FAILINGS) * drawn(self.seed, "failing", opening).random())],
            curt=self.unfriendly in self._rules_in(content),
        )


def _rules_in(content: str) -> tuple[str, ...]:
    return tuple(name for name, rule in RULES.items() if rule in content)
