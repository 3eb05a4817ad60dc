"""The basis of a conversation's verdict, and the claims that it supports.

Every number, sentence and picture of the package checks here before it claims a direction, a cause or a cost.
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
"""The source of the verdict "task completed": the log's outcome, a person's label, a language model, a judge that learned from labels, or the built-in rules."""

BASES: Final[tuple[Basis, ...]] = get_args(Basis)
"""In descending order of quality."""

LABELS_OF_A_PROOF: Final = 50
"""Fewest labels, drawn at random, that can prove a judge."""

UNTOLD: Final = "cannot be told without outcomes, labels or a model"

WAYS: Final = (
    'Outcomes: lift.outcomes(PROMPT) lists what the logs say, lift.update_prompt(PROMPT, outcome="resolved") makes it the verdict.',
    "Labels: analysis.label_plan(conversations) draws some to label; labels= corrects by them, lift.judges.learn learns from them; 60 take 20 minutes.",
    "A model: PROMPTLIFT_LLM_BASE_URL and PROMPTLIFT_LLM_MODEL name the one that judges.",
)
"""Ways to a better basis, one line each."""


def basis_of_analyser(analyser: str | None) -> Basis | None:
    """Return the basis of a verdict by the name of the analyser; ``None`` if unknown.

    >>> basis_of_analyser("lexicon"), basis_of_analyser("llm:gpt-4o"), basis_of_analyser(None)
    ('words', 'model', None)
    """
    if not analyser:
        return None
    kind = analyser.partition(":")[0]
    return "words" if kind in ("lexicon", "mixed") else "model"


def weakest(found: Iterable[str | None]) -> Basis | None:
    """Return the weakest of several bases of verdicts; ``None`` if none is known.

    >>> weakest(["model", "outcome", None])
    'model'
    """
    known = [BASES.index(one) for one in found if one in BASES]
    return BASES[max(known)] if known else None


def may_tell(basis: str | None) -> bool:
    """Return whether a direction may be claimed: higher, lower, rising, better."""
    return basis != "words"


class Agreement(NamedTuple):
    """How far a judge agrees with people on conversations drawn at random.

    Attributes
    ----------
    n
        Number of conversations answered by both.
    low
        Lower end of the 95% interval of the share on which they agree.
    majority
        Share of people's more frequent answer, which is the agreement of always giving that answer.
    """

    n: int
    low: float
    majority: float

    @property
    def is_proof(self) -> bool:
        """Whether the judge is known to be better than a constant answer."""
        return self.n >= LABELS_OF_A_PROOF and self.low > self.majority


def may_say_clearly(basis: str | None, agreement: Agreement | None = None) -> bool:
    """Return whether a difference may be called clear.

    Not with a judge of unknown errors: a model or a learned judge needs at least 50 labels as proof. Numbers
    corrected by labels are based on the labels, and those of a table without a judge are the caller's own.
    """
    if basis in ("model", "learned"):
        return agreement is not None and agreement.is_proof
    return basis != "words"


def may_weigh(basis: str | None) -> bool:
    """Return whether the failures associated with an issue may be counted against it.

    Only if the verdict did not come from the words, or the call, in which the issue was found: otherwise both
    are one finding.
    """
    return basis in ("outcome", "label")


def as_seen_by(basis: str | None) -> str:
    """Return a clause naming the judge, for the end of a sentence; empty if the numbers need none.

    >>> as_seen_by("model"), as_seen_by("outcome")
    (', as the model sees it', '')
    """
    return {
        "model": ", as the model sees it",
        "learned": ", as the learned judge sees it",
        "words": ", of what a word list can see",
    }.get(str(basis), "")
