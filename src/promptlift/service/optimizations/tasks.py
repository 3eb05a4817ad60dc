"""The tasks of an optimization: those of a simulation, and writing variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from promptlift.service.simulations.tasks import SimulationTasks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.optimizations.variants.strategies import Strategy
    from promptlift.service.simulations.tasks import PromptText

__all__ = [
    "EditDraft",
    "EditsRequest",
    "Failure",
    "OptimizationTasks",
    "RejectedDraft",
    "ShownConversation",
    "VariantDraft",
    "VariantsRequest",
    "WrittenDrafts",
    "WrittenEdits",
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


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """A conversation that a writer of edits is shown. All texts are hostile.

    Attributes
    ----------
    id
        How the request and its answer call it.
    completed
        Whether it did what somebody came for.
    issues
        Titles of what went wrong, as the judge named it.
    turns
        Role and text of each turn.
    cut
        Characters that are left out for want of room.
    unmet
        What its owner wants and it did not meet, in the owner's words.
    """

    id: str
    completed: bool
    issues: Sequence[str]
    turns: Sequence[tuple[str, str]]
    cut: int = 0
    unmet: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class EditsRequest:
    """A request for edits of a prompt.

    Attributes
    ----------
    prompt
        Its content is the text to edit: the original, or a candidate.
    conversations
        Under this text or an earlier one; failed ones first.
    edits
        Symptom and text of what was changed already.
    intent, general
        As of ``VariantsRequest``.
    problems
        Why earlier edits were not accepted.
    seed
        Differs between the requests of a run.
    """

    prompt: PromptText
    conversations: Sequence[ShownConversation]
    edits: Sequence[tuple[str, str]]
    intent: Mapping[str, Any]
    general: Mapping[str, Any]
    problems: Sequence[str]
    seed: int


class EditDraft(NamedTuple):
    """One edit as it was written, before anything of it is checked.

    Attributes
    ----------
    evidence
        Id of a conversation of the request, and the words in it.
    operation
        ``add``, ``replace`` or ``delete``.
    """

    symptom: str
    cause: str
    evidence: Sequence[tuple[str, str]]
    operation: str
    anchor: str
    text: str


class WrittenEdits(NamedTuple):
    """Edits, the most important first.

    Attributes
    ----------
    mark
        What stood around the data of the request; see ``WrittenDrafts``.
    """

    edits: Sequence[EditDraft]
    mark: str | None = None


class OptimizationTasks(SimulationTasks, Protocol):
    """The tasks of one optimization; see ``SimulationTasks``."""

    def write_variants(self, request: VariantsRequest) -> WrittenDrafts:
        """Write one variant for each strategy."""

    def write_edits(self, request: EditsRequest) -> WrittenEdits:
        """Write edits against what went wrong in conversations.

        ``LlmBadAnswer`` says that the writer is not capable of it: then there is no search.
        """
