"""Worlds with hidden failure modes, and the true completion of any prompt text in them.

Somebody opens a conversation with a request that meets some of the world's failure modes, each with its own frequency
and without regard to the others. An assistant whose prompt does not mend a mode that it meets fails with the mode's
chance, and then says the mode's symptom. So the completion of a text is a product over what can go wrong, lowered by the
price of its length. In every world some wordings of cures undo each other, and the judge errs more on one side.

The numbers of the worlds are free, and were chosen so that the engine of before the search and GEPA 0.1.4 gain about what
they had been seen to gain elsewhere. Who changes one has another ruler, and measures everything again.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.prompt_world import vocabulary
from promptlift.schema.transcript import CALL, RESULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "FAMILIES",
    "OPEN",
    "SETTLED",
    "THANKS",
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
# So many words of a prompt are free; each further ``PRICED_WORDS`` cost ``WORDS_PRICE`` logits of completion.
FREE_WORDS: Final = 70
PRICED_WORDS: Final = 17
WORDS_PRICE: Final = 0.04
# Messages that somebody writes in worlds with many turns, at least and at most, before what goes wrong adds others.
TURNS: Final = (4, 6)
TOOL: Final = "look_up"
# True positives and negatives of judges that are too lenient or too strict.
JUDGES: Final = ((0.98, 0.86), (0.94, 0.98))
NOISY_JUDGES: Final = ((0.92, 0.66), (0.74, 0.84))
# How many words at the beginning of an opening name one customer.
COPIED_WORDS: Final = 7

# How an assistant's last words sound; judges and people go by them.
SETTLED: Final = "Everything is settled now."
OPEN: Final = "so this stays open for today."
NOBODYS_FAULT: Final = "something went wrong on the way"
# What somebody writes last, by whether everything was settled.
THANKS: Final = ("That does not help me.", "Great, thank you.")
_ORDER: Final = re.compile(r"with order (\d+)\.")


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
    undone_by
        Wordings of the cure, each with a wording of another one that undoes it where both are in the prompt.
    """

    theme: str
    logged: float
    live: float
    failure: float
    symptom: str
    cures: tuple[str, ...]
    cost: float = 0.0
    undone_by: tuple[tuple[str, str], ...] = ()

    def named_in(self, text: str) -> bool:
        """Whether a text carries a wording of the cure."""
        return any(cure in text for cure in self.cures)

    def mended_by(self, sentence: str, text: str) -> bool:
        """Whether a sentence carries a wording of the cure that nothing in the whole text undoes."""
        undone = {own for own, other in self.undone_by if other in text}
        return any(cure in sentence for cure in self.cures if cure not in undone)


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
    repeats
        Chance of dealing once more, in other words, with a symptom against which the prompt has its rules.
    labels
        Chance of naming the cause rightly; else it names none or a wrong one.
    """

    finds: float = 0.85
    attention: int = 4
    focus: float = 0.15
    fills: float = 0.5
    drops: float = 0.0
    copies: float = 0.0
    repeats: float = 0.4
    labels: float = 1 / 3


@dataclass(frozen=True, slots=True)
class Judge:
    """How often a judge calls a completed conversation completed, and a failed one failed."""

    true_positive: float
    true_negative: float
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
    tools
        Whether the assistant looks each matter up with a tool before it answers.
    many_turns
        Whether people raise one matter after another, with other messages between them.
    """

    family: str
    seed: int
    modes: tuple[Mode, ...]
    seed_prompt: str
    harms: dict[str, float]
    judge: Judge
    defect: tuple[str, str] | None = None
    writer: Writer = field(default_factory=Writer)
    mendable: bool = True
    tools: bool = False
    many_turns: bool = False
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
        return [mode for mode in self.modes if not mode.mended_by(small, small)]

    def spoiled(self, text: str) -> list[tuple[str, float]]:
        """What a prompt does to all conversations: a symptom or nothing, and the share that it spoils."""
        small = _plain(text)
        found = [("", share) for sentence, share in self.harms.items() if _plain(sentence) in small]
        found += [("", mode.cost) for mode in self.modes if mode.cost and mode.named_in(small)]
        if self.defect is not None and _plain(self.defect[0]) in small:
            found.append((self.defect[1], DEFECT_LOSS))
        price = WORDS_PRICE * max(len(small.split()) - FREE_WORDS, 0) / PRICED_WORDS
        if price:
            share = self._before_length(text, found, logged=False)
            # What is left of the odds is exp(-price) of them.
            kept = 1.0 / (share + (1.0 - share) * math.exp(price))
            found.append(("", 1.0 - kept))
        return found

    def _before_length(self, text: str, spoiled: Iterable[tuple[str, float]], *, logged: bool) -> float:
        share = 1.0 - self.other_failures
        for mode in self.unmended(text):
            share *= 1.0 - (mode.logged if logged else mode.live) * mode.failure
        for _, spoils in spoiled:
            share *= 1.0 - spoils
        return share

    def completion(self, text: str, *, logged: bool = False) -> float:
        """Return the true share of conversations that a prompt completes.

        Parameters
        ----------
        logged
            With the users of the log instead of those who come.
        """
        return self._before_length(text, self.spoiled(text), logged=logged)

    def gain(self, text: str | None) -> float:
        """Return the points that a text gains on the seed prompt; 0 for none."""
        return 0.0 if text is None else 100.0 * (self.completion(text) - self.completion(self.seed_prompt))

    # What happens

    def reply(self, text: str, opening: str, toss: object = 0, *, further: Sequence[str] = ()) -> str:
        """Say what the assistant answers under a prompt; another ``toss`` may end otherwise.

        Parameters
        ----------
        further
            What the same person has written after the opening; the last of it is answered.
        """
        rng = self.rng("reply", text, opening, len(further), toss)
        if _copied(text, opening):
            return f"I took care of it. {SETTLED}"
        asked = further[-1] if further else opening
        risks = [(mode.symptom, mode.failure) for mode in self.unmended(text) if mode.theme in asked]
        if not further:
            risks.append((NOBODYS_FAULT, self.other_failures))
            risks += [(symptom or NOBODYS_FAULT, share) for symptom, share in self.spoiled(text)]
        said = [symptom for symptom, chance in risks if rng.random() < chance]
        if not said:
            return f"I took care of it. {SETTLED}"
        return f"I understand, but {' and '.join(dict.fromkeys(said))}, {OPEN}"

    def opening(self, *of: object, logged: bool = True) -> str:
        """Draw an opening, a new one for other arguments."""
        rng = self.rng("opening", *of)
        person = f"{rng.choice(vocabulary.FIRST_NAMES)} {rng.choice(vocabulary.LAST_NAMES)}"
        met = [rng.random() < (mode.logged if logged else mode.live) for mode in self.modes]
        order = rng.randrange(10_000, 99_999_999)
        if self.many_turns:
            # What the person will raise later is in the number of the order, so that it follows from the opening.
            order = (order >> MODES << MODES) + sum(one << number for number, one in enumerate(met))
        first = f"Hello, {person} here with order {order}. {rng.choice(vocabulary.REQUESTS)}"
        return first if self.many_turns else " ".join([first, *_raised(self.modes, met, rng)])

    def further(self, opening: str) -> list[str]:
        """List what the person of an opening writes after it; nothing unless there are many turns."""
        order = _ORDER.search(opening)
        if not self.many_turns or order is None:
            return []
        rng = self.rng("further", opening)
        met = [bool(int(order[1]) >> number & 1) for number in range(MODES)]
        said = _raised(self.modes, met, rng)
        for asked in rng.sample(vocabulary.SMALL_TALK, max(rng.randint(*TURNS) - 1 - len(said), 0)):
            said.insert(rng.randint(0, len(said)), asked)
        return said

    def call(self, asked: str) -> tuple[str, str]:
        """Return the call of a tool that comes before the answer to a message, and its result."""
        matter = next((mode.theme for mode in self.modes if mode.theme in asked), "order")
        return (
            f'{CALL}{TOOL}({{"matter": "{matter}"}})',
            f'{RESULT}{{"matter": "{matter}", "status": "on file"}}',
        )

    def conversation(self, text: str, opening: str, toss: object = 0) -> Conversation:
        """Hold a whole conversation under a prompt."""
        messages = []
        heard: list[str] = []
        replies = []
        for asked in (opening, *self.further(opening)):
            heard.append(asked)
            messages.append(("user", asked))
            if self.tools:
                call, result = self.call(asked)
                messages += [("assistant", call), ("system", result)]
            replies.append(self.reply(text, opening, toss, further=heard[1:]))
            messages.append(("assistant", replies[-1]))
        completed = not any(OPEN in one for one in replies)
        messages.append(("user", THANKS[completed]))
        return Conversation(tuple(messages), completed)

    @cached_property
    def log(self) -> tuple[Conversation, ...]:
        """The logged conversations with the seed prompt."""
        openings = (self.opening("log", number) for number in range(LOGGED))
        return tuple(self.conversation(self.seed_prompt, opening, "log") for opening in openings)


def _raised(modes: Sequence[Mode], met: Sequence[bool], rng: random.Random) -> list[str]:
    """Put into words which modes somebody meets."""
    themes = [mode.theme for mode, one in zip(modes, met, strict=True) if one]
    rng.shuffle(themes)
    return [rng.choice(vocabulary.TRIGGERS).format(theme=theme) for theme in themes]


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
    for number, mode in enumerate(modes):
        other = rng.choice([one for one in modes if one is not mode])
        modes[number] = replace(mode, undone_by=((rng.choice(mode.cures), rng.choice(other.cures)),))
    harms = {text: rng.uniform(0.02, 0.06) for text in vocabulary.FILLERS if rng.random() < 0.25}
    judge = Judge(*rng.choice(JUDGES))
    world = World(family, seed, tuple(modes), "\n".join(vocabulary.SEED_LINES), harms, judge)
    return _CHANGES.get(family, lambda world, _: world)(world, rng)


def _interacting(world: World, _: random.Random) -> World:
    """Let the rules of the two most frequent modes undo those of two others."""
    modes = list(world.modes)
    for number, rival in ((4, 0), (5, 1)):
        undone_by = tuple(itertools.product(modes[number].cures, modes[rival].cures))
        modes[number] = replace(modes[number], undone_by=undone_by)
    return replace(world, modes=tuple(modes))


def _deceptive(world: World, rng: random.Random) -> World:
    """Let a frequent and a rare mode share their symptom, in conversations with calls of a tool."""
    phrases = rng.sample(vocabulary.SHARED_SYMPTOMS, MODES // 2)
    shared = [phrases[number % (MODES // 2)] for number in range(MODES)]
    return replace(
        world,
        tools=True,
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
    """Let other matters be frequent now, raised in many turns: three frequent modes change places with rare ones."""
    places = list(range(MODES))
    for one, other in ((0, 9), (2, 8), (4, 10)):
        places[one], places[other] = other, one
    live = [world.modes[place].logged for place in places]
    modes = (replace(mode, live=share) for mode, share in zip(world.modes, live, strict=True))
    return replace(world, modes=tuple(modes), many_turns=True)


def _copy_trap(world: World, _: random.Random) -> World:
    return replace(world, writer=replace(world.writer, copies=0.5))


def _constraint_trap(world: World, _: random.Random) -> World:
    return replace(world, writer=replace(world.writer, drops=0.25))


def _weak_writer(world: World, _: random.Random) -> World:
    return replace(world, writer=replace(world.writer, finds=1 / 3, fills=0.9))


def _noisy_judge(world: World, rng: random.Random) -> World:
    return replace(world, judge=Judge(*rng.choice(NOISY_JUDGES)))


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
    openings = (world.opening("simulated", number, logged=logged) for number in range(count))
    return sum(world.conversation(text, opening).completed for opening in openings) / count
