"""The variants of a review: their rows on one lift axis, and the card of each with its numbers and its differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptlift.frames.headline import TESTED_LIFT, headline_of
from promptlift.schema.inert import one_line
from promptlift.widgets.interval_bars import (
    Piece,
    common_axis,
    confidence_pieces,
    effect_pieces,
    interval_bar,
)
from promptlift.widgets.review.labelled import LabelVerdict, label_verdict
from promptlift.widgets.tree import badge, diff_block, fact, field, h, known, nodes
from promptlift.widgets.tree_widget import push
from promptlift.widgets.word_diff import describe_difference, diff_lines
from promptlift.words.figures import confidences, relative, signed
from promptlift.words.sentences import ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.display.static_html import Tone
    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Node, Nodes

    Row = dict[str, Any]

__all__ = [
    "NO_INTERVAL",
    "REHEARSAL",
    "Card",
    "actions",
    "confidence_in_words",
    "decision",
    "head",
    "interval_in_words",
    "lift_axis",
    "make_cards",
    "measured",
    "text_of",
    "variants_table",
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
_VERDICTS: Final[dict[str, tuple[str, str, Tone]]] = {
    "keep": ("✓ Keep", "✓ you: keep", "good"),
    "reject": ("✗ Reject", "✗ you: reject", "bad"),
}
_HEADERS: Final = ("Lift over the original", "Expected", "Verified", "Verdict", "Pairs")
_CELLS: Final = (".plw-figures", ".plw-figures", ".plw-verified", ".plw-verdict", ".plw-figures")
REHEARSAL: Final = "Rehearsal: produced by the built-in model; it says nothing about a real prompt."


class Stage(NamedTuple):
    """A group of variants whose numbers come from the same conversations, and what to know before comparing them."""

    key: str
    title: str
    about: str


_STAGES: Final = (
    Stage("confirm", "Confirmation", "New conversations that chose nothing. Only these numbers decide."),
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
    """One variant: its row, and what is worked out once of it."""

    row: Row
    name: str
    stage: str
    pieces: list[Piece]
    labels: LabelVerdict
    badges: list[tuple[str, Tone]]
    difference: str
    diff: Node | None
    needed: float | None
    why_not: str

    @property
    def id(self) -> str:
        """The variant."""
        return self.row["variant_id"] or ""

    @property
    def original(self) -> bool:
        """Whether it is the original text."""
        return bool(self.row["is_original"])

    @property
    def winner(self) -> bool:
        """Whether it is the winner."""
        return bool(self.row["is_winner"])

    @property
    def effect(self) -> str:
        """Its lift in words."""
        return "" if self.original else lift_in_words(self.row)

    @property
    def confidence(self) -> str:
        """Its confidence in words."""
        screened = self.original or self.row["stage"] == "screen"
        return "" if screened else confidence_in_words(self.row["confidence"], self.needed)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Its numbers by name."""
        return _facts(self.row)


def make_cards(review: Review) -> list[Card]:
    """Return a card for every variant: the original first, then those of the confirmation, then those of the screening."""
    axis = lift_axis(review)
    original = review.original
    before = "" if original is None else original["content"] or ""
    order = {stage.key: place for place, stage in enumerate(_STAGES)}
    cards = [_card(review, headline_of(row), axis, before) for row in review.variants]
    return sorted(cards, key=lambda card: (not card.original, order[card.stage]))


def _by_stage(cards: Sequence[Card]) -> list[tuple[Stage, list[Card]]]:
    """Return the variants by stage; their numbers can be compared within a stage only."""
    groups = [
        (stage, [card for card in cards if card.stage == stage.key and not card.original])
        for stage in _STAGES
    ]
    found = [(stage, group) for stage, group in groups if group]
    if len(found) == 1 and not found[0][0].key and any(card.row["lift"] is not None for card in found[0][1]):
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
    original, content = bool(row["is_original"]), row["content"] or ""
    labels = label_verdict(review, row)
    known = row["uncertainty_source"] == "service"
    ends = (row["lift_low"], row["lift_high"])
    lift = None if original else row["lift"]
    return Card(
        row=row,
        name=one_line(row["name"] or ("Original" if original else row["variant_id"]), 120),
        stage=row["stage"] if row["stage"] in _BADGES and not original else "",
        pieces=effect_pieces(lift, *ends, expected=row["lift_expected"], axis=axis, interval=known),
        labels=labels,
        badges=[*_badges(review, row), *filter(None, (labels.badge,))],
        difference="" if original else describe_difference(before, content),
        diff=None if original else diff_block(diff_lines(before, content)),
        needed=review.about.get("threshold"),
        why_not=_why_not(review, row),
    )


# The rows, all on one axis.


def variants_table(review: Review, cards: Sequence[Card], chosen: str = "", *, focus: bool = False) -> Node:
    """Return a row per variant; the arrow keys go from the chosen one to the next, which can have the focus."""
    low, high = lift_axis(review)
    zero = 100 * -low / (high - low)
    middle = 30 < zero < 70 and h("span.plw-zero", "0", style=f"left:{zero}%")
    axis = h("div.plw-scale.plw-soft", h("span", relative(low)), middle, h("span", relative(high)))
    titles = [("Variant", ""), (axis, ""), *zip(_HEADERS, _CELLS, strict=True)]
    header = h("tr", [h(f"th.plw-cell{classes}", words, scope="col") for words, classes in titles])
    stages = [(Stage("", "", ""), [card for card in cards if card.original]), *_by_stage(cards)]
    ids = [card.id for _, group in stages for card in group]
    here = ids.index(chosen) if chosen in ids else 0
    keys: dict[int, list[str]] = {}
    for place, key in ((here + 1, "ArrowDown"), (here - 1, "ArrowUp"), (0, "Home"), (len(ids) - 1, "End")):
        keys.setdefault(place, []).append(key)
    bodies = []
    for stage, group in stages:
        about = stage.about and h("span.plw-soft", f" {stage.about}")
        title = h("th.plw-cell", h("b", stage.title), about, colspan=7, scope="rowgroup")
        body = [
            _row(review, card, zero, keys.get(ids.index(card.id), ()), here=card.id == chosen, focus=focus)
            for card in group
        ]
        bodies.append(h("tbody", stage.title and h("tr.plw-stage", title), body, stage=stage.key))
    deployed = any(_in_production(review, card.row) for card in cards)
    return h(
        f"table.plw-variants{'' if deployed else '.plw-none-deployed'}",
        h("thead", header),
        bodies,
        keyboard=True,
    )


def _row(review: Review, card: Card, zero: float, keys: Sequence[str], *, here: bool, focus: bool) -> Node:
    row, production = card.row, _in_production(review, card.row)
    if card.original:
        drawn = interval_bar([Piece("gap", round(zero, 2)), Piece("zero")], "the original, at 0 %")
    else:
        drawn = interval_bar(card.pieces, card.effect)
    lift = "" if card.original else "not measured" if row["lift"] is None else relative(row["lift"])
    verdict = review.verdicts.get(card.id, {}).get("verdict")
    cells: list[Any] = [
        [h("b", lift), [h("small", words) for words in ([] if card.original else _interval(row))]],
        "" if card.original or row["lift_expected"] is None else relative(row["lift_expected"]),
        production or (not card.original and h("span.plw-soft", "–")),
        [_outcome(review, row), " ", verdict and badge(*_VERDICTS[verdict][1:])],
        "" if row["n"] is None else f"{row['n']:,}",
    ]
    choose = h(
        "button.plw-choose.plw-foreign", card.name, action="choose", variant=card.id, aria_pressed=here, follow=True,
        still="b", keys=" ".join(keys), focus=here and focus
    )  # fmt: skip
    marks = ".plw-won" * card.winner + ".plw-screened" * (card.stage == "screen") + ".plw-here" * here
    return h(
        f"tr.plw-variant{marks}",
        h("th.plw-cell", choose, scope="row"),
        h("td.plw-cell.plw-on-axis", drawn),
        [h(f"td.plw-cell{classes}", cell) for cell, classes in zip(cells, _CELLS, strict=True)],
        key=card.id,
        action="choose",
        variant=card.id,
    )


# The card of one.


def measured(card: Card) -> Nodes:
    """Return the numbers of a variant, in words and as pictures."""
    first = "p.plw-warning" if card.labels.warns else "p.plw-said"
    luck = card.stage == "screen" and next(stage.about for stage in _STAGES if stage.key == "screen")
    confidence = interval_bar(confidence_pieces(card.row["confidence"], card.needed), card.confidence)
    return nodes(
        h("div.plw-name.plw-foreign", card.name),
        h("div.plw-badges", [badge(*one) for one in card.badges]),
        [
            h("p.plw-said" if place else first, one_line(words, 600))
            for place, words in enumerate(card.labels.sentences)
        ],
        card.labels.button and h("div.plw-buttons", push(card.labels.button, "label", ".plw-label")),
        card.effect and h("div.plw-words", card.effect),
        luck and h("p.plw-warning", luck),
        card.confidence and confidence,
        card.confidence and h("div.plw-words", card.confidence),
        known(card.facts),
        card.row["warnings"] and h("p.plw-warning", one_line(card.row["warnings"], 600)),
    )


def text_of(card: Card) -> Node | None:
    """Return how the text of a variant differs from the original."""
    if not card.difference:
        return None
    title = h("div.plw-heading", "Text compared with the original")
    return h("div.plw-texts", title, h("p.plw-soft", card.difference), card.diff)


def decision(review: Review, card: Card) -> Node:
    """Return the verdict and the note, if the service keeps them, and the button to apply."""
    said = review.verdicts.get(card.id, {})
    verdicts = [
        push(
            words,
            "verdict",
            variant=card.id,
            verdict=name,
            aria_pressed="true" if said.get("verdict") == name else "false",
        )
        for name, (words, _, _) in _VERDICTS.items()
    ]
    note = h(
        "textarea", rows=2, maxlength=10_000, name="note", value=said.get("note") or "", key=card.id, action="note",
        variant=card.id, delay=900
    )  # fmt: skip
    apply = push(
        f"Apply {card.name} …",
        "apply",
        ".plw-apply.plw-foreign",
        variant=card.id,
        disabled=bool(card.why_not),
    )
    return h(
        "div.plw-review-of",
        review.keeps_notes
        and [
            h("div.plw-buttons", verdicts, role="group", aria_label=f"Verdict on {card.name}"),
            field("Note", note, "span.plw-note"),
        ],
        h("div.plw-buttons", apply),
        card.why_not and h("p.plw-soft", card.why_not),
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
    return str(_IN_PRODUCTION.get(deployment.verification, deployment.verification))


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


def head(review: Review) -> Nodes:
    """Return the outcome of the optimization as names and values."""
    return [fact(*pair) for pair in _headline(review)]


def _headline(review: Review) -> list[tuple[str, str]]:
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


def actions(review: Review, cards: Sequence[Card], most: int) -> Nodes:
    """Return the newest actions on the prompt, at most ``most``, with a button to undo the newest change of the text."""
    names = {card.id: card.name for card in cards}
    undoable = True
    shown: Nodes = []
    for row in review.actions[:most]:
        changed = row["kind"] != "stop" and row["from_version_id"] != row["to_version_id"]
        when = row["acted_at"]
        back = changed and undoable and not row["undone"]
        # Only the newest change of the text can be undone.
        undoable = undoable and not changed
        shown.append(
            h(
                "div.plw-action",
                h("span.plw-soft", "" if when is None else when.strftime("%Y-%m-%d %H:%M UTC")),
                " ",
                h("b", row["kind"]),
                " ",
                h("span.plw-foreign", names.get(row["variant_id"] or "", "")),
                row["undone"] and [" ", badge("undone")],
                row["note"] and h("span.plw-foreign.plw-soft", f" “{one_line(row['note'], 400)}” "),
                back and push("Undo …", "undo", ".plw-undo", of=row["action_id"]),
                key=row["action_id"],
            )
        )
    return shown


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}".replace("%", " %")
