"""Edits of a prompt as a set: how they are put together, and how one that a model wrote joins the others.

A candidate is the original with some edits, in the order in which they were written. So two candidates can be merged, one
edit can be left out again, and each sentence keeps the reason it was written for.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from promptlift.schema.search import assembled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class CandidateEdit:
    """One change of the original.

    Attributes
    ----------
    id
        ``e`` and a number: the later an edit was written, the higher.
    operation
        ``add``, ``replace`` or ``delete``.
    anchor
        Text of the prompt that is replaced or deleted, or after which ``text`` stands; empty for the end.
    evidence
        Id of a conversation, and the words in it.
    issues
        What the judge called that which went wrong in these conversations.
    """

    id: str
    operation: str
    anchor: str
    text: str
    symptom: str
    cause: str
    evidence: tuple[tuple[str, str], ...] = ()
    issues: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """Place in the order of writing."""
        return int(self.id[1:])

    def to_json(self) -> dict[str, Any]:
        """Return the edit as plain JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Joined:
    """A set of edits after one more was written.

    Attributes
    ----------
    edits
        The set; without the earlier edit that the new one improves on.
    problem
        Why the edit does not fit; the set is the old one then.
    """

    edits: tuple[CandidateEdit, ...]
    problem: str | None = None


def assemble(original: str, edits: Iterable[CandidateEdit]) -> str:
    """Put edits into the original, in the order in which they were written.

    An addition whose anchor is not there stands at the end, so that a set from which an edit is left out still makes a
    prompt.
    """
    ordered = sorted(edits, key=lambda edit: edit.number)
    return assembled(original, ordered)


def join(original: str, edits: Sequence[CandidateEdit], new: CandidateEdit) -> Joined:
    """Add an edit to a set, as far as it fits the text that the set makes.

    A replacement that keeps what it replaces is an addition. One that changes the text of an earlier edit takes its place.
    """
    held = tuple(edits)
    current = assemble(original, held)
    problem = _misfit(current, new)
    if problem is not None:
        return Joined(held, problem)
    if new.operation == "add":
        anchor = new.anchor if new.anchor.strip() and new.anchor in current else ""
        return _with(original, held, replace(new, anchor=anchor, text=new.text.strip()))
    before, _, after = new.text.partition(new.anchor)
    if new.operation == "replace" and new.anchor in new.text and not before.strip():
        return _with(original, held, replace(new, operation="add", text=after.strip()))
    new = replace(new, text="") if new.operation == "delete" else new
    for earlier in held:
        if new.anchor in earlier.text:
            return _in_place_of(original, held, earlier, new)
    if new.anchor not in original:
        return Joined(held, "What it would change stands partly in an earlier edit.")
    return _with(original, held, new)


def _misfit(current: str, new: CandidateEdit) -> str | None:
    if new.operation not in ("add", "replace", "delete"):
        return "Its operation is none of add, replace and delete."
    if new.operation != "delete" and not new.text.strip():
        return "It has no text."
    if new.operation != "add" and (not new.anchor.strip() or new.anchor not in current):
        return "What it would change does not stand in the prompt."
    return None


def _with(original: str, held: tuple[CandidateEdit, ...], new: CandidateEdit) -> Joined:
    if new.operation == "add" and not new.text:
        return Joined(held, "It changes nothing.")
    joined = (*held, new)
    current = assemble(original, held)
    if assemble(original, joined) == current:
        return Joined(held, "It changes nothing.")
    if new.operation == "add" and _words(new.text) in _words(current):
        return Joined(held, "It stands in the prompt already.")
    return Joined(joined)


def _words(text: str) -> str:
    """Return a text as it is compared: whatever its spaces and capitals, and as whole words."""
    return f" {' '.join(text.casefold().split())} "


def _in_place_of(
    original: str, held: tuple[CandidateEdit, ...], earlier: CandidateEdit, new: CandidateEdit
) -> Joined:
    others = tuple(one for one in held if one is not earlier)
    text = earlier.text.replace(new.anchor, new.text, 1).strip()
    if not text and earlier.operation != "replace":
        return Joined(others)
    return _with(
        original, others, replace(new, operation=earlier.operation, anchor=earlier.anchor, text=text)
    )
