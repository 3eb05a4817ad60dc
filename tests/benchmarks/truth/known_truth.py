"""What is true in a simulated optimization: who completes a task under which text, readable from the texts alone.

The text of a prompt carries a case file: number of the run, how many variants, base rate, by how much one of them is
better. A variant's text says which arm it is. So the stub of a model needs no memory, and whoever reads the openings
in the results can work out every outcome again.

The model is that of `experiment_truth`: a logit with persona and scenario effects. Outcomes of two arms in one cell
share both effects and nothing else, so that identical arms still differ by chance.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from statistics import NormalDist

from benchmarks.truth.experiment_truth import PERSONA_SD, SCENARIO_SD, shift_for

BASE_RATES = (0.60, 0.75)
CASE = re.compile(r"Case file (run(\d+) of(\d) base(\d+) plus(\d+)) arm(\d)")
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class CaseFile:
    """The truth of one optimization.

    Attributes
    ----------
    base, plus
        Completion rate of the original, and by how much the better variant is better; in hundredths of a percent.
    """

    run: int
    variants: int
    base: int
    plus: int
    arm: int = 0

    @classmethod
    def read(cls, text: str) -> CaseFile | None:
        """The case file in a text; ``None`` without one."""
        found = CASE.search(text)
        return None if found is None else cls(*(int(found[at]) for at in range(2, 7)))

    @property
    def key(self) -> str:
        """The run, without the arm."""
        return f"run{self.run} of{self.variants} base{self.base} plus{self.plus}"

    @property
    def better_arm(self) -> int | None:
        """Number of the variant that is truly better."""
        return 1 + int(uniform(self.run, "position") * self.variants) if self.plus else None

    @property
    def rate(self) -> float:
        """True completion rate of this arm."""
        return (self.base + (self.plus if self.arm and self.arm == self.better_arm else 0)) / 10_000

    def of_arm(self, arm: int) -> CaseFile:
        """The same truth for another arm."""
        return replace(self, arm=arm)

    def line(self) -> str:
        """How it stands in a text."""
        return f"Case file {self.key} arm{self.arm}."


def draw_case(run: int, variants: int, effect: float) -> CaseFile:
    """The truth of a run: its base rate is drawn by its number."""
    low, high = BASE_RATES
    base = round(10_000 * (low + (high - low) * uniform(run, "base")))
    return CaseFile(run, variants, base, round(10_000 * effect))


def uniform(*about: object) -> float:
    """A number from 0 to 1, the same for the same things."""
    said = "\x1f".join(map(str, about)).encode()
    return (int.from_bytes(blake2b(said, digest_size=8).digest(), "big") + 0.5) / 2.0**64


def normal(*about: object) -> float:
    """A standard normal number, the same for the same things."""
    return _NORMAL.inv_cdf(uniform(*about))


@lru_cache(maxsize=4096)
def _intercept(rate: float) -> float:
    return float(shift_for(rate))


def chance(case: CaseFile, matter: int, persona: str) -> float:
    """How likely the task is completed in a cell: scenario by its number, persona by its name."""
    cell = PERSONA_SD * normal(case.run, "persona", persona) + SCENARIO_SD * normal(
        case.run, "matter", matter
    )
    return 1.0 / (1.0 + math.exp(-_intercept(case.rate) - cell))


def completes(case: CaseFile, matter: int, persona: str) -> bool:
    """Whether the task is completed; the same for the same arm and opening."""
    return uniform(case.run, "outcome", case.arm, matter, persona) < chance(case, matter, persona)


# Texts

PROMPTS = (
    (
        "You are the support assistant of a parcel service and you write to {{customer_name}}. Find out which parcel the "
        "person means and what went wrong with it, then solve it or say who will.\n\n- Never promise a delivery date.\n"
        "- Answer in at most 5 sentences.\n- Only refund parcels that were lost for 14 days.\n"
        "- For damaged goods send people to https://parcel.example/claims.\n"
    ),
    (
        "You help people of [COMPANY] with their invoices. Ask for the invoice number before anything else. You must not "
        "give tax advice. Payments are due within 30 days; a late fee of $25 applies.\n\nWrite warmly and plainly. When "
        'somebody is angry, say "I understand" once and go on with the matter.\n'
    ),
    (
        "Role: booking agent for a small hotel. Today is {date}.\nRooms: single, double, family. Check in from 15:00.\n"
        "Always repeat dates and number of guests before you book. Do not ask for card numbers. Pets are not allowed.\n"
        "If a wish cannot be met, offer the nearest free date.\n"
    ),
    "You are a patient teacher of school mathematics. Explain one step at a time and check that it was understood.\n",
)

# One a variant, without words in common: variants that differ on purpose.
ADDITIONS = (
    "Begin by restating what somebody needs, in your own words, before proposing any solution whatsoever.",
    "Close each exchange with concrete next steps, naming who acts, by when, plus where progress becomes visible.",
    "Split complicated wishes into smaller parts; work through these parts individually, confirming every piece.",
    "Prefer short paragraphs, friendly vocabulary, everyday comparisons instead of technical jargon or abbreviations.",
    "Should information seem missing, state assumptions openly, continue regardless, invite corrections afterwards.",
)

OPENINGS = (
    "it did not arrive and nobody tells me why",
    "I need to change what I ordered last week",
    "how does this work, I am new here",
    "this is the third time that I write about it",
    "can you check whether everything is in order",
    "I was charged twice and want my money back",
    "what do I have to do next",
)


def prompt_text(case: CaseFile) -> str:
    """The original text of a run."""
    return f"{PROMPTS[case.run % len(PROMPTS)]}\n{case.line()}"


def variant_text(original: str, arm: int) -> str:
    """The text of a variant: nothing taken away, something of its own added."""
    case = CaseFile.read(original)
    if case is None:
        raise ValueError("the original has no case file")
    return f"{original.replace(case.line(), ADDITIONS[arm - 1])}\n\n{case.of_arm(arm).line()}"


def opening_text(matter: int, persona: str) -> str:
    """What a person opens with: the number of the matter, the person's name, some words."""
    return f"Matter {matter} for {persona}: {OPENINGS[matter % len(OPENINGS)]}."


MATTER = re.compile(r"Matter (\d+) for ([a-z0-9-]+):")


def read_opening(opening: str) -> tuple[int, str]:
    """Number of the matter and name of the persona in an opening."""
    found = MATTER.search(opening)
    if found is None:
        raise ValueError(f"not an opening of the stub: {opening!r}")
    return int(found[1]), found[2]


def slug(name: str) -> str:
    """A persona's name as it stands in an opening."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
