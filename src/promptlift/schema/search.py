"""What a search for a better prompt found: edits with their evidence, candidates, headroom, and what it may spend. Ours."""

from __future__ import annotations

from typing import Final, Literal, get_args

from pydantic import Field

from promptlift.schema.model import ApiModel

EditOperation = Literal["add", "replace", "delete"]
EDIT_OPERATIONS: Final[tuple[EditOperation, ...]] = get_args(EditOperation)
EditState = Literal["kept", "pruned", "refused"]
EDIT_STATES: Final[tuple[EditState, ...]] = get_args(EditState)
CandidateState = Literal["testing", "pool", "rejected", "finalist"]
CANDIDATE_STATES: Final[tuple[CandidateState, ...]] = get_args(CandidateState)
SearchSetting = Literal["on", "off"]
SEARCH_DEFAULT: Final[SearchSetting] = "off"


class EditEvidence(ApiModel):
    """A place in a conversation that shows why an edit was written."""

    conversation_id: str | None = None
    """The conversation: a logged one, or a simulated one of the same optimization."""
    quote: str = ""
    """The words, as they stand there. Hostile text."""


class Edit(ApiModel):
    """One change of a prompt that a search made, and what its conversations say of it."""

    id: str
    """The same in every candidate that has the edit."""
    operation: str | None = None
    """``add``, ``replace`` or ``delete``."""
    anchor: str = ""
    """The text of the prompt that is replaced or deleted, or after which the new text stands; empty for its end."""
    text: str = ""
    """The new text; empty for a deletion."""
    symptom: str = ""
    """What goes wrong in the conversations."""
    cause: str = ""
    """Why, as the writer sees it."""
    evidence: list[EditEvidence] = Field(default_factory=list)
    won: int | None = None
    """Cells that were completed with the edit and not without it. Candidates with and without it are compared, so other
    edits may have had their part in it."""
    lost: int | None = None
    """Cells that were completed without the edit and not with it."""
    tied: int | None = None
    """Cells that ended alike."""
    effect: float | None = None
    """Points of completion that the edit is worth by all conversations of the search; ``None`` before it was tested."""
    state: str | None = None
    """``kept``, ``pruned`` (left out again because it earned nothing) or ``refused`` (never part of a prompt)."""
    reason: str | None = None
    """Why it was refused or pruned."""


class CandidateSearch(ApiModel):
    """What the search measured of one candidate. It decides who is confirmed, and nothing else."""

    pairs: int = 0
    """Cells on which it talked beside the candidate that its generation was tested against."""
    won: int = 0
    lost: int = 0
    tied: int = 0
    points: float | None = None
    """Percentage points of completion that it is better than the original, estimated from all conversations of the search;
    ``None`` before it has talked."""
    points_low: float | None = None
    """Lower end of its interval, 90 %."""
    points_high: float | None = None
    conversations_spent: int | None = None
    """Conversations of the search up to the last test of the candidate."""
    state: str | None = None
    """``testing``, ``pool``, ``rejected`` or ``finalist``."""
    reason: str | None = None
    """How its test ended."""


class HeadroomIssue(ApiModel):
    """One issue of the logged conversations, and what would be gained if it vanished."""

    title: str
    n: int
    """Conversations with it."""
    points: float | None = None
    points_low: float | None = None
    points_high: float | None = None


class Headroom(ApiModel):
    """The most that mending everything could give, by the logged conversations, before anything is spent."""

    conversations: int
    """Logged conversations that were judged."""
    completed: int
    points: float | None = None
    """Percentage points of completion that would be gained if every issue vanished; ``None`` where nothing was counted."""
    points_low: float | None = None
    points_high: float | None = None
    level: float | None = None
    """Level of the intervals as a fraction."""
    points_findable: float | None = None
    """The smallest gain that the confirmation finds with 80 % probability; ``None`` where it finds none."""
    enough: bool | None = None
    """Whether the gain may be that large; ``None`` where too little is known to say so."""
    text: str | None = None
    """The same in words."""
    issues: list[HeadroomIssue] = Field(default_factory=list)
    """The most frequent ones."""


class Spending(ApiModel):
    """Conversations of one part of an optimization."""

    planned: int | None = None
    """The most that it may hold."""
    spent: int | None = None


class SearchPlan(ApiModel):
    """What the parts of an optimization may spend, and have spent."""

    search: Spending = Field(default_factory=Spending)
    confirmation: Spending = Field(default_factory=Spending)
    verification: Spending = Field(default_factory=Spending)
    generations_max: int | None = None
    generations: int | None = None
    """Generations so far."""
