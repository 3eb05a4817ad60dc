"""Results of a search for a better prompt: edits with their evidence, candidates, headroom, and budget. Ours."""

import re
from collections.abc import Iterable
from typing import Annotated, Final, Literal, Protocol, get_args

from pydantic import Field

from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel

EditOperation = Literal["add", "replace", "delete"]
EditState = Literal["kept", "pruned", "refused"]
CandidateState = Literal["testing", "pool", "rejected", "finalist"]
SearchSetting = Literal["on", "off"]
SEARCH_DEFAULT: Final[SearchSetting] = "on"

# Replaces the id of a conversation in evidence whose words are deleted.
DELETED: Final = "deleted"

# Measured on agents whose outcome is known: 14 to 48 points according to the built-in analyser, none in
# truth.
CIRCULAR: Final = (
    "The gain from fixing issues is unknown: the judge that found them also decided which conversations "
    "failed, so both are one finding. Outcomes from the logs would show it (lift.outcomes)."
)


class EditEvidence(ApiModel):
    """A place in a conversation that shows why an edit was written."""

    conversation_id: str | None = None
    """The conversation: a logged one, or a simulated one of the same optimization; ``deleted`` if it or its transcript was deleted."""
    quote: str = ""
    """The words, verbatim. Hostile text. Empty if the conversation was deleted."""


class Edit(ApiModel):
    """One change of a prompt made by a search, with evidence from its conversations."""

    id: Annotated[str, Column(name="edit_id")]
    """The same in every candidate that has the edit."""
    operation: Annotated[str | None, Column(categories=get_args(EditOperation))] = None
    """``add``, ``replace`` or ``delete``."""
    anchor: Annotated[str, Column()] = ""
    """The text of the prompt to replace or delete, or after which the new text is inserted; empty for its end."""
    text: Annotated[str, Column()] = ""
    """The new text; empty for a deletion."""
    symptom: Annotated[str, Column()] = ""
    """The problem in the conversations."""
    cause: Annotated[str, Column()] = ""
    """The cause, according to the writer."""
    evidence: list[EditEvidence] = Field(default_factory=list)
    won: Annotated[int | None, Column()] = None
    """Cells completed with the edit but not without it. Candidates with and without it are compared, so other edits may have contributed."""
    lost: Annotated[int | None, Column()] = None
    """Cells completed without the edit but not with it."""
    tied: Annotated[int | None, Column()] = None
    """Cells that ended the same."""
    effect: Annotated[float | None, Column(unit="percentage points")] = None
    """Worth of the edit in points of completion, from all conversations of the search; ``None`` before it was tested."""
    effect_low: Annotated[float | None, Column(unit="percentage points")] = None
    """Lower end of its interval, 90%."""
    effect_high: Annotated[
        float | None, Column(unit="percentage points", meaning="Upper end of its interval, 90%.")
    ] = None
    state: Annotated[str | None, Column(categories=get_args(EditState))] = None
    """``kept``, ``pruned`` (removed because it gained nothing) or ``refused`` (never part of a prompt)."""
    reason: Annotated[str | None, Column()] = None
    """Why it was refused or pruned."""


class CandidateSearch(ApiModel):
    """The search's measurements of one candidate. They only decide which candidate is confirmed."""

    pairs: Annotated[int, Column(name="search_pairs")] = 0
    """Cells that it shares with the candidate against which its generation was tested."""
    won: Annotated[
        int, Column(name="search_won", meaning="Of these, cells that only this candidate completed.")
    ] = 0
    lost: Annotated[
        int, Column(name="search_lost", meaning="Of these, cells that only the other one completed.")
    ] = 0
    tied: Annotated[int, Column(name="search_tied", meaning="Of these, cells that ended the same.")] = 0
    points: Annotated[float | None, Column(name="search_points", unit="percentage points")] = None
    """Gain over the original in percentage points of completion, estimated from all conversations of the search; ``None`` before its first conversation."""
    points_low: Annotated[float | None, Column(name="search_points_low", unit="percentage points")] = None
    """Lower end of its interval, 90%."""
    points_high: Annotated[
        float | None,
        Column(
            name="search_points_high", unit="percentage points", meaning="Upper end of its interval, 90%."
        ),
    ] = None
    conversations_spent: Annotated[int | None, Column(name="search_conversations")] = None
    """Conversations of the search up to the last test of the candidate."""
    state: Annotated[str | None, Column(name="search_state", categories=get_args(CandidateState))] = None
    """``testing``, ``pool``, ``rejected`` or ``finalist``."""
    reason: Annotated[str | None, Column(name="search_reason")] = None
    """How its test ended."""


class HeadroomIssue(ApiModel):
    """One issue of the logged conversations, and by how much those without it complete more often than all."""

    title: str
    n: int
    """Conversations with it."""
    points: float | None = None
    points_low: float | None = None
    points_high: float | None = None


class Headroom(ApiModel):
    """By how much conversations without issues complete more often than all: the most to expect from fixing them."""

    conversations: int | None = None
    """Number of judged logged conversations."""
    completed: int | None = None
    points: float | None = None
    """By how many percentage points conversations without any issue complete more often than all; ``None`` if nothing was counted, or the same judgement gave both issues and failures."""
    points_low: float | None = None
    points_high: float | None = None
    level: float | None = None
    """Level of the intervals as a fraction."""
    points_findable: float | None = None
    """The smallest gain that the confirmation detects with 80% probability; ``None`` if it detects none."""
    enough: bool | None = None
    """Whether the gain may be that large: ``False`` if its one-sided upper bound of 90% is less; ``None`` if too little is known."""
    text: str | None = None
    """The same in words, or why nothing is known."""
    issues: list[HeadroomIssue] = Field(default_factory=list)
    """The most frequent issues."""


class Spending(ApiModel):
    """Conversations of one part of an optimization."""

    planned: int | None = None
    """Maximum number of conversations."""
    spent: int | None = None


class SearchPlan(ApiModel):
    """The budgets and spending of the parts of an optimization."""

    search: Spending = Field(default_factory=Spending)
    confirmation: Spending = Field(default_factory=Spending)
    verification: Spending = Field(default_factory=Spending)
    generations_max: int | None = None
    generations: int | None = None
    """Generations so far."""


_BLANK_LINES: Final = re.compile(r"\n[ \t]*\n[ \t]*(?:\n[ \t]*)+")
_BETWEEN_SENTENCES: Final = re.compile(r"((?<=[.!?])\s+|\n+)")
# Fewer words are often said twice on purpose: "User: Thank you."
_SENTENCE_WORDS: Final = 4


class _Edit(Protocol):
    @property
    def operation(self) -> str | None: ...
    @property
    def anchor(self) -> str: ...
    @property
    def text(self) -> str: ...


def assembled(original: str, edits: Iterable[_Edit]) -> str:
    """Return a text with edits made one after the other.

    An addition whose anchor is missing goes to the end, as does a replacement for a missing text, so that a
    set without one of its edits still makes a prompt. A deletion without its text changes nothing. A sentence
    that is in the text already is not added again: edits of two candidates may make the same point.

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
        end = at + len(edit.anchor)
        if edit.operation == "add" or at < 0:
            new = _unsaid(edit.text, text)
            text = _added(text, new, end if at >= 0 else None) if new else text
        else:
            new = _unsaid(edit.text, f"{text[:at]}\n{text[end:]}")
            text = text[:at] + new + text[end:]
            text = text if new else _tidy(text)
    return text


def _unsaid(new: str, text: str) -> str:
    """Return a new text without the sentences that another text has already."""
    said = set(map(_plain, _BETWEEN_SENTENCES.split(text)))
    parts = _BETWEEN_SENTENCES.split(new)
    kept = ""
    for sentence, gap in zip(parts[::2], [*parts[1::2], ""], strict=True):
        plain = _plain(sentence)
        if plain not in said or len(plain.split()) < _SENTENCE_WORDS:
            kept += sentence + gap
            said.add(plain)
    return new if len(kept) == len(new) else kept.strip()


def _plain(sentence: str) -> str:
    return " ".join(sentence.casefold().split()).lstrip("-*•# ")


def _added(text: str, new: str, at: int | None) -> str:
    if at is None:
        return f"{text.rstrip()}\n{new}" if text.strip() else new
    rest = text[at:]
    # After a complete line as its own line, within a line inline.
    gap = "\n" if not rest or rest.startswith("\n") else " "
    return f"{text[:at]}{gap}{new}{rest}"


def _tidy(text: str) -> str:
    """Close the gap that a deletion leaves."""
    lines = text.split("\n")
    kept = [line for at, line in enumerate(lines) if line.strip() or (at and lines[at - 1].strip())]
    return _BLANK_LINES.sub("\n\n", "\n".join(kept))
