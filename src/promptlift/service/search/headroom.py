"""What could be gained at most, by the logged conversations, before an optimization spends anything."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptlift.schema.search import CIRCULAR
from promptlift.stats.design import theta_of
from promptlift.stats.evidence import e_threshold
from promptlift.stats.headroom import points_to_gain
from promptlift.stats.planning import smallest_findable_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.stats.budget import Mode
    from promptlift.stats.evidence import ConfidenceMode

__all__ = ["Judged", "headroom"]

LEVEL: Final = 0.95
ISSUES_SHOWN: Final = 10


class Judged(NamedTuple):
    """A logged conversation as it was judged.

    Attributes
    ----------
    completed
        Whether the task was completed.
    issues
        What went wrong.
    by_word_lists
        Whether the built-in analyser said so.
    """

    completed: bool
    issues: Sequence[str]
    by_word_lists: bool = False


def headroom(
    judged: Sequence[Judged], *, pairs: int, mode: Mode, confidence_mode: ConfidenceMode
) -> dict[str, Any]:
    """Return the headroom in its API form.

    If an issue vanished, the conversations with it would complete like those without it.

    Parameters
    ----------
    pairs
        Pairs that the confirmation may use.
    """
    completed = sum(one.completed for one in judged)
    findable = smallest_findable_points(
        pairs, e_threshold=e_threshold(confidence_mode), theta=theta_of(mode, confidence_mode)
    )
    any_issue = [one for one in judged if one.issues]
    points, low, high = _gain(any_issue, len(judged), completed)
    titles = Counter(title for one in judged for title in dict.fromkeys(one.issues))
    issues = []
    for title, count in titles.most_common(ISSUES_SHOWN):
        gained = _gain([one for one in judged if title in one.issues], len(judged), completed)
        issues.append(
            {
                "title": title,
                "n": count,
                **dict(zip(("points", "pointsLow", "pointsHigh"), gained, strict=True)),
            }
        )
    enough = None if high is None or findable is None else high >= findable
    return {
        "conversations": len(judged),
        "completed": completed,
        "points": points,
        "pointsLow": low,
        "pointsHigh": high,
        "level": LEVEL,
        "pointsFindable": findable,
        "enough": enough,
        "text": _words(high, findable, enough=enough, circular=any(one.by_word_lists for one in judged)),
        "issues": issues,
    }


def _gain(
    having: Sequence[Judged], total: int, completed: int
) -> tuple[float | None, float | None, float | None]:
    done = sum(one.completed for one in having)
    found = points_to_gain(done, len(having), completed - done, total - len(having), level=LEVEL)
    points, low, high = (None if math.isnan(value) else value for value in found)
    return points, low, high


def _words(high: float | None, findable: float | None, *, enough: bool | None, circular: bool) -> str | None:
    if enough is None or high is None or findable is None:
        return None
    most = f"Mending everything that goes wrong in the logged conversations would give at most {high:.0f} points."
    finds = (
        f"This budget finds {findable:.0f} points or more."
        if enough
        else f"That is below the {findable:.0f} points that this budget can find, so a run will hardly name a winner."
    )
    return " ".join([most, finds, *([CIRCULAR] if circular else [])])
