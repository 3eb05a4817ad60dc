"""Sets of edits of a prompt: assembling them, and adding an edit from a model.

A candidate is the original with some edits, in the order in which they were written. So two candidates can be
merged, an edit can be removed again, and each sentence keeps its reason.

Transcripts are data. A model may still follow instructions in them, so edits without evidence, in strangers' own
words, or with addresses that nobody gave never become a sentence of a prompt.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.search import assembled
from promptlift.service.llm.hostile_text import quotation_from

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class CandidateEdit:
    """One change of the original.

    Attributes
    ----------
    id
        ``e`` and a number that increases in the order of writing.
    operation
        ``add``, ``replace`` or ``delete``.
    anchor
        Text of the prompt to replace or delete, or after which ``text`` is inserted; empty for the end.
    evidence
        Id of a conversation, and the words in it.
    issues
        The judge's issues in these conversations.
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
        """Position in the order of writing."""
        return int(self.id[1:])

    @property
    def issue(self) -> str:
        """The issue of most of its conversations; empty if they have none."""
        return self.issues[0] if self.issues else ""

    def to_json(self) -> dict[str, Any]:
        """Return the edit as plain JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Joined:
    """A set of edits after adding one.

    Attributes
    ----------
    edits
        The set, without an earlier edit that the new one improves on.
    problem
        Why the edit does not fit; then the set is unchanged.
    """

    edits: tuple[CandidateEdit, ...]
    problem: str | None = None


def assemble(original: str, edits: Iterable[CandidateEdit]) -> str:
    """Apply edits to the original, in the order in which they were written.

    An addition whose anchor is missing goes to the end, so that a set without one of its edits still makes a
    prompt.
    """
    ordered = sorted(edits, key=lambda edit: edit.number)
    return assembled(original, ordered)


def join(original: str, edits: Sequence[CandidateEdit], new: CandidateEdit) -> Joined:
    """Add an edit to a set, if it fits the assembled text.

    A replacement that keeps what it replaces is an addition. One that changes the text of an earlier edit
    supersedes that edit.
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
        return Joined(held, "The text to change is partly in an earlier edit.")
    return _with(original, held, new)


def dealt(edits: Sequence[CandidateEdit], candidates: int) -> list[list[CandidateEdit]]:
    """Deal new edits to candidates so that their effects can be told apart: each to all candidates but one.

    Edits against the same issue are left out of different candidates.
    """
    order = sorted(edits, key=lambda one: one.issue)
    left_out = [order[at::candidates] if candidates > 1 else [] for at in range(candidates)]
    return [[one for one in edits if one not in out] for out in left_out]


def _misfit(current: str, new: CandidateEdit) -> str | None:
    if new.operation not in ("add", "replace", "delete"):
        return "Its operation is none of add, replace and delete."
    if new.operation != "delete" and not new.text.strip():
        return "It has no text."
    if new.operation != "add" and (not new.anchor.strip() or new.anchor not in current):
        return "The text to change is not in the prompt."
    return None


def _with(original: str, held: tuple[CandidateEdit, ...], new: CandidateEdit) -> Joined:
    if new.operation == "add" and not new.text:
        return Joined(held, "It changes nothing.")
    joined = (*held, new)
    current = assemble(original, held)
    if new.operation == "add" and _words(new.text) in _words(current):
        return Joined(held, "It is already in the prompt.")
    if assemble(original, joined) == current:
        return Joined(held, "It changes nothing.")
    return Joined(joined)


def _words(text: str) -> str:
    """Return a text in the form used for comparison: without regard to spaces and capitals, in whole words."""
    return f" {' '.join(text.casefold().split())} "


# Share of the words of an issue, by their rarity, that an edit against it has.
NEAR: Final = 0.6


def nearest(text: str, titles: Collection[str]) -> str | None:
    """Return the issue whose words a text has, rare words counting more; ``None`` if there is none."""
    of = {title: set(_WORD.findall(title.casefold())) for title in titles}
    frequency = Counter(word for words in of.values() for word in words)
    rarity = {word: math.log((1 + len(of)) / count) for word, count in frequency.items()}
    has = set(_WORD.findall(text.casefold()))

    def share(title: str) -> float:
        return sum(rarity[word] for word in of[title] & has) / (
            sum(rarity[word] for word in of[title]) or 1.0
        )

    best = max(of, key=share, default=None)
    return best if best is not None and share(best) >= NEAR else None


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


# Guards

EDIT_CHARS: Final = 800
QUOTE_CHARS: Final = 300
# Length of runs of words that occur in one message, and the share of an edit's words that makes it a
# repetition.
RUN: Final = 3
REPEATED_SHARE: Final = 0.6
_WORD: Final = re.compile(r"\w+(?:['\u2019]\w+)*")
_ADDRESS: Final = re.compile(
    r"(?:https?://|\bwww\.)\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b(?:[\w-]+\.)+(?:com|net|org|io|example|info|biz|co|dev|app)\b",
    re.IGNORECASE,
)


def existing_evidence(claimed: Iterable[tuple[str, str]], texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the evidence whose quotation is in the cited conversation.

    Parameters
    ----------
    texts
        The full text of each conversation shown, by id.
    """
    found = ((name, quotation_from(texts.get(name, ""), quote, QUOTE_CHARS)) for name, quote in claimed)
    return list(dict.fromkeys((name, quote) for name, quote in found if quote is not None))


def says_what_was_said(text: str, messages: Iterable[str]) -> bool:
    """Return whether most words of an edit occur literally in one message of a stranger.

    Parameters
    ----------
    messages
        Strangers' messages.
    """
    words = _WORD.findall(text.casefold())
    if not words:
        return False
    run = min(RUN, len(words))
    for message in messages:
        said = _WORD.findall(message.casefold())
        runs = {tuple(said[at : at + run]) for at in range(len(said) - run + 1)}
        covered: set[int] = set()
        for at in range(len(words) - run + 1):
            if tuple(words[at : at + run]) in runs:
                covered.update(range(at, at + run))
        if len(covered) >= REPEATED_SHARE * len(words):
            return True
    return False


def new_addresses(text: str, original: str) -> list[str]:
    """Return the web and e-mail addresses of an edit that are not the prompt's own."""
    known = original.casefold()
    return [found for found in _ADDRESS.findall(text) if found.rstrip(".,;:").casefold() not in known]
