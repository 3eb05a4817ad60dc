"""How each variant of a review is shown: its marks, numbers, drawings and diff, the same in the live view and the twin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.inert import one_line
from promptlift.widgets.marks import Piece, axis_of, confidence_pieces, effect_pieces
from promptlift.widgets.word_diff import diff_lines, what_differs

if TYPE_CHECKING:
    from promptlift.widgets.review_reading import Review
    from promptlift.widgets.static import DiffLine, Tone

    Row = dict[str, Any]

__all__ = ["NO_INTERVAL", "Card", "cards_of", "headline", "interval_words", "signed"]

NO_INTERVAL: Final = "interval unavailable: the service reports no sample size"
_NO_ENDS: Final = "interval unavailable: the service reports none"
_STAGES: Final = {"screen": "only screened", "confirm": "tested on fresh talks"}
REHEARSAL: Final = "Rehearsal: made by the built-in model, says nothing about a real prompt."


@dataclass(frozen=True, slots=True)
class Card:
    """One variant as it is shown."""

    id: str
    name: str
    original: bool
    marks: tuple[tuple[str, Tone], ...]
    facts: tuple[tuple[str, str], ...]
    effect: str
    effect_pieces: tuple[Piece, ...]
    confidence: str
    confidence_pieces: tuple[Piece, ...]
    differs: str
    diff: tuple[DiffLine, ...]
    warnings: str = ""
    can_apply: bool = False
    why_not: str = ""
    verdict: str = ""
    note: str = ""
    scale: tuple[str, str] = field(default=("", ""))


def cards_of(review: Review) -> list[Card]:
    """Make a card of every variant, the original first."""
    ends = [
        row[name]
        for row in review.variants
        for name in ("lift", "lift_low", "lift_high", "lift_expected")
        if not row["is_original"]
    ]
    axis = axis_of(ends)
    original = review.original
    before = "" if original is None else original["content"] or ""
    return [_card(review, row, axis, before) for row in review.variants]


def _card(review: Review, row: Row, axis: tuple[float, float], before: str) -> Card:
    known = row["uncertainty_source"] == "service"
    original = bool(row["is_original"])
    why_not = _why_not(review, row)
    said = review.said.get(row["variant_id"], {})
    content = row["content"] or ""
    pieces = effect_pieces(
        None if original else row["lift"],
        row["lift_low"],
        row["lift_high"],
        expected=row["lift_expected"],
        axis=axis,
        interval=known,
    )
    needed = review.about.get("threshold")
    return Card(
        id=row["variant_id"] or "",
        name=one_line(row["name"] or ("Original" if original else row["variant_id"]), 120),
        original=original,
        marks=tuple(_marks(review, row)),
        facts=tuple(_facts(row)),
        effect="" if original else interval_words(row),
        effect_pieces=tuple(pieces),
        confidence="" if original else _confidence_words(row, needed),
        confidence_pieces=() if original else tuple(confidence_pieces(row["confidence"], needed)),
        differs="" if original else what_differs(before, content),
        diff=() if original else tuple(diff_lines(before, content)),
        warnings=one_line(row["warnings"] or "", 600),
        can_apply=not why_not,
        why_not=why_not,
        verdict=said.get("verdict") or "",
        note=said.get("note") or "",
        scale=(signed(axis[0]), signed(axis[1])),
    )


def _marks(review: Review, row: Row) -> list[tuple[str, Tone]]:
    deployment = review.optimization.deployment
    staged = (
        deployment is not None and deployment.state == "staged" and deployment.variant_id == row["variant_id"]
    )
    live = review.live is not None and review.live.text == row["content"]
    marks: list[tuple[bool, str, Tone]] = [
        (bool(row["is_original"]), "original", "plain"),
        (bool(row["is_winner"]), "★ winner", "good"),
        (staged, "staged: waits for approval", "accent"),
        (live, "● live now", "accent"),
        (row["stage"] in _STAGES and not row["is_original"], _STAGES.get(row["stage"], ""), "plain"),
        (row["rehearsal"] is True, "rehearsal", "warn"),
    ]
    return [(words, tone) for there, words, tone in marks if there]


def _facts(row: Row) -> list[tuple[str, str]]:
    pairs = [("task completion", _percent(row["task_completion"]))]
    if not row["is_original"] and row["original_task_completion"] is not None:
        pairs.append(("original, same conversations", _percent(row["original_task_completion"])))
    pairs += [
        ("sentiment", "" if row["sentiment"] is None else f"{row['sentiment']:+.2f}"),
        ("quality", "" if row["quality"] is None else f"{row['quality']:.0f} of 100"),
        ("pairs" if row["n_pairs"] is not None else "n", "" if row["n"] is None else f"{row['n']:,}"),
    ]
    if row["n10"] is not None and row["n01"] is not None:
        pairs.append(("only this one completed", f"{row['n10']:,}"))
        pairs.append(("only the original completed", f"{row['n01']:,}"))
    if row["n_dropped"]:
        pairs.append(("pairs lost to errors", f"{row['n_dropped']:,}"))
    return [(name, value) for name, value in pairs if value]


def interval_words(row: Row) -> str:
    """Say a lift with its interval; nothing is made up where the service gave none."""
    if row["lift"] is None:
        return "lift not measured"
    words = f"lift {signed(row['lift'])}"
    if row["uncertainty_source"] != "service":
        return f"{words}, {NO_INTERVAL if row['n'] is None else _NO_ENDS}"
    level = row["interval_level"]
    low, high = ("no bound" if row[name] is None else signed(row[name]) for name in ("lift_low", "lift_high"))
    words += f" ({f'{level:.0%} ' if level else ''}interval {low} to {high})"
    if row["lift_expected"] is not None:
        words += f", expect {signed(row['lift_expected'])}"
    return words


def _confidence_words(row: Row, needed: float | None) -> str:
    if row["confidence"] is None:
        return "confidence not given"
    return f"confidence {row['confidence']:.2f}" + (
        f", a winner needs {needed:.2f}" if needed is not None else ""
    )


def _why_not(review: Review, row: Row) -> str:
    status = review.optimization.status
    if status != "completed":
        return f"The optimization is {status}; a variant can be applied once it is completed."
    if review.live is not None and review.live.text == row["content"]:
        return "This text is live."
    return ""


def headline(review: Review) -> list[tuple[str, str]]:
    """Say what the optimization came to."""
    optimization = review.optimization
    results = optimization.results
    facts = [
        ("prompt", review.live.name if review.live else optimization.prompt_id or ""),
        ("status", optimization.status),
        ("mode", optimization.mode or ""),
    ]
    winner = next((row for row in review.variants if row["is_winner"]), None)
    if optimization.status == "completed":
        facts.append(("winner", "none" if winner is None else one_line(winner["name"], 80)))
    if results is not None and results.reason:
        facts.append(("ended by", results.reason))
    live = next((row for row in review.variants if review.live and row["content"] == review.live.text), None)
    if review.live is not None:
        facts.append(("live now", "another text" if live is None else one_line(live["name"], 80)))
    return facts


def signed(value: float) -> str:
    """Write a percent with its sign."""
    return f"{value:+.1f} %".replace("-", "−")


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}".replace("%", " %")
