"""Choose the conversations to show to the writer of edits: few, complete, and as diverse as the failures."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from promptlift.service.search.edits import CandidateEdit

FAILED_SHOWN: Final = 7
SUCCEEDED_SHOWN: Final = 2
# Characters of all conversations of one request, about a quarter as many tokens.
CHARS_MOST: Final = 48_000
# An issue that already has an edit counts for less, until it recurs with the edit in place.
ANSWERED: Final = 0.15
SEEN_AGAIN: Final = 0.5
# Conversations under the text to be edited are more informative than those under the original.
PRESENT: Final = 2.0
SAME_ISSUE: Final = 15.0
# Failures that hardly cost the goal anything come last, but are shown: a candidate must not complete fewer
# tasks, whatever the goal.
LEAST_MISSED: Final = 0.05


@dataclass(frozen=True, slots=True)
class Seen:
    """A conversation that may be shown.

    Attributes
    ----------
    id
        Id of a logged or simulated conversation.
    completed
        Whether it completed its task.
    issues
        Titles of issues, worst first.
    candidate
        The candidate that answered in a simulated conversation; ``None`` for a logged one.
    unmet
        Targets of the goal that it did not meet.
    missed
        Share of the goal that was missed; 1 without a goal.
    """

    id: str
    completed: bool
    issues: tuple[str, ...] = ()
    candidate: int | None = None
    unmet: tuple[str, ...] = ()
    missed: float = 1.0

    @property
    def failed(self) -> bool:
        """Whether there is something to learn: a task that was not completed, or a target that was not met."""
        return not self.completed or bool(self.unmet)

    @property
    def wrong(self) -> tuple[str, ...]:
        """The problems: issues, worst first, or the missed targets if the task was completed."""
        return self.unmet if self.completed and self.unmet else self.issues

    @property
    def key(self) -> str:
        """The main problem; the conversation's own id if there is none."""
        return self.wrong[0] if self.wrong else self.id


def choose(
    seen: Sequence[Seen],
    *,
    edits: Sequence[CandidateEdit],
    edits_of: Mapping[int, Collection[str]],
    shown: Mapping[str, int],
    seed: object,
) -> list[Seen]:
    """Choose failed conversations by how frequent and how open their issue is, and two that succeeded.

    With a goal, conversations that missed a target have failed too, and each counts by the share missed.

    Parameters
    ----------
    edits
        Edits of the text to be edited.
    edits_of
        Edits of each candidate with conversations.
    shown
        How often each issue has been shown.
    """
    rng = random.Random(f"{seed}")
    present = {edit.id for edit in edits}
    answered = {issue for edit in edits for issue in edit.issues}
    failed = [
        one
        for one in seen
        if one.failed and (one.candidate in (None, 0) or present & set(edits_of[one.candidate]))
    ]
    rng.shuffle(failed)
    frequency = Counter(one.key for one in failed)
    again = Counter(
        one.key
        for one in failed
        if one.candidate
        for edit in edits
        if one.key in edit.issues and edit.id in edits_of[one.candidate]
    )
    chosen: list[Seen] = []
    of_key: Counter[str] = Counter()

    def weight(one: Seen) -> float:
        key = one.key
        openness = 1.0 if key not in answered else ANSWERED + SEEN_AGAIN * again[key]
        mine = bool(one.candidate) and bool(present) and present <= set(edits_of[one.candidate or 0])
        times = (1 + shown.get(key, 0)) * (1.0 + SAME_ISSUE * of_key[key])
        return frequency[key] * openness * (PRESENT if mine else 1.0) * max(one.missed, LEAST_MISSED) / times

    while failed and len(chosen) < FAILED_SHOWN:
        best = max(failed, key=weight)
        failed.remove(best)
        chosen.append(best)
        of_key[best.key] += 1
    if not chosen:
        return []
    succeeded = [one for one in seen if one.completed and one.candidate is None]
    alike = [one for one in succeeded if any(issue in of_key for issue in one.issues)] or succeeded
    return chosen + rng.sample(alike, min(SUCCEEDED_SHOWN, len(alike)))


def bounded_turns(turns: Sequence[tuple[str, str]], *, chars: int) -> tuple[list[tuple[str, str]], int]:
    """Cut a conversation to a number of characters, and return how many were left out.

    The middle is cut first: the request and the ending stay.
    """
    total = sum(len(text) for _, text in turns)
    if total <= chars:
        return list(turns), 0
    room = chars
    kept: dict[int, str] = {}
    order = sorted(range(len(turns)), key=lambda at: min(2 * at, 2 * (len(turns) - 1 - at) + 1))
    for at in order:
        text = turns[at][1]
        if room <= 0:
            break
        # No single message may use up what the others need.
        kept[at] = text[: max(room // 2, min(room, chars // 8))]
        room -= len(kept[at])
    cut = [(turns[at][0], kept[at]) for at in sorted(kept)]
    return cut, total - sum(len(text) for _, text in cut)
