"""Sentences from values: rate, difference, lift, trend, verdict, reason; without a full stop, so that a title can be one.

Nothing is called higher, more or rising whose interval holds 0.

>>> differs("v2", "v1", (19.2, 9.4, 28.1))
'v2 completes 19 points more than v1 (9 to 28)'
>>> alike("v2", "v1", (3.0, -6.0, 12.0))
'No clear difference between v2 and v1: +3 points measured (−6 to +12)'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from promptlift.schema.basis import UNTOLD, as_seen_by, may_say_clearly, may_tell
from promptlift.words.figures import (
    confidences,
    counted,
    figures,
    known,
    of_p,
    percent,
    points,
    signed_figures,
    size_figures,
)
from promptlift.words.names import name_in_title, names_in_title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.schema.basis import Agreement

Ends = tuple[Any, Any, Any]
"""A number and both ends of its interval, missing where they are not known."""

Strength = Literal[
    "clearly higher", "clearly lower", "higher", "lower", "perhaps higher", "perhaps lower", "unclear", "not known"
]  # fmt: skip

COMPLETION: Final = "task_completed"
# Columns whose names hold a unit.
_MEASURES: Final = {
    "duration_s": "duration in seconds",
    "latency_ms": "latency in milliseconds",
    "n_turns": "number of turns",
}
_REASONS: Final = {
    "threshold": "the winner reached the confidence it needs",
    "futility": "no winner: stopped early, could no longer win",
    "budget": "no winner within the budget",
    "guardrail": "no winner: sentiment or quality declined",
    "stopped": "stopped by a person",
    "failed": "failed",
}


def leaves_out_zero(low: Any, high: Any) -> bool:
    """Return whether an interval is known and does not hold 0."""
    return known(low) and known(high) and not low <= 0.0 <= high


def strength_of(
    ends: Ends, *, decided: bool, basis: str | None = None, agreement: Agreement | None = None
) -> Strength:
    """Return how strongly a difference may be told.

    Parameters
    ----------
    ends
        The difference and its interval.
    decided
        Whether the table's verdict is for the direction of the difference.
    basis
        What the numbers rest on: nothing is clear by a judge whose errors are not known.
    agreement
        How far that judge says what people say.
    """
    if not all(map(known, ends)):
        return "not known"
    if not leaves_out_zero(*ends[1:]):
        return "unclear"
    clear = may_say_clearly(basis, agreement)
    if ends[0] > 0.0:
        return ("clearly higher" if clear else "higher") if decided else "perhaps higher"
    return ("clearly lower" if clear else "lower") if decided else "perhaps lower"


def completed(ends: Ends, n: int, of: str = "") -> str:
    """Return how many of ``n`` conversations completed their task, fractions with their interval."""
    if not n or not known(ends[0]):
        return "No ended conversation is judged yet"
    shown, lower, upper = percent(*ends)
    who = f" of {of}" if of else ""
    return f"{shown} of {counted(n, 'conversation')}{who} completed {'its' if n == 1 else 'their'} task ({lower} to {upper})"


def differs(one: str, other: str, ends: Ends, outcome: str = COMPLETION, *, score: bool = False) -> str:
    """Return how much a rate in percentage points, or the mean of a score, differs where its interval leaves out 0."""
    up = ends[0] > 0.0
    shown, lower, upper = size_figures(*ends)
    if score:
        way = "higher" if up else "lower"
        return f"The mean {_measure(outcome)} of {one} is {shown} {way} than that of {other} ({lower} to {upper})"
    if outcome != COMPLETION:
        return often(one, f"has {name_in_title(outcome, 48)}", ends, other)
    return f"{one} completes {points(shown)} {'more' if up else 'less'} than {other} ({lower} to {upper})"


def often(subject: str, deed: str, ends: Ends, other: str = "", rates: str = "") -> str:
    """Return how much more or less often something happens, where the interval of the difference leaves out 0.

    >>> often("Conversations of b", "are negative", (19.2, 9.4, 28.1), "those of a", "30% and 49%; ")
    'Conversations of b are negative 19 points more often than those of a (30% and 49%; 9 to 28)'
    """
    shown, lower, upper = size_figures(*ends)
    way, than = "more" if ends[0] > 0.0 else "less", f" than {other}" if other else ""
    return f"{subject} {deed} {points(shown)} {way} often{than} ({rates}{lower} to {upper})"


def alike(
    one: str, other: str, ends: Ends, outcome: str = COMPLETION, *, score: bool = False, among: str = ""
) -> str:
    """Return that no difference is clear, with what was measured; ``among`` several, such as "3 variants", the largest."""
    what = "" if outcome == COMPLETION else f" in {name_in_title(outcome, 48)}"
    if score:
        what = f" in mean {_measure(outcome)}"
    where = f"between {one} and {other}:"
    if among:
        where = f"among {among}: the largest between {one} and {other},"
    return f"No clear difference{what} {where} {measured(ends, score=score)}"


def measured(ends: Ends, *, score: bool = False) -> str:
    """Return what was measured where nothing is clear, with signs."""
    if not known(ends[0]):
        return "not known"
    if not all(map(known, ends)):
        (shown,) = signed_figures(ends[0])
        return f"{shown if score else points(shown)}, without an interval"
    shown, lower, upper = signed_figures(*ends)
    return f"{shown if score else points(shown)} measured ({lower} to {upper})"


def side_by_side(
    current: str,
    others: Mapping[str, Ends],
    units: int,
    *,
    basis: str | None,
    off: tuple[str, int, float] | None = None,
) -> str:
    """Return how versions on real users compare with the current one; of several, the one with the clearest difference.

    Parameters
    ----------
    current
        Name of the current version.
    others
        By name, the difference of a version from it in percentage points.
    units
        Units with a logged conversation.
    basis
        What the verdicts rest on.
    off
        Where units do not fall into the versions by their weights: the version that this shows most, its units, and those
        that its weight lets expect.
    """
    if off is not None:
        return (
            f"{names_in_title([off[0]])[0]} got {counted(off[1], 'unit')} where its weight lets expect {off[2]:,.0f}: something "
            "loses or adds units of one version, so no difference can be trusted"
        )
    if basis is None:
        return "No ended conversation is judged yet"
    if not may_tell(basis):
        return f"Whether a version completes more than {current} {UNTOLD}"
    compared = {name: ends for name, ends in others.items() if all(map(known, ends))}
    if not compared:
        return f"Too few units for a comparison with {current} yet: {counted(units, 'unit')}"
    most, ends = max(compared.items(), key=lambda one: max(one[1][1], -one[1][2]))
    name, current = names_in_title((most, current))
    say = differs if leaves_out_zero(*ends[1:]) else alike
    return f"{say(name, current, ends)}{as_seen_by(basis)}; {counted(units, 'unit')}"


def worth(share: Ends, n: int, *, needed: int) -> str:
    """Return how much of the changes that simulations let expect of ``n`` variants users showed, a fraction with its interval."""
    if not all(map(known, share)):
        return (
            f"What simulations are worth is not known yet: that takes {needed} variants whose change in production is "
            f"known, and there {'is' if n == 1 else 'are'} {n:,}"
        )
    shown, low, high = percent(*share)
    return f"Of {n:,} variants, production showed {shown} of the change that simulations let expect ({low} to {high})"


def labels_differ(one: str, other: str, outcome: str, verdict: Any, p: Any) -> str:
    """Return how the labels of two groups differ, such as their sentiments, by the verdict of their test."""
    what = _measure(outcome)
    if verdict == "no winner":
        return f"No clear difference in {what} between {one} and {other}{of_p(p)}"
    if verdict == "different":
        return f"{what.capitalize()} is distributed differently in {one} and {other}{of_p(p)}"
    better = "better" if verdict == "winner" else "worse"
    return f"{what.capitalize()} of {one} is {better} than that of {other}{of_p(p)}"


def trend(ends: Ends, name: str = "", *, is_trend: bool) -> str:
    """Return whether completion rises or falls, in percentage points a day."""
    subject = f"ompletion of {name}" if name else "ompletion"
    if not all(map(known, ends)):
        return f"C{subject} has too few days for a trend"
    if not is_trend or not leaves_out_zero(*ends[1:]):
        shown, lower, upper = signed_figures(*ends)
        return f"No clear trend of c{subject}: {points(shown)} a day ({lower} to {upper})"
    shown, lower, upper = size_figures(*ends)
    verb = "rises" if ends[0] > 0.0 else "falls"
    return f"C{subject} {verb} by {points(shown)} a day ({lower} to {upper})"


def than_original(ends: Ends, *, in_points: bool = False) -> str:
    """Return how much more a winner completes than the original; empty where its interval does not show that."""
    value, low, high = ends
    if not known(value) or not known(low) or low <= 0.0:
        return ""
    unit = "" if in_points else "%"
    shown, *rest = size_figures(value, low, *([high] if known(high) else []))
    interval = f"{rest[0]}{unit} to {rest[1]}{unit}" if known(high) else f"{rest[0]}{unit} or more"
    much = f"{points(shown)} more" if in_points else f"{shown}% more tasks"
    return f"completes {much} than the original ({interval})"


def measured_lift(ends: Ends, *, in_points: bool = False) -> str:
    """Return a lift with signs and its interval, where there is one."""
    unit = "" if in_points else "%"
    shown, *rest = signed_figures(*(ends if all(map(known, ends)) else ends[:1]))
    value = points(shown) if in_points else f"{shown}%"
    return f"{value} ({rest[0]}{unit} to {rest[1]}{unit})" if rest else f"{value}, without an interval"


def lift(name: str, ends: Ends, *, in_points: bool = False, where: str = "", sure: Any = None) -> str:
    """Return the lift of a winner with its confidence: more only where its interval does not hold 0.

    Parameters
    ----------
    name
        Of the winner.
    ends
        The lift and its interval.
    in_points
        Whether it is in percentage points, not in percent.
    where
        On which mix of conversations, such as " on the logged mix".
    sure
        The confidence.
    """
    ending = f"; confidence {confidence(sure)}" if known(sure) else ""
    if more := than_original(ends, in_points=in_points):
        return f"{name} {more}{where}{ending}"
    if not known(ends[0]):
        return f"{name} is the winner{ending}"
    return f"{name} is the winner; the measured lift is {measured_lift(ends, in_points=in_points)}{where}{ending}"


def confidence(value: float) -> str:
    """Format a confidence."""
    return confidences(value)[0]


def ended(reason: str) -> str:
    """Return why an optimization ended; a reason that is not known keeps its name."""
    return _REASONS.get(reason, reason)


def observed(verdict: str) -> str:
    """Return the verdict on two groups in a word where nobody assigned them: only an experiment has a winner."""
    return {"winner": "higher", "worse": "lower", "no winner": "unclear"}.get(verdict, verdict)


def of_users(shown: str, *, up: bool, completes: bool) -> str:
    """Turn points into whole users: 19 points are 19 of 100, 19.2 are 192 of 1,000."""
    base = _base(shown)
    count = _whole(shown, base)
    deed = f" users {'gets' if count == 1 else 'get'} their task done" if completes else ""
    return f"{count:,} {'more' if up else 'fewer'} of {base:,}{deed}."


def possible(low: float, high: float, *, completes: bool) -> str:
    """Return which differences remain possible, in users."""
    shown = figures(abs(low), abs(high))
    base = max(map(_base, shown))
    few, many = (_whole(text, base) for text in shown)
    deed = " users who get their task done" if completes else ""
    return f"From {few:,} fewer to {many:,} more of {base:,}{deed}, anything is possible."


def _base(shown: str) -> int:
    """Return of how many users a formatted number of points is a whole one."""
    return int(100 * 10 ** len(shown.partition(".")[2]))


def _whole(shown: str, base: int) -> int:
    return round(float(shown.replace(",", "")) * base / 100)


def _measure(outcome: str) -> str:
    return _MEASURES.get(outcome) or name_in_title(outcome, 40).replace("_", " ")
