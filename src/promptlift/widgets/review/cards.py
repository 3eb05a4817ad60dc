"""One variant of a review: what is known of it, in words, numbers and pictures."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from promptlift.frames.headline import TESTED_LIFT, headline_of
from promptlift.schema.inert import one_line
from promptlift.schema.optimizations import length_in_words
from promptlift.widgets.interval_bars import Piece, confidence_pieces, effect_pieces, interval_bar
from promptlift.widgets.review.labelled import label_verdict
from promptlift.widgets.tree import badge, diff_block, field, fold, h, known, nodes
from promptlift.widgets.tree_widget import push
from promptlift.widgets.word_diff import describe_difference, diff_lines
from promptlift.words.figures import confidences, relative, signed

if TYPE_CHECKING:
    from promptlift.display.static_html import Tone
    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Node, Nodes

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
    "pending": "waiting for conversations",
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
        if review.rehearsal:  # it promises nothing
            self.row["lift_expected"] = None

    @property
    def said(self) -> Row:
        """The verdict and the note of people."""
        return self.review.verdicts.get(self.id, {})

    @property
    def _unmeasured(self) -> str:
        ends = self.review.optimization.status not in ("queued", "running")
        return "not tested" if ends else "not measured yet"

    @property
    def effect(self) -> str:
        """Its lift with its interval in words, without an interval where the service reports none."""
        row, tested = self.row, self.row[TESTED_LIFT["lift"]]
        if self.is_original:
            return ""
        if row["lift"] is None:
            return f"lift {self._unmeasured}"
        words = f"lift {relative(row['lift'])}"
        if row["uncertainty_source"] != "service":
            return f"{words}, {NO_INTERVAL if row['n'] is None else 'the service reports no interval'}"
        if tested is not None:
            words += " on the mix of the logged conversations"
        words += f" ({interval_in_words(row['interval_level'], row['lift_low'], row['lift_high'])})"
        if tested is not None:
            ends = _ends(row[TESTED_LIFT["lift_low"]], row[TESTED_LIFT["lift_high"]])
            words += f", {relative(tested)} on the tested mix ({ends})"
        if row["lift_expected"] is not None:
            words += f", expected {relative(row['lift_expected'])}"
        if row["lift_verified"] is not None:
            ends = _ends(row["lift_verified_low"], row["lift_verified_high"])
            words += (
                f"; on new pairs after the decision {relative(row['lift_verified'])} (90% interval {ends})"
            )
        return words

    @property
    def _beside(self) -> str:
        """How often it and the original completed the task, in the same conversations."""
        row, original = self.row, self.row["original_task_completion"]
        if self.is_original or row["task_completion"] is None or original is None:
            return ""
        mix = "" if row[TESTED_LIFT["lift"]] is None else ", on the mix of the logged ones"
        own = _percent(row["task_completion"])
        return f"completed {own} of the same conversations, the original {_percent(original)}{mix}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Its numbers by name."""
        row = self.row
        mixed = row[TESTED_LIFT["lift"]] is not None
        shares = (row["failed_share_tested"], row["failed_share_logged"]) if mixed else (None, None)
        goal = row["goal_points"]
        original = next((one for one in self.review.variants if one["is_original"]), None)
        pairs = [
            ("task completion", "" if self._beside else _percent(row["task_completion"])),
            ("sentiment", _figure(row["sentiment"], "+.2f")),
            ("quality", _figure(row["quality"], ".0f", " of 100")),
            ("n" if row["n_pairs"] is None else "pairs", _figure(row["n"], ",")),
            ("goal, relative to the original", "" if goal is None else signed(goal, unit=" points")),
            ("failed conversations, tested mix", _percent(shares[0])),
            ("failed conversations, logged mix", _percent(shares[1])),
            ("only the variant completed", _figure(row["n10"], ",")),
            ("only the original completed", _figure(row["n01"], ",")),
            ("pairs lost to errors", _figure(row["n_dropped"] or None, ",")),
            ("length", length_in_words(row, None if self.is_original else original)),
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
    def verified(self) -> str:
        """Whether its lift held after the decision: in logged conversations where it was deployed, or in new pairs."""
        deployment = self.review.optimization.deployment
        mine = deployment is not None and deployment.variant_id == self.id and not self.review.rehearsal
        if mine and deployment.verification:
            return str(_IN_PRODUCTION.get(deployment.verification, deployment.verification))
        held = self.row["lift_verified"]
        return "" if held is None else f"{relative(held)} on new pairs"

    @property
    def why_unverified(self) -> str:
        """Why there is nothing about it that was verified."""
        if self.is_original or not self.is_winner:
            return "" if self.is_original else "only winners are"
        return "no: a rehearsal" if self.review.rehearsal else "once it is applied"

    @property
    def verdict(self) -> Nodes:
        """What the optimization says of it, and what people say."""
        running = self.review.optimization.status == "running"
        if self.is_original:
            outcome = "reference"
        elif self.is_winner:
            outcome = "★ winner"
        elif self.stage == "screen":
            outcome = _BADGES["screen"]
        elif self.row["confidence"] is None:
            outcome = self._unmeasured if self.row["lift"] is None else "no confidence reported"
        else:
            outcome = "being tested" if running else "not shown to be better"
        own = self.said.get("verdict")
        return nodes(outcome, " ", own and badge(*VERDICTS[own][1:]))

    @property
    def lift(self) -> Nodes:
        """Its lift with its interval, in short."""
        row, level = self.row, self.row["interval_level"]
        if self.is_original or row["lift"] is None:
            return [] if self.is_original else [h("small", self._unmeasured)]
        words = [f"{level:.0%} interval" if level else "interval", _ends(row["lift_low"], row["lift_high"])]
        shown = words if row["uncertainty_source"] == "service" else ["no interval"]
        return [h("b", relative(row["lift"])), *(h("small", one) for one in shown)]

    def drawn(self, axis: tuple[float, float]) -> Node | None:
        """Return its lift as a picture on an axis."""
        row, (low, high) = self.row, axis
        if self.is_original:
            pieces = [Piece("gap", round(100 * -low / (high - low), 2)), Piece("zero")]
            return interval_bar(pieces, "the original, at 0%")
        ends, expected = (row["lift"], row["lift_low"], row["lift_high"]), row["lift_expected"]
        interval = row["uncertainty_source"] == "service"
        pieces = effect_pieces(*ends, expected=expected, axis=axis, interval=interval)
        return interval_bar(pieces, self.effect)

    def node(self, *decision: Any, edits: Node | None = None) -> Node:
        """Return the whole card: its numbers, in words and as pictures, what is added to them, and its text."""
        row, labels, deployment = self.row, self.labels, self.review.optimization.deployment
        staged = deployment is not None and (deployment.state, deployment.variant_id) == ("staged", self.id)
        badges: list[tuple[Any, str, Tone]] = [
            (self.is_original, "original", "plain"),
            (self.is_winner, "★ winner", "good"),
            (staged, "staged: awaiting approval", "accent"),
            (self._is_current, "● current version", "accent"),
            (self.stage, _BADGES.get(self.stage, ""), "plain"),
            (row["rehearsal"] is True, "rehearsal", "warn"),
            *([(True, *labels.badge)] if labels.badge else []),
        ]
        first = "p.plw-warning" if labels.warns else "p.plw-said"
        needed, confidence = self.review.about.get("threshold"), None
        if not self.is_original and self.stage != "screen":
            words = confidence_in_words(row["confidence"], needed)
            bar = interval_bar(confidence_pieces(row["confidence"], needed), words)
            confidence = [bar, h("div.plw-words", words)]
        facts = self.facts
        numbers = h(
            "div.plw-numbers",
            h("div.plw-name.plw-foreign", self.name),
            h("div.plw-badges", [badge(words, tone) for shown, words, tone in badges if shown]),
            [
                h("p.plw-said" if at else first, one_line(words, 600))
                for at, words in enumerate(labels.sentences)
            ],
            [h("div.plw-words", words) for words in (self._beside, self.effect) if words],
            self.stage == "screen" and h("p.plw-warning", LUCK),
            confidence,
            row["warnings"] and h("p.plw-warning", one_line(row["warnings"], 600)),
            decision,
            labels.button and h("div.plw-buttons", push(labels.button, "label", ".plw-label")),
            facts and fold("Numbers", known(facts)),
        )
        tag = f"section.plw-card{'.plw-won' * self.is_winner}"
        # Without a key, so that what a person unfolded stays so when another variant is chosen.
        return h(tag, numbers, self._texts, edits, variant=self.id)

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
        of, kept = {"variant": self.id}, self.said
        verdicts = [
            push(words, "verdict", **of, verdict=name, aria_pressed=kept.get("verdict") == name)
            for name, (words, _, _) in VERDICTS.items()
        ]
        note = h(
            "textarea", rows=2, maxlength=10_000, name="note", value=kept.get("note") or "", key=self.id, action="note",
            **of, delay=900
        )  # fmt: skip
        off = bool(self.why_not)
        apply = push(f"Apply {self.name} …", "apply", ".plw-apply.plw-foreign", **of, disabled=off)
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
    return "" if value is None else f"{100 * value:.1f}%"
