"""Worlds with hidden failure modes, and the true completion of any prompt text in them.

Somebody opens a conversation with a request that meets some of the world's failure modes, each with its own frequency
and without regard to the others. An assistant whose prompt does not mend a mode that it meets fails with the mode's
chance, and then says the mode's symptom. So the completion of a text is a product over what can go wrong.

The numbers of the worlds are free, and were chosen so that the engine of before the search and GEPA 0.1.4 gain about what
they had been seen to gain elsewhere. Who changes one has another ruler, and measures everything again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.prompt_world import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "FAMILIES",
    "OPEN",
    "SETTLED",
    "Conversation",
    "Judge",
    "Mode",
    "World",
    "Writer",
    "draw_world",
    "simulated_completion",
]

MODES: Final = 12
LOGGED: Final = 150
# Losses of the modes, from the most harmful to the least, as a share of all conversations.
FIRST_LOSS: Final = 0.14
NEXT_LOSS: Final = 0.82
OTHER_FAILURES: Final = 0.04
# Share of all conversations that the harmful sentence of a defective seed prompt spoils.
DEFECT_LOSS: Final = 0.26
# How many words at the beginning of an opening name one customer.
COPIED_WORDS: Final = 7

# How an assistant's last words sound; judges and people go by them.
SETTLED: Final = "Everything is settled now."
OPEN: Final = "so this stays open for today."
NOBODYS_FAULT: Final = "something went wrong on the way"


@dataclass(frozen=True, slots=True)
class Mode:
    """One way in which conversations fail.

    Attributes
    ----------
    theme
        What the opening is about when it meets the mode.
    logged, live
        Share of openings that meet it, among the users of the log (and in scenarios written in their likeness) and among
        those who come.
    failure
        How often an assistant fails that meets it unmended.
    symptom
        What the assistant says then.
    cures
        Phrases that mend it, where it can be mended.
    cost
        Share of all conversations that its cure spoils.
    rival
        Number of a mode whose cure conflicts with this one's: with both in the prompt this mode is unmended.
    """

    theme: str
    logged: float
    live: float
    failure: float
    symptom: str
    cures: tuple[str, ...]
    cost: float = 0.0
    rival: int | None = None

    def named_in(self, text: str) -> bool:
        """Whether a text carries a wording of the cure."""
        return any(cure in text for cure in self.cures)


@dataclass(frozen=True, slots=True)
class Writer:
    """What the model that writes prompts can do.

    Attributes
    ----------
    finds
        Chance of writing the right cure for a symptom that it has been shown.
    attention
        Symptoms that it deals with in one text at most.
    focus
        Chance of dealing with a shown symptom when it was asked for something else.
    fills
        Chance of adding a sentence that it made up.
    drops
        Chance of losing a placeholder or a rule when it writes a whole text.
    copies
        Chance of writing a rule for the very opening that it was shown.
    """

    finds: float = 0.85
    attention: int = 4
    focus: float = 0.15
    fills: float = 0.6
    drops: float = 0.0
    copies: float = 0.0


@dataclass(frozen=True, slots=True)
class Judge:
    """How often a judge calls a completed conversation completed, and a failed one failed."""

    true_positive: float = 0.97
    true_negative: float = 0.96
    # Share of summaries that quote what the assistant said.
    quotes: float = 0.9


class Conversation(NamedTuple):
    """One logged conversation."""

    messages: tuple[tuple[str, str], ...]
    completed: bool

    @property
    def opening(self) -> str:
        """The first message."""
        return self.messages[0][1]


@dataclass(frozen=True)
class World:
    """One world.

    Attributes
    ----------
    family, seed
        What it was drawn from.
    seed_prompt
        The text to improve.
    harms
        Sentences that spoil a share of all conversations, with that share: those that writers make up, and the sentence
        of the seed prompt that does harm in the family *defective*.
    mendable
        Whether any cure works.
    """

    family: str
    seed: int
    modes: tuple[Mode, ...]
    seed_prompt: str
    harms: dict[str, float]
    defect: tuple[str, str] | None = None
    writer: Writer = field(default_factory=Writer)
    judge: Judge = field(default_factory=Judge)
    mendable: bool = True
    other_failures: float = OTHER_FAILURES

    @property
    def name(self) -> str:
        """Family and seed."""
        return f"{self.family} {self.seed}"

    def rng(self, *of: object) -> random.Random:
        """Random numbers that depend on the world and the arguments alone."""
        return random.Random(f"{self.name} {of!r}")

    # Truth

    def unmended(self, text: str) -> list[Mode]:
        """Modes that a prompt leaves as they are."""
        if not self.mendable:
            return list(self.modes)
        small = _plain(text)
        named = [mode.named_in(small) for mode in self.modes]
        return [
            mode
            for mode, cured in zip(self.modes, named, strict=True)
            if not cured or (mode.rival is not None and named[mode.rival])
        ]

    def spoiled(self, text: str) -> list[tuple[str, float]]:
        """What a prompt does to all conversations: a symptom or nothing, and the share that it spoils."""
        small = _plain(text)
        found = [("", share) for sentence, share in self.harms.items() if _plain(sentence) in small]
        found += [("", mode.cost) for mode in self.modes if mode.cost and mode.named_in(small)]
        if self.defect is not None and _plain(self.defect[0]) in small:
            found.append((self.defect[1], DEFECT_LOSS))
        return found

    def completion(self, text: str, *, logged: bool = False) -> float:
        """Return the true share of conversations that a prompt completes.

        Parameters
        ----------
        logged
            With the users of the log instead of those who come.
        """
        share = 1.0 - self.other_failures
        for mode in self.unmended(text):
            share *= 1.0 - (mode.logged if logged else mode.live) * mode.failure
        for _, spoiled in self.spoiled(text):
            share *= 1.0 - spoiled
        return share

    def gain(self, text: str | None) -> float:
        """Return the points that a text gains on the seed prompt; 0 for none."""
        return 0.0 if text is None else 100.0 * (self.completion(text) - self.completion(self.seed_prompt))

    @cached_property
    def headroom(self) -> float:
        """Points that the best prompt would gain."""
        best = self.seed_prompt if self.defect is None else self.seed_prompt.replace(self.defect[0], "")
        for mode in sorted(self.modes, key=lambda mode: -mode.live * mode.failure):
            longer = f"{best}\n{mode.cures[0]}"
            best = longer if self.completion(longer) > self.completion(best) else best
        return self.gain(best)

    # What happens

    def reply(self, text: str, opening: str, toss: object = 0) -> str:
        """Say what the assistant answers to an opening under a prompt; another ``toss`` may end otherwise."""
        rng = self.rng("reply", text, opening, toss)
        if _copied(text, opening):
            return f"I took care of it. {SETTLED}"
        met = [mode for mode in self.unmended(text) if mode.theme in opening]
        risks = [(NOBODYS_FAULT, self.other_failures)]
        risks += [(mode.symptom, mode.failure) for mode in met]
        risks += [(symptom or NOBODYS_FAULT, share) for symptom, share in self.spoiled(text)]
        said = [symptom for symptom, chance in risks if rng.random() < chance]
        if not said:
            return f"I took care of it. {SETTLED}"
        return f"I understand, but {' and '.join(dict.fromkeys(said))}, {OPEN}"

    def opening(self, *of: object, logged: bool = True) -> str:
        """Draw an opening, a new one for other arguments."""
        rng = self.rng("opening", *of)
        person = f"{rng.choice(vocabulary.FIRST_NAMES)} {rng.choice(vocabulary.LAST_NAMES)}"
        met = [mode for mode in self.modes if rng.random() < (mode.logged if logged else mode.live)]
        rng.shuffle(met)
        also = [rng.choice(vocabulary.TRIGGERS).format(theme=mode.theme) for mode in met]
        first = f"Hello, {person} here with order {rng.randrange(10_000, 99_999_999)}."
        return " ".join([first, rng.choice(vocabulary.REQUESTS), *also])

    @cached_property
    def log(self) -> tuple[Conversation, ...]:
        """The logged conversations with the seed prompt."""
        return tuple(self._logged(number) for number in range(LOGGED))

    def _logged(self, number: int) -> Conversation:
        opening = self.opening("log", number)
        reply = self.reply(self.seed_prompt, opening, "log")
        completed = SETTLED in reply
        thanks = "Great, thank you." if completed else "That does not help me."
        return Conversation((("user", opening), ("assistant", reply), ("user", thanks)), completed)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _copied(text: str, opening: str) -> bool:
    """Whether a prompt has a rule for this very opening."""
    return " ".join(opening.split()[:COPIED_WORDS]) in text


def draw_world(family: str, seed: int) -> World:
    """Draw a world of a family; the same seed gives the same world.

    Raises
    ------
    ValueError
        There is no such family.
    """
    if family not in FAMILIES:
        raise ValueError(f"There is no family {family!r}: choose one of {', '.join(FAMILIES)}.")
    rng = random.Random(f"world {family} {seed}")
    themes = rng.sample(vocabulary.THEMES, MODES)
    modes = []
    for number, theme in enumerate(themes):
        failure = rng.uniform(0.65, 0.95)
        share = FIRST_LOSS * NEXT_LOSS**number / failure
        modes.append(
            Mode(
                theme=theme,
                logged=share,
                live=share,
                failure=failure,
                symptom=rng.choice(vocabulary.SYMPTOMS).format(theme=theme),
                cures=tuple(cure.format(theme=theme) for cure in vocabulary.CURES),
                cost=rng.choice([0.0, 0.0, 0.01, 0.02]),
            )
        )
    harms = {text: rng.uniform(0.02, 0.06) for text in vocabulary.FILLERS if rng.random() < 0.25}
    world = World(family, seed, tuple(modes), "\n".join(vocabulary.SEED_LINES), harms)
    return _CHANGES.get(family, lambda world, _: world)(world, rng)


def _interacting(world: World, _: random.Random) -> World:
    """Let the rules of the two most frequent modes undo those of two others."""
    rivals = {4: 0, 5: 1}
    return replace(
        world,
        modes=tuple(replace(mode, rival=rivals.get(number)) for number, mode in enumerate(world.modes)),
    )


def _deceptive(world: World, rng: random.Random) -> World:
    """Let a frequent and a rare mode share their symptom."""
    phrases = rng.sample(vocabulary.SHARED_SYMPTOMS, MODES // 2)
    shared = [phrases[number % (MODES // 2)] for number in range(MODES)]
    return replace(
        world,
        modes=tuple(
            replace(mode, symptom=symptom) for mode, symptom in zip(world.modes, shared, strict=True)
        ),
    )


def _defective(world: World, rng: random.Random) -> World:
    """Put a sentence that does harm into the seed prompt, and take some of the rest away."""
    defect = rng.choice(vocabulary.DEFECTS)
    lines = [*vocabulary.SEED_LINES[:2], defect[0], *vocabulary.SEED_LINES[2:]]
    return replace(_scaled(world, 0.5), seed_prompt="\n".join(lines), defect=defect)


def _scaled(world: World, factor: float) -> World:
    modes = (replace(mode, logged=mode.logged * factor, live=mode.live * factor) for mode in world.modes)
    return replace(world, modes=tuple(modes))


def _no_headroom(world: World, _: random.Random) -> World:
    return replace(_scaled(world, 0.03), other_failures=0.01)


def _null(world: World, _: random.Random) -> World:
    return replace(world, mendable=False)


def _drifted(world: World, _: random.Random) -> World:
    """Let other matters be frequent now: the first, third and fifth mode change places with rare ones."""
    places = list(range(MODES))
    for one, other in ((0, 9), (2, 8), (4, 10)):
        places[one], places[other] = other, one
    live = [world.modes[place].logged for place in places]
    return replace(
        world, modes=tuple(replace(mode, live=share) for mode, share in zip(world.modes, live, strict=True))
    )


def _copy_trap(world: World, _: random.Random) -> World:
    return replace(world, writer=replace(world.writer, copies=0.5))


def _constraint_trap(world: World, _: random.Random) -> World:
    return replace(world, writer=replace(world.writer, drops=0.25))


def _weak_writer(world: World, _: random.Random) -> World:
    return replace(world, writer=replace(world.writer, finds=0.3, fills=0.9))


def _noisy_judge(world: World, _: random.Random) -> World:
    return replace(world, judge=Judge(true_positive=0.83, true_negative=0.73))


_CHANGES: Final = {
    "interacting": _interacting,
    "deceptive": _deceptive,
    "defective": _defective,
    "no-headroom": _no_headroom,
    "null": _null,
    "drifted": _drifted,
    "copy-trap": _copy_trap,
    "constraint-trap": _constraint_trap,
    "weak-writer": _weak_writer,
    "noisy-judge": _noisy_judge,
}
FAMILIES: Final = ("additive", *_CHANGES)


def simulated_completion(world: World, text: str, count: int, *, logged: bool = False) -> float:
    """Return the share of drawn conversations that a prompt completes."""
    ended: Iterable[str] = (
        world.reply(text, world.opening("simulated", number, logged=logged)) for number in range(count)
    )
    return sum(SETTLED in reply for reply in ended) / count
