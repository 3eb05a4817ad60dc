"""What a search for a better prompt found: edits with their evidence, candidates, headroom, and what it may spend. Ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, Literal, Protocol, get_args

from pydantic import Field

from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel

if TYPE_CHECKING:
    from collections.abc import Iterable

EditOperation = Literal["add", "replace", "delete"]
EditState = Literal["kept", "pruned", "refused"]
CandidateState = Literal["testing", "pool", "rejected", "finalist"]
SearchSetting = Literal["on", "off"]
SEARCH_DEFAULT: Final[SearchSetting] = "on"

# Stands in evidence in the place of the id of a conversation whose words are deleted.
DELETED: Final = "deleted"

# Measured on agents whose outcome is known: 14 to 48 points by the built-in analyser, none by the truth.
CIRCULAR: Final = (
    "What mending issues could give cannot be told: the judge that found them also decided which conversations failed, so both are one "
    "finding. Outcomes from the logs would tell it (lift.outcomes)."
)


class EditEvidence(ApiModel):
    """A place in a conversation that shows why an edit was written."""

    conversation_id: str | None = None
    """The conversation: a logged one, or a simulated one of the same optimization; ``deleted`` when it or its transcript
    was deleted."""
    quote: str = ""
    """The words, as they stand there. Hostile text. Empty when the conversation was deleted."""


class Edit(ApiModel):
    """One change of a prompt that a search made, and what its conversations say of it."""

    id: Annotated[str, Column(name="edit_id")]
    """The same in every candidate that has the edit."""
    operation: Annotated[str | None, Column(categories=get_args(EditOperation))] = None
    """``add``, ``replace`` or ``delete``."""
    anchor: Annotated[str, Column()] = ""
    """The text of the prompt that is replaced or deleted, or after which the new text stands; empty for its end."""
    text: Annotated[str, Column()] = ""
    """The new text; empty for a deletion."""
    symptom: Annotated[str, Column()] = ""
    """What goes wrong in the conversations."""
    cause: Annotated[str, Column()] = ""
    """Why, as the writer sees it."""
    evidence: list[EditEvidence] = Field(default_factory=list)
    won: Annotated[int | None, Column()] = None
    """Cells that were completed with the edit and not without it. Candidates with and without it are compared, so other
    edits may have had their part in it."""
    lost: Annotated[int | None, Column()] = None
    """Cells that were completed without the edit and not with it."""
    tied: Annotated[int | None, Column()] = None
    """Cells that ended alike."""
    effect: Annotated[float | None, Column(unit="percentage points")] = None
    """Points of completion that the edit is worth by all conversations of the search; ``None`` before it was tested."""
    state: Annotated[str | None, Column(categories=get_args(EditState))] = None
    """``kept``, ``pruned`` (left out again because it earned nothing) or ``refused`` (never part of a prompt)."""
    reason: Annotated[str | None, Column()] = None
    """Why it was refused or pruned."""


class CandidateSearch(ApiModel):
    """What the search measured of one candidate. It decides who is confirmed, and nothing else."""

    pairs: Annotated[int, Column(name="search_pairs")] = 0
    """Cells on which it talked beside the candidate that its generation was tested against."""
    won: Annotated[
        int, Column(name="search_won", meaning="Of these, cells that only this candidate completed.")
    ] = 0
    lost: Annotated[
        int, Column(name="search_lost", meaning="Of these, cells that only the other one completed.")
    ] = 0
    tied: Annotated[int, Column(name="search_tied", meaning="Of these, cells that ended alike.")] = 0
    points: Annotated[float | None, Column(name="search_points", unit="percentage points")] = None
    """Percentage points of completion that it is better than the original, estimated from all conversations of the search;
    ``None`` before it has talked."""
    points_low: Annotated[float | None, Column(name="search_points_low", unit="percentage points")] = None
    """Lower end of its interval, 90 %."""
    points_high: Annotated[
        float | None,
        Column(
            name="search_points_high", unit="percentage points", meaning="Upper end of its interval, 90 %."
        ),
    ] = None
    conversations_spent: Annotated[int | None, Column(name="search_conversations")] = None
    """Conversations of the search up to the last test of the candidate."""
    state: Annotated[str | None, Column(name="search_state", categories=get_args(CandidateState))] = None
    """``testing``, ``pool``, ``rejected`` or ``finalist``."""
    reason: Annotated[str | None, Column(name="search_reason")] = None
    """How its test ended."""


class HeadroomIssue(ApiModel):
    """One issue of the logged conversations, and how much more often those without it complete than all."""

    title: str
    n: int
    """Conversations with it."""
    points: float | None = None
    points_low: float | None = None
    points_high: float | None = None


class Headroom(ApiModel):
    """How much more often conversations without issues complete than all: no more is to be expected of mending them."""

    conversations: int | None = None
    """Logged conversations that were judged."""
    completed: int | None = None
    points: float | None = None
    """Percentage points of completion that conversations without any issue are above all; ``None`` where nothing was counted, or one
    judgement gave both issues and failures."""
    points_low: float | None = None
    points_high: float | None = None
    level: float | None = None
    """Level of the intervals as a fraction."""
    points_findable: float | None = None
    """The smallest gain that the confirmation finds with 80 % probability; ``None`` where it finds none."""
    enough: bool | None = None
    """Whether the gain may be that large: ``False`` where its one-sided upper bound of 90 % is less; ``None`` where too little is known."""
    text: str | None = None
    """The same in words, or why nothing can be told."""
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


_BLANK_LINES: Final = re.compile(r"\n[ \t]*\n[ \t]*(?:\n[ \t]*)+")


class _Edit(Protocol):
    @property
    def operation(self) -> str | None: ...
    @property
    def anchor(self) -> str: ...
    @property
    def text(self) -> str: ...


def assembled(original: str, edits: Iterable[_Edit]) -> str:
    """Return a text with edits made one after the other.

    An addition whose anchor is not there stands at the end, and so does a new text for one that is not there, so that a
    set from which an edit is left out still makes a prompt. A deletion without its text changes nothing.

    Parameters
    ----------
    original
        The text before any edit.
    edits
        In the order in which they were written.

    Examples
    --------
    >>> from promptlift.schema.search import Edit
    >>> assembled("Help people. Be quick.", [Edit(id="e1", operation="replace", anchor="quick", text="brief")])
    'Help people. Be brief.'
    """
    text = original
    for edit in edits:
        at = text.find(edit.anchor) if edit.anchor else -1
        if edit.operation == "add":
            text = _added(text, edit.text, at + len(edit.anchor) if at >= 0 else None)
        elif at >= 0:
            text = text[:at] + edit.text + text[at + len(edit.anchor) :]
            text = text if edit.text else _tidy(text)
        elif edit.text:
            text = _added(text, edit.text, None)
    return text


def _added(text: str, new: str, at: int | None) -> str:
    if at is None:
        return f"{text.rstrip()}\n{new}" if text.strip() else new
    rest = text[at:]
    # After a whole line a line of its own, within a line in the line.
    gap = "\n" if not rest or rest.startswith("\n") else " "
    return f"{text[:at]}{gap}{new}{rest}"


def _tidy(text: str) -> str:
    """Close the gap that a deletion leaves."""
    lines = text.split("\n")
    kept = [line for at, line in enumerate(lines) if line.strip() or (at and lines[at - 1].strip())]
    return _BLANK_LINES.sub("\n\n", "\n".join(kept))
