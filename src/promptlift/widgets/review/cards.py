"""One variant of a review: what is known of it, in words, numbers and pictures."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from promptlift.frames.headline import TESTED_LIFT, headline_of
from promptlift.schema.inert import one_line
from promptlift.widgets.interval_bars import Piece, confidence_pieces, effect_pieces, interval_bar
from promptlift.widgets.review.labelled import label_verdict
from promptlift.widgets.tree import badge, diff_block, field, h, known, nodes
from promptlift.widgets.tree_widget import push
from promptlift.widgets.word_diff import describe_difference, diff_lines
from promptlift.words.figures import confidences, relative, signed

if TYPE_CHECKING:
    from promptlift.display.static_html import Tone
    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Node

    Row = dict[str, Any]

__all__ = ["NO_INTERVAL", "REHEARSAL", "Card", "confidence_in_words", "interval_in_words"]

NO_INTERVAL: Final = "interval unavailable: the service reports no sample size"
REHEARSAL: Final = "Rehearsal: produced by the built-in model; it says nothing about a real prompt."
LUCK: Final = (
    "A few other conversations, used only to choose the finalist. The largest of several small samples is partly luck, so "
    "a larger lift here does not mean a better variant."
)
_BADGES: Final = {"screen": "screened only", "confirm": "tested on new conversations"}
_IN_PRODUCTION: Final = {
    "verified": "✓ verified",
    "not_fixed": "✗ not fixed",
    "regressed": "✗ regressed",
    "confounded": "inconclusive",
}
VERDICTS: Final[dict[str, tuple[str, str, Tone]]] = {
    "keep": ("✓ Keep", "✓ you: keep", "good"),
    "reject": ("✗ Reject", "✗ you: reject", "bad"),
}


class Card:
    """One variant.

    Parameters
    ----------
    review
        The review that it is part of.
    row
        Its row in the table of variants.
    """

    def __init__(self, review: Review, row: Row) -> None:
        self.review, self.row = review, headline_of(row)
        self.id: str = row["variant_id"] or ""
        self.is_original, self.is_winner = bool(row["is_original"]), bool(row["is_winner"])
        self.stage: str = row["stage"] if row["stage"] in _BADGES and not self.is_original else ""
        self.name = one_line(row["name"] or ("Original" if self.is_original else self.id), 120)
        self.labels = label_verdict(review, self.row)

    @property
    def said(self) -> Row:
        """The verdict and the note of people."""
        return self.review.verdicts.get(self.id, {})

    @property
    def effect(self) -> str:
        """Its lift with its interval in words, without an interval where the service reports none."""
        row, tested = self.row, self.row[TESTED_LIFT["lift"]]
        if self.is_original:
            return ""
        if row["lift"] is None:
            return "lift not measured"
        words = f"lift {relative(row['lift'])}"
        if row["uncertainty_source"] != "service":
            return f"{words}, {NO_INTERVAL if row['n'] is None else 'the service reports no interval'}"
        if tested is not None:
            words += " on the mix of the logged conversations"
        words += f" ({interval_in_words(row['interval_level'], row['lift_low'], row['lift_high'])})"
        if tested is not None:
            ends = _ends(row[TESTED_LIFT["lift_low"]], row[TESTED_LIFT["lift_high"]])
            words += (
                f", {relative(tested)} on the tested mix, in which failed ones come up more often ({ends})"
            )
        if row["lift_expected"] is not None:
            words += f", expected {relative(row['lift_expected'])}"
        if row["lift_verified"] is not None:
            ends = _ends(row["lift_verified_low"], row["lift_verified_high"])
            words += (
                f"; on new pairs after the decision {relative(row['lift_verified'])} (90% interval {ends})"
            )
        return words

    @property
    def confidence(self) -> str:
        """Its confidence in words."""
        if self.is_original or self.stage == "screen":
            return ""
        return confidence_in_words(self.row["confidence"], self.review.about.get("threshold"))

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Its numbers by name."""
        row, tested = self.row, self.row[TESTED_LIFT["lift"]]
        mix = "" if tested is None else ", logged mix"
        pairs = [
            (f"task completion{mix}", _percent(row["task_completion"])),
            (
                f"original, same conversations{mix}",
                "" if self.is_original else _percent(row["original_task_completion"]),
            ),
            ("sentiment", _figure(row["sentiment"], "+.2f")),
            ("quality", _figure(row["quality"], ".0f", " of 100")),
            ("n" if row["n_pairs"] is None else "pairs", _figure(row["n"], ",")),
            (
                "goal, relative to the original",
                "" if row["goal_points"] is None else signed(row["goal_points"], unit=" points"),
            ),
        ]
        if tested is not None:
            pairs += [
                ("lift, logged mix", relative(row["lift"])),
                ("lift, tested mix", relative(tested)),
                ("failed conversations, tested mix", _percent(row["failed_share_tested"])),
                ("failed conversations, logged mix", _percent(row["failed_share_logged"])),
            ]
        pairs += [
            ("only the variant completed", _figure(row["n10"], ",")),
            ("only the original completed", _figure(row["n01"], ",")),
            ("pairs lost to errors", _figure(row["n_dropped"] or None, ",")),
        ]
        return [(name, value) for name, value in pairs if value]

    @property
    def _is_current(self) -> bool:
        current = self.review.current
        return current is not None and current.text == self.row["content"]

    @property
    def why_not(self) -> str:
        """Why it cannot be applied."""
        status = self.review.optimization.status
        if status != "completed":
            return f"The optimization is {status}; a variant can be applied once it has completed."
        return "This is the current version." if self._is_current else ""

    @property
    def in_production(self) -> str:
        """Whether logged conversations confirm it, where it was deployed."""
        deployment = self.review.optimization.deployment
        if deployment is None or deployment.variant_id != self.id or deployment.verification is None:
            return ""
        return str(_IN_PRODUCTION.get(deployment.verification, deployment.verification))

    @property
    def outcome(self) -> str:
        """What the optimization says of it."""
        if self.is_original:
            return "reference"
        if self.is_winner:
            return "★ winner"
        if self.stage == "screen":
            return _BADGES["screen"]
        if self.row["confidence"] is None:
            return "not measured yet" if self.row["lift"] is None else "no confidence reported"
        running = self.review.optimization.status == "running"
        return "being tested" if running else "not shown to be better"

    @property
    def _badges(self) -> list[Node]:
        deployment = self.review.optimization.deployment
        staged = deployment is not None and (deployment.state, deployment.variant_id) == ("staged", self.id)
        badges: list[tuple[bool, str, Tone]] = [
            (self.is_original, "original", "plain"),
            (self.is_winner, "★ winner", "good"),
            (staged, "staged: awaiting approval", "accent"),
            (self._is_current, "● current version", "accent"),
            (bool(self.stage), _BADGES.get(self.stage, ""), "plain"),
            (self.row["rehearsal"] is True, "rehearsal", "warn"),
        ]
        found = [badge(words, tone) for shown, words, tone in badges if shown]
        return [*found, badge(*self.labels.badge)] if self.labels.badge else found

    def drawn(self, axis: tuple[float, float]) -> Node | None:
        """Return its lift as a picture on an axis."""
        low, high = axis
        if self.is_original:
            pieces = [Piece("gap", round(100 * -low / (high - low), 2)), Piece("zero")]
            return interval_bar(pieces, "the original, at 0 %")
        row = self.row
        pieces = effect_pieces(
            row["lift"],
            row["lift_low"],
            row["lift_high"],
            expected=row["lift_expected"],
            axis=axis,
            interval=row["uncertainty_source"] == "service",
        )
        return interval_bar(pieces, self.effect)

    def cells(self) -> list[Any]:
        """Return its lift, the expected one, whether production verified it, the verdict and the pairs, in short."""
        row = self.row
        lift = "" if self.is_original else "not measured" if row["lift"] is None else relative(row["lift"])
        interval: list[str] = []
        if row["lift"] is not None and not self.is_original:
            level = row["interval_level"]
            interval = [
                f"{level:.0%} interval" if level else "interval",
                _ends(row["lift_low"], row["lift_high"]),
            ]
            interval = interval if row["uncertainty_source"] == "service" else ["no interval"]
        verdict = self.said.get("verdict")
        return [
            [h("b", lift), [h("small", words) for words in interval]],
            "" if self.is_original or row["lift_expected"] is None else relative(row["lift_expected"]),
            self.in_production or (not self.is_original and h("span.plw-soft", "–")),
            [self.outcome, " ", verdict and badge(*VERDICTS[verdict][1:])],
            _figure(row["n"], ","),
        ]

    def node(self, *numbers: Any, edits: Node | None = None) -> Node:
        """Return the whole card: its numbers, in words and as pictures, what is added to them, and its text."""
        first = "p.plw-warning" if self.labels.warns else "p.plw-said"
        needed = self.review.about.get("threshold")
        measured = nodes(
            h("div.plw-name.plw-foreign", self.name),
            h("div.plw-badges", self._badges),
            [
                h("p.plw-said" if at else first, one_line(words, 600))
                for at, words in enumerate(self.labels.sentences)
            ],
            self.labels.button and h("div.plw-buttons", push(self.labels.button, "label", ".plw-label")),
            self.effect and h("div.plw-words", self.effect),
            self.stage == "screen" and h("p.plw-warning", LUCK),
            self.confidence
            and [
                interval_bar(confidence_pieces(self.row["confidence"], needed), self.confidence),
                h("div.plw-words", self.confidence),
            ],
            known(self.facts),
            self.row["warnings"] and h("p.plw-warning", one_line(self.row["warnings"], 600)),
        )
        tag = f"section.plw-card{'.plw-won' * self.is_winner}"
        return h(
            tag, h("div.plw-numbers", measured, numbers), self._texts, edits, key=self.id, variant=self.id
        )

    @cached_property
    def _texts(self) -> Node | None:
        """How its text differs from the original."""
        if self.is_original:
            return None
        before, after = self.review.original_text, self.row["content"] or ""
        title = h("div.plw-heading", "Text compared with the original")
        about = h("p.plw-soft", describe_difference(before, after))
        return h("div.plw-texts", title, about, diff_block(diff_lines(before, after)))

    def decision(self) -> Node:
        """Return the verdict and the note, if the service keeps them, and the button to apply it."""
        verdicts = [
            push(
                words, "verdict", variant=self.id, verdict=name, aria_pressed=self.said.get("verdict") == name
            )
            for name, (words, _, _) in VERDICTS.items()
        ]
        note = h(
            "textarea", rows=2, maxlength=10_000, name="note", value=self.said.get("note") or "", key=self.id, action="note",
            variant=self.id, delay=900
        )  # fmt: skip
        apply = push(
            f"Apply {self.name} …",
            "apply",
            ".plw-apply.plw-foreign",
            variant=self.id,
            disabled=bool(self.why_not),
        )
        return h(
            "div.plw-review-of",
            self.review.keeps_notes
            and [
                h("div.plw-buttons", verdicts, role="group", aria_label=f"Verdict on {self.name}"),
                field("Note", note, "span.plw-note"),
            ],
            h("div.plw-buttons", apply),
            self.why_not and h("p.plw-soft", self.why_not),
        )


def interval_in_words(level: float | None, low: float | None, high: float | None) -> str:
    """Return the interval of a lift in words; an end that is None has no bound."""
    return f"{f'{level:.0%} ' if level else ''}interval {_ends(low, high)}"


def _ends(low: float | None, high: float | None) -> str:
    return " to ".join("no bound" if end is None else relative(end) for end in (low, high))


def confidence_in_words(confidence: float | None, needed: float | None) -> str:
    """Return a confidence and what a winner needs in words."""
    if confidence is None:
        return "confidence not reported"
    if needed is None:
        return f"confidence {confidences(confidence)[0]}"
    shown, least = confidences(confidence, needed)
    return f"confidence {shown}, a winner needs {least}"


def _figure(value: float | None, form: str, unit: str = "") -> str:
    return "" if value is None else f"{value:{form}}{unit}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"
