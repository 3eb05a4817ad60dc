"""What a row of a table shows, in a sentence that agrees with it in direction, number and strength.

Nothing is called higher or lower whose interval holds 0. "Clearly" needs the verdict of the table as well; an interval
without 0 that the verdict does not confirm (after Holm's correction, say) is "perhaps".

>>> difference_sentence("v2", "v1", (19.2, 9.4, 28.1), decided=True)
'v2 completes 19 points more than v1 (9 to 28); clearly higher. 19 more of 100 users get their task done.'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.reading import JUDGED, agreement_of
from promptlift.schema.basis import UNTOLD, as_seen_by, basis_of_analyser, may_tell
from promptlift.stats.differences import FEWEST
from promptlift.words.figures import is_missing, known, of_p, points, signed_figures, size_figures
from promptlift.words.names import name_in_title, name_in_words, one_line
from promptlift.words.sentences import (
    COMPLETION,
    alike,
    completed,
    differs,
    labels_differ,
    leaves_out_zero,
    measured,
    of_users,
    often,
    possible,
    strength_of,
    trend,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.schema.basis import Agreement
    from promptlift.words.sentences import Ends

TOO_FEW: Final = f"fewer than {FEWEST} in a group are too few for a verdict"
# What people call a column.
_NAMES: Final = {
    "prompt_id": "prompt",
    "llm_model": "model",
    "topics": "topic",
    "n_turns": "turns",
    "latency_ms": "latency",
    "duration_s": "duration (s)",
    "tool_calls": "tool calls",
    "tool_errors": "tool errors",
}
# Columns that count a group.
_SIZES: Final = ("n", "n_control", "n_rest", "total_before", "total_after")


def ends_of(row: Any, column: str) -> Ends:
    """Return a number of a row and both ends of its interval."""
    return row[column], row[f"{column}_low"], row[f"{column}_high"]


def outcome_name(facts: Mapping[str, Any]) -> str:
    """Return what the outcome of a comparison is called: its column, or the name of the judge whose verdict it is."""
    return str(facts.get("judge") or facts["outcome"])


def completion_sentence(ends: Ends, n: int) -> str:
    """Return how many of ``n`` ended conversations with insights completed their task."""
    return f"{completed(ends, n)}."


def difference_sentence(
    name: Any,
    control: Any,
    ends: Ends,
    *,
    decided: bool,
    outcome: str = COMPLETION,
    why_not: str = "",
    basis: str | None = None,
    agreement: Agreement | None = None,
    in_users: bool = True,
) -> str:
    """Return how two completion rates differ.

    Parameters
    ----------
    name, control
        The group, and the one it is compared with.
    ends
        Percentage points with their interval; missing where one of both has no outcomes.
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
    in_users
        Whether to say the number again in users, which a list of many would repeat.
    """
    one, other = name_in_words(name), name_in_words(control)
    if not may_tell(basis):
        return f"How {one} differs from {other} {UNTOLD}: a word list judged the conversations."
    strength = strength_of(ends, decided=decided, basis=basis, agreement=agreement)
    seen, completes = as_seen_by(basis), outcome == COMPLETION
    if strength == "not known":
        return f"{one} and {other} cannot be compared yet: one of them has no known outcome."
    if strength == "unclear":
        said = alike(one, other, ends, outcome)
        return f"{said}; unclear{seen}. {possible(*ends[1:], completes=completes)}"
    if why_not == TOO_FEW and not decided:
        return f"{alike(one, other, ends, outcome)}; {TOO_FEW}."
    found = f"{differs(one, other, ends, outcome)}; {strength}{seen}"
    if decided:
        users = of_users(size_figures(*ends)[0], up=ends[0] > 0.0, completes=completes)
        return f"{found}. {users}" if in_users else f"{found}."
    return f"{found}, but not clearly{': ' + why_not if why_not else ''}."


def score_sentence(
    name: Any,
    control: Any,
    ends: Ends,
    *,
    score: str,
    decided: bool,
    few: bool,
    p: Any = None,
    basis: str | None = None,
) -> str:
    """Return how the means of a score differ; the arguments are those of `difference_sentence`, in the score's unit.

    ``few`` values of a group say nothing of a direction.
    """
    one, other = name_in_words(name), name_in_words(control)
    what = score.replace("_", " ")
    if not may_tell(basis):
        return f"How {one} differs from {other} in {one_line(what, 40)} {UNTOLD}: a word list judged the conversations."
    strength, seen = strength_of(ends, decided=decided, basis=basis), as_seen_by(basis)
    if strength == "not known" and known(ends[0]) and not few:
        return f"{one} against {other} in mean {one_line(what, 40)}: {measured(ends, score=True)}, because it does not vary."
    if strength == "not known":
        return f"{one} and {other} cannot be compared in {one_line(what, 40)} yet: too few known values."
    if strength == "unclear":
        return f"{alike(one, other, ends, score, score=True)}; unclear{of_p(p) if decided else ''}."
    if few and not decided:
        return f"{alike(one, other, ends, score, score=True)}; {TOO_FEW}."
    ending = strength if decided else f"{strength}, but not clearly{of_p(p)}"
    return f"{differs(one, other, ends, score, score=True)}; {ending}{seen}."


def comparison_sentence(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return what a row of ``analysis.compare`` shows, by labels where they correct it.

    Parameters
    ----------
    row
        A row of the table.
    facts
        Its ``attrs["promptlift"]``.
    """
    if known(row.get("difference_points_corrected")):
        return corrected_sentence(row, facts)
    kind, outcome, basis = facts["kind"], outcome_name(facts), facts.get("basis")
    if kind == "label":
        return _label_sentence(row, outcome, basis)
    ends = ends_of(row, "difference" if kind == "score" else "difference_points")
    decided = _is_decided(row["verdict"], ends)
    names = row["variant"], row["control"]
    if kind == "score":
        few = min(row["n"], row["n_control"]) < FEWEST
        return score_sentence(
            *names, ends, score=outcome, decided=decided, few=few, p=row["p_holm"], basis=basis
        )
    return difference_sentence(
        *names, ends, decided=decided, outcome=outcome, why_not=why_not(row, facts), basis=basis,
        agreement=agreement_of(facts),
    )  # fmt: skip


def _is_decided(verdict: Any, ends: Ends) -> bool:
    return bool(known(ends[0]) and verdict == ("winner" if ends[0] > 0.0 else "worse"))


def why_not(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return why a row of a comparison has no verdict although its interval leaves out 0; empty where nothing explains it."""
    p, k = row["p_holm"], facts["n_tests"]
    if any(row.get(name, FEWEST) < FEWEST for name in _SIZES):
        return TOO_FEW
    if known(p) and p >= 1.0 - facts["level"]:
        return f"p is {p:.2g}" + (f" among {k:,} comparisons" if k > 1 else "")
    confidence = row.get("confidence_worse" if row.get("difference_points", 0.0) < 0.0 else "confidence")
    if known(confidence):
        return f"confidence is {confidence:.2f}, below {facts['confidence_needed']:.2f}"
    return ""


def segment_sentence(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return what a row of ``analysis.segments`` shows; the arguments are those of `comparison_sentence`."""
    corrected = known(row.get("difference_points_corrected"))
    return difference_sentence(
        segment_in_words(row), "the rest", ends_of(row, "difference_points_corrected" if corrected else "difference_points"),
        decided=row["verdict"] != "unclear", outcome=outcome_name(facts), why_not=why_not(row, facts),
        basis="label" if corrected else facts.get("basis"), agreement=agreement_of(facts), in_users=False,
    )  # fmt: skip


def segment_in_words(row: Mapping[Any, Any]) -> str:
    """Return what people call a segment, such as "hour 18:00 to 23:59" or "topic “refund · card”"."""
    column, segment = str(row["column"]).removeprefix("metadata."), name_in_words(row["segment"])
    if column in ("topics", "issues") and not row["n_merged"]:
        segment = f"“{segment}”"
    return f"{one_line(_NAMES.get(column, column), 40)} {segment}"


def issue_sentence(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return how conversations with an issue end, as a row of ``analysis.headroom`` has it; the arguments are those of `comparison_sentence`.

    It names what goes together, and no cause.
    """
    name = f"“{name_in_words(row['issue'])}”" if row["issue"] != "(any issue)" else "any issue"
    ends, adjusted = ends_of(row, "difference_points"), ends_of(row, "adjusted_points")
    if not all(map(known, ends)):
        why = (
            f"{UNTOLD}: whoever found it also said which conversations failed" if row["n"] else "is not known"
        )
        return f"Whether conversations with {name} fail more often {why}."
    if min(row["n_rated"], row["n_rated_without"]) < FEWEST:
        return f"Fewer than {FEWEST} conversations with {name}, or without it, are too few to compare."
    said = _failing(f"Conversations with {name}", ends, "those without")
    alike_in = " and ".join(_NAMES.get(one, one) for one in facts["adjusted_for"])
    if not alike_in:
        return f"{said}."
    if not all(map(known, adjusted)):
        return f"{said}; none of the same {alike_in} can be compared."
    return f"{said}; {_failing(f'among those of the same {alike_in} they', adjusted)}."


def _failing(who: str, completing: Ends, other: str = "") -> str:
    """Return how much more often some conversations fail than others, from how much more often they complete."""
    difference, low, high = completing
    ends = -difference, -high, -low
    if leaves_out_zero(low, high):
        return often(who, "fail", ends, other)
    shown, lower, upper = signed_figures(*ends)
    than = f" than {other}" if other else ""
    return f"{who} fail neither clearly more nor less often{than} ({points(shown)}, {lower} to {upper})"


def other_difference_sentence(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return what a row of `promptlift.analysis.what_else.what_else` shows; the arguments are those of `comparison_sentence`."""
    one, other = name_in_words(facts["variant"]), name_in_words(facts["control"])
    ends = ends_of(row, "difference")
    decided = row["verdict"] != "unclear"
    if row["kind"] == "measure":
        basis = basis_of_analyser(facts.get("analyser")) if row["name"] in JUDGED else None
        few = min(row["n"], row["n_control"]) < FEWEST
        return score_sentence(
            one, other, ends, score=row["name"], decided=decided, few=few, p=row["p_holm"], basis=basis
        )
    what = f"the {row['kind']} “{name_in_title(row['name'], 36)}”"
    if not decided or not leaves_out_zero(*ends[1:]):
        why = f", {why_not(row, facts)}" if leaves_out_zero(*ends[1:]) else ""
        return f"{alike(one, other, ends, what)}; unclear{why}."
    if row["kind"] == "segment":
        within, outside = signed_figures(row["value"], row["value_control"])
        return (
            f"The difference between {one} and {other} depends on {name_in_words(row['name'])}: {within} points there, "
            f"{outside} points in the rest."
        )
    return f"{differs(one, other, ends, what)}."


def trend_sentence(found: Mapping[str, Any], *, basis: str | None = None) -> str:
    """Return whether completion rises or falls.

    Parameters
    ----------
    found
        An entry of ``trends`` of ``analysis.completion_trend``.
    basis
        What the verdicts rest on.
    """
    ends = found["points_per_day"], found["points_low"], found["points_high"]
    said = trend(ends, is_trend=bool(found["is_trend"]))
    return f"{said}{'' if said.startswith('No ') else as_seen_by(basis)}."


def corrected_sentence(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    """Return what labels make of a row of ``analysis.compare``, or why they cannot correct it.

    Parameters
    ----------
    row
        A row of the table, with the columns of labels.
    facts
        Its ``attrs["promptlift"]``.
    """
    ends = ends_of(row, "difference_points_corrected")
    if not known(ends[0]):
        return f"Not corrected by labels. {row['not_corrected']}".rstrip()
    said = difference_sentence(
        row["variant"], row["control"], ends, decided=_is_decided(row["verdict"], ends), outcome=outcome_name(facts),
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
    verdict = row["verdict"]
    if is_missing(verdict):
        return f"{one} and {other} cannot be compared in {what} yet: one of them has no known outcome."
    said = labels_differ(one, other, outcome, verdict, row["p_holm"])
    return f"{said}; unclear." if verdict == "no winner" else f"{said}{as_seen_by(basis)}."


def score_rule(level: float, n_tests: int) -> str:
    """Return how two unpaired rates are decided, and how their interval belongs to it."""
    adjusted = f", adjusted for {n_tests:,} comparisons" if n_tests > 1 else ""
    return (
        f"p of the score test below {1.0 - level:.3g}{adjusted}, with at least {FEWEST} in each group; the interval of one "
        "difference inverts this test (Miettinen and Nurminen, corrected for skewness)"
    )
