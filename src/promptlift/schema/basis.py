"""What the verdict of a conversation rests on, and what may be said on it.

Every number, sentence and picture of the package asks here before it names a direction, a cause or a cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "BASES",
    "LABELS_OF_A_PROOF",
    "UNTOLD",
    "WAYS",
    "Agreement",
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

LABELS_OF_A_PROOF: Final = 50
"""Fewest labels, drawn at random, that can prove a judge."""

UNTOLD: Final = "cannot be told without outcomes, labels or a model"

WAYS: Final = (
    'Outcomes: lift.outcomes(PROMPT) lists what the logs say, lift.update_prompt(PROMPT, outcome="resolved") makes it the verdict.',
    "Labels: analysis.label_plan(conversations) draws some to label; labels= corrects by them, lift.judges.learn learns from them; 60 take 20 minutes.",
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
    return "words" if kind in ("lexicon", "mixed") else "model"


def weakest(found: Iterable[str | None]) -> Basis | None:
    """Return the basis of verdicts of several: the weakest of them; ``None`` where none is known.

    >>> weakest(["model", "outcome", None])
    'model'
    """
    known = [BASES.index(one) for one in found if one in BASES]
    return BASES[max(known)] if known else None


def may_tell(basis: str | None) -> bool:
    """Return whether a direction may be named: higher, lower, rising, better."""
    return basis != "words"


class Agreement(NamedTuple):
    """How far a judge says what people say of conversations drawn at random.

    Attributes
    ----------
    n
        Conversations that both have answered.
    low
        Lower end of the 95 % interval of the share on which they agree.
    majority
        Share of the answer that people gave more often: what always saying it would agree on.
    """

    n: int
    low: float
    majority: float

    @property
    def is_proof(self) -> bool:
        """Whether the judge is known to be better than always saying the same."""
        return self.n >= LABELS_OF_A_PROOF and self.low > self.majority


def may_say_clearly(basis: str | None, agreement: Agreement | None = None) -> bool:
    """Return whether a difference may be called clear.

    Not on a judge whose errors nobody knows: a model or a learned judge may where at least 50 labels prove it. Numbers that labels
    correct rest on the labels, and those of a table that says nothing of a judge are the caller's own.
    """
    if basis in ("model", "learned"):
        return agreement is not None and agreement.is_proof
    return basis != "words"


def may_weigh(basis: str | None) -> bool:
    """Return whether the failures that go with an issue may be counted against it.

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
