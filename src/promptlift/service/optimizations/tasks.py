"""The tasks of an optimization: those of a simulation, and writing variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from promptlift.service.simulations.tasks import SimulationTasks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.optimizations.variants.strategies import Strategy
    from promptlift.service.simulations.prompt_text import PromptText

__all__ = [
    "Failure",
    "OptimizationTasks",
    "RejectedDraft",
    "VariantDraft",
    "VariantsRequest",
    "WrittenDrafts",
]


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that went wrong in logged conversations.

    Attributes
    ----------
    text
        Title of an issue, or the story of one conversation. Hostile text.
    count
        Failed conversations with this issue; ``None`` for the story of one.
    total
        Failed conversations in which issues were counted.
    """

    text: str
    count: int | None = None
    total: int = 0


class RejectedDraft(NamedTuple):
    """An earlier text of a strategy that has to change in nothing but the words of logged conversations in it."""

    strategy: str
    content: str
    words: Sequence[str]


@dataclass(frozen=True, slots=True)
class VariantsRequest:
    """A request for variants of a prompt.

    Attributes
    ----------
    strategies
        One for each variant to write.
    intent
        ``targetImprovements`` and ``hypothesis``, as far as the owner gave them.
    failures
        What went wrong in logged conversations, the most important first.
    general
        The account's general settings.
    accepted
        Names of variants that exist already.
    problems
        Why earlier texts were not accepted.
    drafts
        Earlier texts that were rejected only for words of logged conversations.
    seed
        Differs between the requests of a run.
    """

    prompt: PromptText
    strategies: Sequence[Strategy]
    intent: Mapping[str, Any]
    failures: Sequence[Failure]
    general: Mapping[str, Any]
    accepted: Sequence[str]
    problems: Sequence[str]
    drafts: Sequence[RejectedDraft]
    seed: int


class VariantDraft(NamedTuple):
    """A variant as it was written, before anything of it is checked."""

    name: str
    content: str
    rationale: str


class WrittenDrafts(NamedTuple):
    """Variants in the order of their strategies.

    Attributes
    ----------
    mark
        What stood around the data of the request: a text that repeats it was led astray. ``None`` where nothing did.
    """

    drafts: Sequence[VariantDraft]
    mark: str | None = None


class OptimizationTasks(SimulationTasks, Protocol):
    """The tasks of one optimization; see ``SimulationTasks``."""

    def write_variants(self, request: VariantsRequest) -> WrittenDrafts:
        """Write one variant for each strategy."""
