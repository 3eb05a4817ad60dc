"""Findings in words: every sentence agrees with its table in direction, number and strength.

Nothing is called higher or lower whose interval holds 0. "Clearly" needs the verdict of the table as well; an interval
without 0 that the verdict does not confirm (after Holm's correction, say) is "perhaps".

>>> difference_sentence("v2", "v1", difference=19.2, low=9.4, high=28.1, decided=True)
'v2 completes 19 points more than v1 (9 to 28); clearly higher. 19 more of 100 users get their task done.'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from promptlift.analysis.one_line import one_line
from promptlift.analysis.reading import JUDGED, agreement_of, is_missing
from promptlift.analysis.wording import (
    TOO_FEW,
    figures,
    known,
    name_in_title,
    outcome_name,
    percent,
    points,
    signed_figures,
    size_figures,
)
from promptlift.schema.basis import UNTOLD, as_seen_by, basis_of_analyser, may_say_clearly, may_tell
from promptlift.stats.differences import FEWEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.schema.basis import Agreement

__all__ = [
    "Strength",
    "comparison_sentence",
    "completion_sentence",
    "corrected_sentence",
    "difference_sentence",
    "issue_sentence",
    "name_in_words",
    "other_difference_sentence",
    "score_sentence",
    "segment_sentence",
    "strength_of",
    "trend_sentence",
    "why_not",
]

Strength = Literal[
    "clearly higher", "clearly lower", "higher", "lower", "perhaps higher", "perhaps lower", "unclear", "not known"
]  # fmt: skip

_NAME_WIDTH: Final = 48
# What an adjusted difference holds alike.
_ALIKE: Final = {"prompt_id": "prompt", "llm_model": "model", "topics": "topic"}
# Columns that count a group.
_SIZES: Final = ("n", "n_control", "n_rest", "total_before", "total_after")
# Columns whose names hold a unit.
_MEASURES: Final = {
    "duration_s": "duration in seconds",
    "latency_ms": "latency in milliseconds",
    "n_turns": "number of turns",
}


def name_in_words(name: Any) -> str:
    """Return the name of a group as a sentence can hold it: one line, and not too long."""
    return name_in_title(name, _NAME_WIDTH)


def strength_of(
    difference: Any,
    low: Any,
    high: Any,
    *,
    decided: bool,
    basis: str | None = None,
    agreement: Agreement | None = None,
) -> Strength:
    """Return how strongly a difference may be told.

    Parameters
    ----------
    difference, low, high
        The difference and its interval; missing where they are not known.
    decided
        Whether the table's verdict is for the direction of the difference.
    basis
        What the numbers rest on: nothing is clear by a judge whose errors are not known.
    agreement
        How far that judge says what people say.
    """
    if not all(map(known, (difference, low, high))):
        return "not known"
    if low <= 0.0 <= high:
        return "unclear"
    clear = may_say_clearly(basis, agreement)
    if difference > 0.0:
        return ("clearly higher" if clear else "higher") if decided else "perhaps higher"
    return ("clearly lower" if clear else "lower") if decided else "perhaps lower"


def completion_sentence(*, rate: Any, low: Any, high: Any, n: int, name: Any = None) -> str:
    """Return in words how many conversations completed their task.

    Parameters
    ----------
    rate, low, high
        Fractions; missing when ``n`` is 0.
    n
        Ended conversations with insights.
    name
        Of the group.
    """
    subject = "" if is_missing(name) else f"{name_in_words(name)}: "
    if not n or not known(rate):
        return f"{subject}No ended conversation has insights yet."
    shown, lower, upper = percent(rate, low, high)
    what = "1 conversation completed its task" if n == 1 else f"{int(n):,} conversations completed their task"
    return f"{subject}{shown} of {what} ({lower} to {upper})."


def difference_sentence(
    name: Any,
    control: Any,
    *,
    difference: Any,
    low: Any,
    high: Any,
    decided: bool,
    outcome: str = "task_completed",
    why_not: str = "",
    basis: str | None = None,
    agreement: Agreement | None = None,
) -> str:
    """Return in words how two completion rates differ.

    Parameters
    ----------
    name, control
        The group, and the one it is compared with.
    difference, low, high
        Percentage points; missing where one of both has no outcomes.
    decided
        Whether the table's verdict is for the direction of the difference.
    outcome
        Column of true and false that was compared.
    why_not
        Why a difference whose interval does not hold 0 is not decided, such as "p is 0.06".
    basis
        What the outcome rests on, as ``schema.basis`` says.
    agreement
        How far its judge says what people say.
    """
    one, other = name_in_words(name), name_in_words(control)
    if not may_tell(basis):
        return f"How {one} differs from {other} {UNTOLD}: a word list judged the conversations."
    strength = strength_of(difference, low, high, decided=decided, basis=basis, agreement=agreement)
    seen, own = as_seen_by(basis), outcome == "task_completed"
    if strength == "not known":
        return f"{one} and {other} cannot be compared yet: one of them has no known outcome."
    if strength == "unclear":
        shown, lower, upper = signed_figures(difference, low, high)
        what = "" if own else f" in {one_line(outcome, 40)}"
        return (
            f"No clear difference{what} between {one} and {other}: {points(shown)} measured "
            f"({lower} to {upper}); unclear{seen}. {_possible(low, high, own=own)}"
        )
    up = difference > 0.0
    shown, lower, upper = size_figures(difference, low, high)
    much = f"{points(shown)} {'more' if up else 'less'}"
    deed = f"completes {much}" if own else f"has {one_line(outcome, 40)} {much} often"
    found = f"{one} {deed} than {other} ({lower} to {upper}); {strength}"
    if decided:
        return f"{found}{seen}. {_of_users(shown, up=up, own=own)}"
    return f"{found}{seen}, but not clearly{': ' + why_not if why_not else ''}."


def score_sentence(
    name: Any, control: Any, *, score: str, difference: Any, low: Any, high: Any, decided: bool, p: Any = None,
    basis: str | None = None,
) -> str:  # fmt: skip
    """Return in words how the means of a score differ; the arguments are those of `difference_sentence`, in the score's unit."""
    one, other = name_in_words(name), name_in_words(control)
    what = _MEASURES.get(score) or one_line(score, 40).replace("_", " ")
    if not may_tell(basis):
        return f"How {one} differs from {other} in {what} {UNTOLD}: a word list judged the conversations."
    strength, seen = strength_of(difference, low, high, decided=decided, basis=basis), as_seen_by(basis)
    if strength == "not known":
        return f"{one} and {other} cannot be compared in {what} yet: too few known values."
    shown, lower, upper = signed_figures(difference, low, high)
    if strength != "unclear":
        up = difference > 0.0
        size, smallest, largest = size_figures(difference, low, high)
        ending = strength if decided else f"{strength}, but not clearly{_of_p(p)}"
        return (
            f"The mean {what} of {one} is {size} {'higher' if up else 'lower'} than that of {other} "
            f"({smallest} to {largest}); {ending}{seen}."
        )
    if decided:
        return (
            f"The ranks of {what} differ between {one} and {other}{_of_p(p)}, but their means do not clearly: "
            f"{shown} measured ({lower} to {upper})."
        )
    return (
        f"No clear difference in mean {what} between {one} and {other}: {shown} measured "
        f"({lower} to {upper}); unclear."
    )


def comparison_sentence(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return in words what a row of ``analysis.compare`` shows, by labels where they correct it.

    Parameters
    ----------
    row
        A row of the table.
    facts
        Its ``attrs["promptlift"]``.
    """
    if known(row.get("difference_points_corrected")):
        return corrected_sentence(row, facts)
    verdict, kind, outcome = row["verdict"], facts["kind"], outcome_name(facts)
    unit = "difference" if kind == "score" else "difference_points"
    difference, low, high = (row[f"{unit}{end}"] for end in ("", "_low", "_high"))
    decided = known(difference) and verdict == ("winner" if difference > 0.0 else "worse")
    basis = facts.get("basis")
    if kind == "label":
        return _label_sentence(row, outcome, basis)
    if kind == "score":
        return score_sentence(
            row["variant"], row["control"], score=outcome, difference=difference, low=low, high=high,
            decided=decided, p=row["p_holm"], basis=basis,
        )  # fmt: skip
    return difference_sentence(
        row["variant"], row["control"], difference=difference, low=low, high=high, decided=decided,
        outcome=outcome, why_not=why_not(row, facts), basis=basis, agreement=agreement_of(facts),
    )  # fmt: skip


def why_not(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return why a row of a comparison has no verdict although its interval leaves out 0; empty where nothing explains it."""
    p, k = row["p_holm"], facts["n_tests"]
    if known(p) and p >= 1.0 - facts["level"]:
        return f"p is {p:.2g}" + (f" among {k:,} comparisons" if k > 1 else "")
    confidence = row.get("confidence_worse" if row.get("difference_points", 0.0) < 0.0 else "confidence")
    if known(confidence):
        return f"confidence is {confidence:.2f}, below {facts['confidence_needed']:.2f}"
    return TOO_FEW if any(row.get(name, FEWEST) < FEWEST for name in _SIZES) else ""


def segment_sentence(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return in words what a row of ``analysis.segments`` shows; the arguments are those of `comparison_sentence`."""
    name = f"{one_line(row['column'], 40)} {name_in_words(row['segment'])}"
    corrected = known(row.get("difference_points_corrected"))
    unit = "difference_points_corrected" if corrected else "difference_points"
    return difference_sentence(
        name, "the rest",
        difference=row[unit], low=row[f"{unit}_low"], high=row[f"{unit}_high"],
        decided=row["verdict"] != "unclear", outcome=outcome_name(facts),
        why_not=why_not(row, facts), basis="label" if corrected else facts.get("basis"),
        agreement=agreement_of(facts),
    )  # fmt: skip


def issue_sentence(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return in words how conversations with an issue end, as a row of ``analysis.headroom`` has it; the arguments are those of `comparison_sentence`.

    It names what goes together, and no cause.
    """
    name = f"“{name_in_words(row['issue'])}”" if row["issue"] != "(any issue)" else "any issue"
    ends = [row[f"difference_points{end}"] for end in ("", "_low", "_high")]
    if not all(map(known, ends)):
        why = (
            f"{UNTOLD}: whoever found it also said which conversations failed" if row["n"] else "is not known"
        )
        return f"Whether conversations with {name} fail more often {why}."
    said = f"Conversations with {name} {_often(*ends)} those without"
    adjusted = [row[f"adjusted_points{end}"] for end in ("", "_low", "_high")]
    alike = " and ".join(_ALIKE.get(one, one) for one in facts["adjusted_for"])
    if not alike:
        return f"{said}."
    if not all(map(known, adjusted)):
        return f"{said}; none of the same {alike} can be compared."
    return f"{said}; among those of the same {alike} they {_often(*adjusted, than=False)}."


def _often(difference: float, low: float, high: float, *, than: bool = True) -> str:
    if low <= 0.0 <= high:
        shown, lower, upper = signed_figures(-difference, -high, -low)
        whom = " than" if than else ""
        return f"fail neither clearly more nor less often ({points(shown)}, {lower} to {upper}){whom}"
    shown, lower, upper = size_figures(difference, low, high)
    return f"fail {points(shown)} {'more' if difference < 0.0 else 'less'} often ({lower} to {upper}){' than' if than else ''}"


def other_difference_sentence(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return in words what a row of ``analysis.what_else`` shows; the arguments are those of `comparison_sentence`."""
    one, other = name_in_words(facts["variant"]), name_in_words(facts["control"])
    ends = tuple(row[f"difference{end}"] for end in ("", "_low", "_high"))
    decided = row["verdict"] != "unclear"
    if row["kind"] == "measure":
        return score_sentence(
            one, other, score=row["name"], difference=ends[0], low=ends[1], high=ends[2], decided=decided,
            p=row["p_holm"], basis=basis_of_analyser(facts.get("analyser")) if row["name"] in JUDGED else None,
        )  # fmt: skip
    what = f"{row['kind']} {name_in_words(row['name'])}"
    if not decided or not strength_of(*ends, decided=True).startswith("clearly"):
        shown = signed_figures(*ends) if all(map(known, ends)) else ("not known",) * 3
        why = f", {why_not(row, facts)}" if strength_of(*ends, decided=False).startswith("perhaps") else ""
        return f"No clear difference in {what}: {shown[0]} points measured ({shown[1]} to {shown[2]}); unclear{why}."
    if row["kind"] == "segment":
        within, outside = signed_figures(row["value"], row["value_control"])
        return (
            f"In {name_in_words(row['name'])} the difference of {one} to {other} is another: {within} points there, "
            f"{outside} points in the rest."
        )
    shown = size_figures(*ends)
    often = "more" if ends[0] > 0.0 else "less"
    return f"{one} has the {what} {points(shown[0])} {often} often than {other} ({shown[1]} to {shown[2]})."


def trend_sentence(trend: Mapping[str, Any], name: Any = None, *, basis: str | None = None) -> str:
    """Return in words whether completion rises or falls.

    Parameters
    ----------
    trend
        ``points_per_day`` with ``points_low`` and ``points_high``, and ``is_trend``: an entry of ``trends`` of
        ``analysis.completion_trend``.
    name
        Of the group.
    basis
        What the verdicts rest on.
    """
    subject = "Completion" if is_missing(name) else f"Completion of {name_in_words(name)}"
    seen = as_seen_by(basis)
    slope, low, high = (trend[key] for key in ("points_per_day", "points_low", "points_high"))
    strength = strength_of(slope, low, high, decided=bool(trend["is_trend"]))
    if strength == "not known":
        return f"{subject} has too few days for a trend."
    if not strength.startswith("clearly"):
        shown, lower, upper = signed_figures(slope, low, high)
        return f"No clear trend of {subject[0].lower()}{subject[1:]}: {points(shown)} a day ({lower} to {upper})."
    shown, lower, upper = size_figures(slope, low, high)
    verb = "rises" if slope > 0.0 else "falls"
    return f"{subject} {verb} by {points(shown)} a day ({lower} to {upper}){seen}."


def corrected_sentence(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return in words what labels make of a row of ``analysis.compare``, or why they cannot correct it.

    Parameters
    ----------
    row
        A row of the table, with the columns of labels.
    facts
        Its ``attrs["promptlift"]``.
    """
    difference, low, high = (row[f"difference_points_corrected{end}"] for end in ("", "_low", "_high"))
    if not known(difference):
        return f"Not corrected by labels. {row['not_corrected']}".rstrip()
    verdict = row["verdict"]
    said = difference_sentence(
        row["variant"], row["control"], difference=difference, low=low, high=high,
        decided=verdict == ("winner" if difference > 0.0 else "worse"), outcome=outcome_name(facts),
        why_not=why_not({"p_holm": row["p_holm"]}, facts), basis="label",
    )  # fmt: skip
    count = row["n_labels"] + row["n_labels_control"]
    unlike = ""
    if known(row["p_equal_error"]) and row["p_equal_error"] < 1.0 - facts["level"]:
        unlike = " The judge errs on the two unlike"
        unlike += (
            ": use rectifier='own', because a pooled correction is wrong then."
            if facts["corrected"]["rectifier"] == "pooled"
            else ", so what it says of their difference is not to be trusted."
        )
    return f"Corrected by {count:,} labels: {said}{unlike}"


def _label_sentence(row: Mapping[Any, Any], outcome: str, basis: str | None) -> str:
    one, other, what = name_in_words(row["variant"]), name_in_words(row["control"]), outcome.replace("_", " ")
    if not may_tell(basis):
        return f"How {one} differs from {other} in {what} {UNTOLD}: a word list judged the conversations."
    seen = as_seen_by(basis)
    verdict, p = row["verdict"], _of_p(row["p_holm"])
    if is_missing(verdict):
        return f"{one} and {other} cannot be compared in {what} yet: one of them has no known outcome."
    if verdict == "no winner":
        return f"No clear difference in {what} between {one} and {other}{p}; unclear."
    if verdict == "different":
        return f"{what.capitalize()} is distributed differently in {one} and {other}{p}{seen}."
    better = "better" if verdict == "winner" else "worse"
    return f"{what.capitalize()} of {one} is {better} than that of {other}{p}{seen}."


def _of_p(p: Any) -> str:
    if not known(p):
        return ""
    return " (p below 0.001)" if p < 0.001 else f" (p {p:.2g})"


def _of_users(shown: str, *, up: bool, own: bool) -> str:
    """Turn points into whole users: 19 points are 19 of 100, 19.2 are 192 of 1,000."""
    _, _, decimals = shown.partition(".")
    count, base = int(shown.replace(".", "").replace(",", "")), 100 * 10 ** len(decimals)
    verb = "gets" if count == 1 else "get"
    deed = f" users {verb} their task done" if own else ""
    return f"{count:,} {'more' if up else 'fewer'} of {base:,}{deed}."


def _possible(low: float, high: float, *, own: bool) -> str:
    lower, upper = figures(abs(low), abs(high))
    _, _, decimals = lower.partition(".")
    base = 100 * 10 ** len(decimals)
    few, many = (int(text.replace(".", "").replace(",", "")) for text in (lower, upper))
    deed = " users who get their task done" if own else ""
    return f"From {few:,} fewer to {many:,} more of {base:,}{deed}, anything is possible."
