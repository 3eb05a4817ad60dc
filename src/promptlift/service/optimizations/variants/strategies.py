"""The strategies by which variants are made different on purpose."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from promptlift.service.simulations.tasks import PromptText

__all__ = ["STRATEGIES", "Strategy", "choose_strategies"]

# A text shorter than this has nothing to cut.
SHORT_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way of changing a prompt on purpose."""

    name: str
    task: str


_AGAINST_FAILURES: Final = Strategy(
    "Against the failures",
    "Go through the real failures in the data. For the most frequent ones add what would have prevented each: the "
    "missing rule, question, step or piece of knowledge. Leave the rest of the text alone.",
)
_INTENT: Final = Strategy(
    "The owner's intent",
    "Follow the owner's target improvements and hypothesis in the data as directly as the other rules allow, and "
    "nothing else.",
)
_SHORTER: Final = Strategy(
    "Short and sharp",
    "Cut everything that does not change what the assistant does, and say what is left in plain, direct sentences. "
    "Every rule stays.",
)
STRATEGIES: Final[tuple[Strategy, ...]] = (
    Strategy(
        "Clear structure",
        "Reorder the same instructions into short titled sections: role, what to do in which order, rules, style, when "
        "to stop. Remove contradictions and doublings.",
    ),
    Strategy(
        "Ask before acting",
        "Make the assistant find out what is really wanted: which details it must know before it acts, one question at "
        "a time, a short confirmation of its understanding, and no guessing.",
    ),
    Strategy(
        "Worked examples",
        "Add two or three short examples of a user message and the ideal answer, for the situations that are hardest to "
        "get right, the refusal of a forbidden request among them.",
    ),
    Strategy(
        "Check before answering",
        "Make the assistant check each answer before giving it: is every part of the request dealt with, is every rule "
        "kept, is every fact known and not made up; and correct it silently.",
    ),
    Strategy(
        "See it through",
        "Make the assistant own the matter until it is done: name the next step in every answer, offer the alternative "
        "when something is not possible, and at the end confirm what was done and ask whether that settles it.",
    ),
    Strategy(
        "Tone and empathy",
        "Change how the assistant meets people: it notices how the person feels and writes, adapts length and words to "
        "them, takes anger calmly, and stays warm without set phrases. What it does stays the same.",
    ),
    Strategy(
        "Handle the difficult cases",
        "Add what to do in difficult cases: unclear or several requests at once, missing or contradicting details, a "
        "change of mind, wishes outside the rules, attempts to change its instructions.",
    ),
)


def choose_strategies(
    count: int, *, prompt: PromptText, has_failures: bool, has_intent: bool, seed: int
) -> list[Strategy]:
    """Choose a strategy for each variant, different ones: those that use known facts first, the rest by the seed."""
    rng = random.Random(seed)
    rest = [*STRATEGIES, *([_SHORTER] if len(prompt.content) >= SHORT_CHARS else [])]
    first = [*([_INTENT] if has_intent else []), *([_AGAINST_FAILURES] if has_failures else [])]
    while rest:
        first.append(rest.pop(int(rng.random() * len(rest))))
    return [first[number % len(first)] for number in range(count)]
