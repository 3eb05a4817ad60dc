"""What a review shows of each variant (badges, numbers, intervals, diff), the same in both views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptlift.frames.headline import TESTED_LIFT, headline_of
from promptlift.schema.inert import one_line
from promptlift.widgets.interval_bars import Piece, common_axis, confidence_pieces, effect_pieces
from promptlift.widgets.review.labelled import label_verdict
from promptlift.widgets.review.search import edits_shown
from promptlift.widgets.word_diff import describe_difference, diff_lines
from promptlift.words.figures import confidences, relative, signed
from promptlift.words.sentences import ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.display.static_html import DiffLine, Tone
    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.review.search import EditShown

    Row = dict[str, Any]

__all__ = [
    "NO_INTERVAL",
    "REHEARSAL",
    "STAGES",
    "Card",
    "Stage",
    "actions",
    "by_stage",
    "confidence_in_words",
    "headline",
    "interval_in_words",
    "lift_axis",
    "make_cards",
]

NO_INTERVAL: Final = "interval unavailable: the service reports no sample size"
_NO_BOUNDS: Final = "the service reports no interval"
_BADGES: Final = {"screen": "screened only", "confirm": "tested on new conversations"}
_IN_PRODUCTION: Final = {
    "verified": "✓ verified",
    "not_fixed": "✗ not fixed",
    "regressed": "✗ regressed",
    "confounded": "cannot be told",
    "pending": "pending",
}
REHEARSAL: Final = "Rehearsal: produced by the built-in model; it says nothing about a real prompt."


class Stage(NamedTuple):
    """A group of variants whose numbers come from the same conversations, and what to know before comparing them."""

    key: str
    title: str
    about: str


STAGES: Final = (
    Stage(
        "confirm",
        "Confirmation",
        "New conversations that chose nothing. Only these numbers decide.",
    ),
    Stage(
        "screen",
        "Screening",
        "A few other conversations, used only to choose the finalist. The largest of several small samples is partly luck, so "
        "a larger lift here does not mean a better variant.",
    ),
    Stage("", "Not measured yet", ""),
)


@dataclass(frozen=True, slots=True)
class Card:
    """One variant as shown: its row in the list, and what its card adds."""

    id: str
    name: str
    original: bool
    winner: bool
    stage: str
    lift: str
    interval: tuple[str, ...]
    expected: str
    in_production: str
    outcome: str
    n: str
    badges: tuple[tuple[str, Tone], ...]
    facts: tuple[tuple[str, str], ...]
    effect: str
    effect_pieces: tuple[Piece, ...]
    confidence: str
    confidence_pieces: tuple[Piece, ...]
    difference: str
    diff: tuple[DiffLine, ...]
    warnings: str = ""
    labels: tuple[str, ...] = ()
    labels_warn: bool = False
    label_button: str = ""
    can_apply: bool = False
    why_not: str = ""
    verdict: str = ""
    note: str = ""
    edits: tuple[EditShown, ...] = ()


def make_cards(review: Review) -> list[Card]:
    """Return a card for every variant: the original first, then those of the confirmation, then those of the screening."""
    axis = lift_axis(review)
    original = review.original
    before = "" if original is None else original["content"] or ""
    order = {stage.key: place for place, stage in enumerate(STAGES)}
    cards = [_card(review, headline_of(row), axis, before) for row in review.variants]
    return sorted(cards, key=lambda card: (not card.original, order[card.stage]))


def by_stage(cards: Sequence[Card]) -> list[tuple[Stage, list[Card]]]:
    """Return the variants by stage; their numbers can be compared within a stage only."""
    groups = [
        (stage, [card for card in cards if card.stage == stage.key and not card.original]) for stage in STAGES
    ]
    found = [(stage, group) for stage, group in groups if group]
    if len(found) == 1 and not found[0][0].key and any(card.lift for card in found[0][1]):
        # A service that reports no stages: nothing is known that would divide its variants.
        return [(Stage("", "", ""), found[0][1])]
    return found


def lift_axis(review: Review) -> tuple[float, float]:
    """Return the ends of the lift axis that all variants of a review share.

    It holds the whole interval of each confirmed variant. The intervals of screened ones, which are of few pairs, may reach
    beyond it: they would leave no room for the ones that decide.
    """
    shown = [headline_of(row) for row in review.variants if not row["is_original"]]
    confirmed = [row for row in shown if row["stage"] == "confirm"]
    points = [row[name] for row in shown for name in ("lift", "lift_expected")]
    ends = [row[name] for row in confirmed or shown for name in ("lift_low", "lift_high")]
    return common_axis([*points, *ends])


def _card(review: Review, row: Row, axis: tuple[float, float], before: str) -> Card:
    known = row["uncertainty_source"] == "service"
    original = bool(row["is_original"])
    why_not = _why_not(review, row)
    reviewed = review.verdicts.get(row["variant_id"], {})
    candidate = None if original else review.candidate(row["variant_id"])
    content = row["content"] or ""
    labels = label_verdict(review, row)
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
        winner=bool(row["is_winner"]),
        stage=row["stage"] if row["stage"] in _BADGES and not original else "",
        lift="" if original or row["lift"] is None else relative(row["lift"]),
        interval=() if original else _interval(row),
        expected="" if original or row["lift_expected"] is None else relative(row["lift_expected"]),
        in_production=_in_production(review, row),
        outcome=_outcome(review, row),
        n="" if row["n"] is None else f"{row['n']:,}",
        badges=(*_badges(review, row), *filter(None, (labels.badge,))),
        labels=tuple(one_line(words, 600) for words in labels.sentences),
        labels_warn=labels.warns,
        label_button=labels.button,
        facts=tuple(_facts(row)),
        effect="" if original else lift_in_words(row),
        effect_pieces=tuple(pieces),
        confidence=""
        if original or row["stage"] == "screen"
        else confidence_in_words(row["confidence"], needed),
        confidence_pieces=() if original else tuple(confidence_pieces(row["confidence"], needed)),
        difference="" if original else describe_difference(before, content),
        diff=() if original else tuple(diff_lines(before, content)),
        warnings=one_line(row["warnings"] or "", 600),
        can_apply=not why_not,
        why_not=why_not,
        verdict=reviewed.get("verdict") or "",
        note=reviewed.get("note") or "",
        edits=tuple(edits_shown(candidate, before)) if candidate is not None else (),
    )


def _interval(row: Row) -> tuple[str, ...]:
    """Return the interval of a lift in lines, as a row has room for it."""
    if row["lift"] is None:
        return ()
    if row["uncertainty_source"] != "service":
        return ("no interval",)
    level = row["interval_level"]
    return (
        f"{level:.0%} interval" if level else "interval",
        _ends_in_words(row["lift_low"], row["lift_high"]),
    )


def _in_production(review: Review, row: Row) -> str:
    """Return whether logged conversations confirm a variant that was deployed."""
    deployment = review.optimization.deployment
    if deployment is None or deployment.variant_id != row["variant_id"] or deployment.verification is None:
        return ""
    return _IN_PRODUCTION.get(deployment.verification, deployment.verification)


def _outcome(review: Review, row: Row) -> str:
    """Return what the optimization says of a variant."""
    if row["is_original"]:
        return "reference"
    if row["is_winner"]:
        return "★ winner"
    if row["stage"] == "screen":
        return "screened only"
    if row["confidence"] is None:
        return "not measured yet" if row["lift"] is None else "no confidence reported"
    return "being tested" if review.optimization.status == "running" else "not shown to be better"


def _badges(review: Review, row: Row) -> list[tuple[str, Tone]]:
    deployment = review.optimization.deployment
    staged = (
        deployment is not None and deployment.state == "staged" and deployment.variant_id == row["variant_id"]
    )
    current = review.current is not None and review.current.text == row["content"]
    badges: list[tuple[bool, str, Tone]] = [
        (bool(row["is_original"]), "original", "plain"),
        (bool(row["is_winner"]), "★ winner", "good"),
        (staged, "staged: awaiting approval", "accent"),
        (current, "● current version", "accent"),
        (row["stage"] in _BADGES and not row["is_original"], _BADGES.get(row["stage"], ""), "plain"),
        (row["rehearsal"] is True, "rehearsal", "warn"),
    ]
    return [(words, tone) for shown, words, tone in badges if shown]


def _facts(row: Row) -> list[tuple[str, str]]:
    mix = "" if row[TESTED_LIFT["lift"]] is None else ", logged mix"
    pairs = [(f"task completion{mix}", _percent(row["task_completion"]))]
    if not row["is_original"] and row["original_task_completion"] is not None:
        words = f"original, same conversations{mix}"
        pairs.append((words, _percent(row["original_task_completion"])))
    pairs += [
        ("sentiment", "" if row["sentiment"] is None else f"{row['sentiment']:+.2f}"),
        ("quality", "" if row["quality"] is None else f"{row['quality']:.0f} of 100"),
        ("pairs" if row["n_pairs"] is not None else "n", "" if row["n"] is None else f"{row['n']:,}"),
    ]
    if row["goal_points"] is not None:
        pairs.append(("goal, beside the original", signed(row["goal_points"], unit=" points")))
    if row[TESTED_LIFT["lift"]] is not None:
        pairs += [
            ("lift, logged mix", relative(row["lift"])),
            ("lift, tested mix", relative(row[TESTED_LIFT["lift"]])),
            ("failed conversations, tested mix", _percent(row["failed_share_tested"])),
            ("failed conversations, logged mix", _percent(row["failed_share_logged"])),
        ]
    if row["n10"] is not None and row["n01"] is not None:
        pairs.append(("only the variant completed", f"{row['n10']:,}"))
        pairs.append(("only the original completed", f"{row['n01']:,}"))
    if row["n_dropped"]:
        pairs.append(("pairs lost to errors", f"{row['n_dropped']:,}"))
    return [(name, value) for name, value in pairs if value]


def lift_in_words(row: Row) -> str:
    """Return a lift with its interval in words, without an interval where the service reports none."""
    if row["lift"] is None:
        return "lift not measured"
    words = f"lift {relative(row['lift'])}"
    if row["uncertainty_source"] != "service":
        return f"{words}, {NO_INTERVAL if row['n'] is None else _NO_BOUNDS}"
    if row[TESTED_LIFT["lift"]] is not None:
        words += " on the mix of the logged conversations"
    words += f" ({interval_in_words(row['interval_level'], row['lift_low'], row['lift_high'])})"
    if row[TESTED_LIFT["lift"]] is not None:
        ends = _ends_in_words(row[TESTED_LIFT["lift_low"]], row[TESTED_LIFT["lift_high"]])
        words += f", {relative(row[TESTED_LIFT['lift']])} on the tested mix, in which failed ones come up more often ({ends})"
    if row["lift_expected"] is not None:
        words += f", expected {relative(row['lift_expected'])}"
    if row["lift_verified"] is not None:
        ends = _ends_in_words(row["lift_verified_low"], row["lift_verified_high"])
        words += f"; on new pairs after the decision {relative(row['lift_verified'])} (90% interval {ends})"
    return words


def interval_in_words(level: float | None, low: float | None, high: float | None) -> str:
    """Return the interval of a lift in words; an end that is None has no bound."""
    return f"{f'{level:.0%} ' if level else ''}interval {_ends_in_words(low, high)}"


def _ends_in_words(low: float | None, high: float | None) -> str:
    return " to ".join("no bound" if end is None else relative(end) for end in (low, high))


def confidence_in_words(confidence: float | None, needed: float | None) -> str:
    """Return a confidence and what a winner needs in words."""
    if confidence is None:
        return "confidence not reported"
    if needed is None:
        return f"confidence {confidences(confidence)[0]}"
    shown, least = confidences(confidence, needed)
    return f"confidence {shown}, a winner needs {least}"


def _why_not(review: Review, row: Row) -> str:
    status = review.optimization.status
    if status != "completed":
        return f"The optimization is {status}; a variant can be applied once it has completed."
    if review.current is not None and review.current.text == row["content"]:
        return "This is the current version."
    return ""


def headline(review: Review) -> list[tuple[str, str]]:
    """Return the outcome of the optimization as names and values."""
    optimization = review.optimization
    results = optimization.results
    facts = [
        ("prompt", review.current.name if review.current else optimization.prompt_id or ""),
        ("status", optimization.status),
        ("mode", optimization.mode or ""),
    ]
    settings = optimization.settings
    if settings is not None and settings.goal:
        parts = (f"{one_line(one.measure, 60)} × {one.weight:g}" for one in settings.goal)
        facts.append(("finalist chosen by", one_line(", ".join(parts), 300)))
    winner = next((row for row in review.variants if row["is_winner"]), None)
    if optimization.status == "completed":
        facts.append(("winner", "none" if winner is None else one_line(winner["name"], 80)))
    if results is not None and results.reason:
        facts.append(("ended", ended(results.reason)))
    current = next(
        (row for row in review.variants if review.current and row["content"] == review.current.text), None
    )
    if review.current is not None:
        facts.append(
            ("current version", "another text" if current is None else one_line(current["name"], 80))
        )
    return facts


def actions(review: Review, cards: Sequence[Card], most: int) -> list[Row]:
    """Return the newest actions on the prompt as shown, at most ``most``."""
    names = {card.id: card.name for card in cards}
    undoable = True
    shown = []
    for row in review.actions[:most]:
        changed = row["kind"] != "stop" and row["from_version_id"] != row["to_version_id"]
        when = row["acted_at"]
        shown.append(
            {
                "id": row["action_id"],
                "kind": row["kind"],
                "name": names.get(row["variant_id"] or "", ""),
                "when": "" if when is None else when.strftime("%Y-%m-%d %H:%M UTC"),
                "note": one_line(row["note"] or "", 400),
                "undone": bool(row["undone"]),
                "undo": bool(changed and undoable and not row["undone"]),
            }
        )
        # Only the newest change of the text can be undone.
        undoable = undoable and not changed
    return shown


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}".replace("%", " %")
