"""The maximum possible gain according to the logged conversations, before an optimization spends anything."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from promptlift.schema.basis import may_weigh, weakest
from promptlift.schema.search import CIRCULAR, Headroom, HeadroomIssue
from promptlift.stats.budget import theta_of
from promptlift.stats.evidence import e_threshold
from promptlift.stats.planning import is_worth_a_test, points_to_gain, smallest_findable_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.store.optimizations import JudgedConversation
    from promptlift.stats.budget import Mode
    from promptlift.stats.evidence import ConfidenceMode

LEVEL: Final = 0.95
ISSUES_SHOWN: Final = 10


def headroom(
    judged: Sequence[JudgedConversation], *, pairs: int, mode: Mode, confidence_mode: ConfidenceMode
) -> Headroom:
    """Return the headroom.

    By how much conversations without an issue complete more often than all: the most to expect from fixing
    it.

    Parameters
    ----------
    pairs
        Pairs that the confirmation may use.
    """
    completed = sum(one.task_completed for one in judged)
    findable = smallest_findable_points(
        pairs, e_threshold=e_threshold(confidence_mode), theta=theta_of(mode, confidence_mode)
    )
    any_issue = [one for one in judged if one.issues]
    told = not judged or may_weigh(weakest(one.insights.get("basis") for one in judged))
    gained = _gain(any_issue, len(judged), completed) if told else {}
    titles = Counter(title for one in judged for title in dict.fromkeys(one.issues))
    issues = [
        HeadroomIssue(
            title=title,
            n=count,
            **(_gain([one for one in judged if title in one.issues], len(judged), completed) if told else {}),
        )
        for title, count in titles.most_common(ISSUES_SHOWN)
    ]
    enough = is_worth_a_test(*_counts(any_issue, len(judged), completed), findable=findable) if told else None
    return Headroom(
        conversations=len(judged),
        completed=completed,
        **gained,
        level=LEVEL,
        points_findable=findable,
        enough=enough,
        text=_words(gained, findable, enough=enough) if told else CIRCULAR,
        issues=issues,
    )


def _gain(having: Sequence[JudgedConversation], total: int, completed: int) -> dict[str, float | None]:
    """Return the possible gain in points, with the ends of its interval."""
    found = points_to_gain(*_counts(having, total, completed), level=LEVEL)
    names = ("points", "points_low", "points_high")
    return {name: None if math.isnan(value) else value for name, value in zip(names, found, strict=True)}


def _counts(having: Sequence[JudgedConversation], total: int, completed: int) -> tuple[int, int, int, int]:
    """Return the completed and total counts of conversations with an issue, and of the others."""
    done = sum(one.task_completed for one in having)
    return done, len(having), completed - done, total - len(having)


def _words(gained: dict[str, float | None], findable: float | None, *, enough: bool | None) -> str | None:
    points, low, high = gained.values()
    if enough is None or points is None:
        return None
    most = (
        f"Logged conversations in which nothing went wrong complete {points:.1f} points ({low:.1f} to {high:.1f}) more often than "
        "all; more is not to be expected."
    ).replace("-", "−")
    if findable is None:
        finds = "This budget is too small to find any gain."
    elif enough:
        finds = f"This budget finds {findable:.1f} points or more."
    else:
        finds = (
            f"That is most likely below the {findable:.1f} points that this budget can find, "
            "so a run will hardly name a winner."
        )
    return f"{most} {finds}"
