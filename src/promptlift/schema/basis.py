"""What the verdict of a conversation rests on, and what may be said on it.

Every number, sentence and picture of the package asks here before it names a direction, a cause or a cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "BASES",
    "UNTOLD",
    "WAYS",
    "Basis",
    "as_seen_by",
    "basis_of_analyser",
    "may_say_clearly",
    "may_tell",
    "may_weigh",
    "weakest",
]

Basis = Literal["outcome", "label", "model", "learned", "words"]
"""How the verdict of "task completed" came about: the log says how it ended; a person said so; a language model judged; a judge
that was learned from labels; or the built-in rules."""

BASES: Final[tuple[Basis, ...]] = get_args(Basis)
"""The best first."""

UNTOLD: Final = "cannot be told without outcomes, labels or a model"

WAYS: Final = (
    'Outcomes: lift.outcomes(PROMPT) lists what the logs say, lift.update_prompt(PROMPT, outcome="resolved") makes it the verdict.',
    "Labels: analysis.label_plan(conversations) draws some to label by hand, and labels= corrects the numbers; 60 take 20 minutes.",
    "A model: PROMPTLIFT_LLM_BASE_URL and PROMPTLIFT_LLM_MODEL name the one that judges.",
)
"""How to get a better basis, one line for each way."""


def basis_of_analyser(analyser: str | None) -> Basis | None:
    """Return the basis of a verdict by the name of what judged; ``None`` where nothing is said of it.

    >>> basis_of_analyser("lexicon"), basis_of_analyser("llm:gpt-4o"), basis_of_analyser(None)
    ('words', 'model', None)
    """
    if not analyser:
        return None
    kind = analyser.partition(":")[0]
    return "words" if kind in ("lexicon", "mixed") else "learned" if kind == "learned" else "model"


def weakest(found: Iterable[str | None]) -> Basis | None:
    """Return the basis of verdicts of several: the weakest of them; ``None`` where none is known.

    >>> weakest(["model", "outcome", None])
    'model'
    """
    known = [BASES.index(one) for one in found if one in BASES]
    return BASES[max(known)] if known else None


def may_tell(basis: str | None) -> bool:
    """Whether a direction may be named: higher, lower, rising, better."""
    return basis != "words"


def may_say_clearly(basis: str | None) -> bool:
    """Whether a difference may be called clear.

    Not on a judge whose errors nobody knows; numbers that labels correct rest on the labels. Numbers of a table that says nothing of a
    judge are the caller's own.
    """
    return basis in (None, "outcome", "label")


def may_weigh(basis: str | None) -> bool:
    """Whether the failures that go with an issue may be counted against it.

    Only where the verdict did not come from the words, or the call, in which the issue was found: else both are one finding.
    """
    return basis in ("outcome", "label")


def as_seen_by(basis: str | None) -> str:
    """Return who judged, as a sentence ends with it; empty where the numbers need no such word.

    >>> as_seen_by("model"), as_seen_by("outcome")
    (', as the model sees it', '')
    """
    return {
        "model": ", as the model sees it",
        "learned": ", as the learned judge sees it",
        "words": ", of what a word list can see",
    }.get(str(basis), "")
