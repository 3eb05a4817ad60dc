"""A variant review without scripts: the variants with their intervals, diffs, examples and the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from promptlift.display.static_html import (
    badge,
    badges,
    details,
    diff_block,
    element,
    facts,
    paragraph,
    root,
    table,
    transcript,
)
from promptlift.schema.inert import one_line
from promptlift.widgets.interval_bars import pieces_html
from promptlift.widgets.review.cards import (
    REHEARSAL,
    Card,
    actions,
    by_stage,
    headline,
    lift_axis,
)
from promptlift.widgets.review.search import SEARCH_ABOUT, family, spending_in_words
from promptlift.words.figures import relative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.review.search import EditShown, Member

    Row = dict[str, Any]

__all__ = ["render"]

_TEXT_CHARS: Final = 4_000
# Of every stage, so that its lifts stand on one axis.
_WIDTHS: Final = (27, 26, 20, 27)
_ACTIONS: Final = 8
_DEEPEST: Final = 6
_TO_LABEL: Final = (
    "To label conversations of both arms, drawn at random and blind to verdict and variant, run this cell in a running notebook, "
    "or review.label_draw() in one of its own."
)
_KINDS: Final = {"apply": "applied", "stop": "stopped", "restore": "restored", "undo": "undone"}


def render(review: Review, cards: Sequence[Card], examples: Sequence[tuple[str, Row]]) -> Markup:
    """Return the static fallback of a review.

    Parameters
    ----------
    review, cards
        The review and the cards of its variants.
    examples
        The transcripts to show: the name of a variant and a pair.
    """
    parts = [paragraph(element("b", "Review of prompt variants")), facts(headline(review))]
    if review.rehearsal:
        parts.append(paragraph(badge("rehearsal", "warn"), " ", REHEARSAL))
    results = review.optimization.results
    if results is not None and results.explanation:
        parts.append(paragraph(one_line(results.explanation, 600)))
    parts += _tables(review, cards) if cards else [paragraph("There are no variants yet.")]
    parts += [_decision(review, cards)]
    parts += [_diff(card) for card in cards if not card.original]
    if review.candidates:
        parts.append(_family(review))
    parts += [_example(name, pair) for name, pair in examples]
    if review.current is not None:
        parts.append(details("Current version of the prompt", _block(review.current.text)))
    parts += [paragraph(problem) for problem in review.problems]
    if any(card.label_button for card in cards):
        parts.append(paragraph(_TO_LABEL, soft=True))
    parts.append(
        paragraph(
            "To add notes, decide, apply or undo, run this cell in a running notebook. Nothing happens without a click.",
            soft=True,
        )
    )
    return root(*parts)


def _tables(review: Review, cards: Sequence[Card]) -> list[Markup]:
    """Return one table a stage, all on the same lift axis."""
    low, high = lift_axis(review)
    scale = f"Lift axis: {relative(low)} to {relative(high)}; the dashed line is the original."
    parts = [paragraph(scale, soft=True)]
    originals = [card for card in cards if card.original]
    if originals:
        parts.append(_table(originals, "Original"))
    for stage, group in by_stage(cards):
        parts.append(_table(group, ". ".join(filter(None, (stage.title or "Variants", stage.about)))))
    return parts


def _table(cards: Sequence[Card], caption: str) -> Markup:
    rows = []
    for card in cards:
        name = element("span", element("b", card.name), " ", badges(card.badges))
        numbers = Markup("<br>").join(
            element("span", f"{label} {value}", style="white-space:nowrap") for label, value in card.facts
        )
        said = Markup("").join(paragraph(words) for words in card.labels)
        effect = said + _stacked(pieces_html(card.effect_pieces, label=card.effect), card.effect)
        if not card.confidence:
            confidence = Markup("")
        else:
            confidence = _stacked(pieces_html(card.confidence_pieces, label=card.confidence), card.confidence)
        verdict = _stacked(confidence, " · ".join(filter(None, (card.outcome, card.in_production))))
        rows.append([name, effect, verdict, numbers])
    headers = ["Variant", "Lift over the original", "Verdict", "Measured"]
    return table(headers, rows, caption=caption, widths=_WIDTHS)


def _stacked(drawing: Markup, words: str) -> Markup:
    if not words:
        return Markup("")
    return element("span", drawing, Markup("<br>") if drawing else "", element("small", words))


def _decision(review: Review, cards: Sequence[Card]) -> Markup:
    parts: list[Markup] = [paragraph(element("b", "Decision"))]
    reviewed = [card for card in cards if card.verdict or card.note]
    for card in reviewed:
        verdict = badge(card.verdict, "good" if card.verdict == "keep" else "bad") if card.verdict else ""
        parts.append(paragraph(element("b", card.name), " ", verdict, " ", one_line(card.note, 2_000)))
    for row in actions(review, cards, _ACTIONS):
        kind, undone = _KINDS.get(row["kind"], row["kind"]), " (undone later)" if row["undone"] else ""
        note = f": {row['note']}" if row["note"] else ""
        parts.append(paragraph(f"{row['when']} {kind} {row['name']}{undone}{note}"))
    if not reviewed and not review.actions:
        parts.append(paragraph("No notes, verdicts or actions yet."))
    return element("div", *parts)


def _diff(card: Card) -> Markup:
    inside = [paragraph(card.difference, soft=True)]
    if card.diff:
        inside.append(diff_block(card.diff))
    if card.warnings:
        inside.append(paragraph(card.warnings))
    if card.edits:
        inside.append(paragraph(element("b", "Edits, and why they were made")))
        inside += [_edit(edit) for edit in card.edits]
    title = element("span", "Text of ", element("b", card.name), " compared with the original")
    return details(title, *inside, opened=card.winner)


def _edit(edit: EditShown) -> Markup:
    parts = [paragraph(element("b", edit.symptom), " ", badge(*edit.badge))]
    if edit.cause:
        parts.append(paragraph("Why: ", edit.cause))
    change = [element("span", f"{edit.operation} ")]
    change += [element("del", edit.before)] if edit.before else []
    change += [Markup(" ")] if edit.before and edit.after else []
    change += [element("ins", edit.after)] if edit.after else []
    parts.append(paragraph(*change))
    parts += [
        element("blockquote", f"“{words}” " if words else "", element("small", where))
        for where, words in edit.evidence
    ]
    parts.append(paragraph(edit.measured, soft=True))
    if edit.reason:
        parts.append(paragraph(edit.reason, soft=True))
    return element(
        "div", *parts, style="border-left:3px solid rgba(128,128,128,.35);padding-left:8px;margin:6px 0"
    )


def _family(review: Review) -> Markup:
    """Return the candidates of a search, each below the one that it was made from."""
    inside = [paragraph(SEARCH_ABOUT, soft=True)]
    if spending := spending_in_words(review.optimization.state):
        inside.append(paragraph(spending, soft=True))
    headroom = review.optimization.headroom
    if headroom is not None and headroom.text:
        inside.append(paragraph(one_line(headroom.text, 600)))
    inside += [_member(member) for member in family(review.candidates)]
    return details("Family tree of the candidates", *inside, opened=True)


def _member(member: Member) -> Markup:
    head = element("span", element("b", member.name), " ", member.generation, " ", badges(member.badges))
    changes = [f"+ {words}" for words in member.news] + [f"− {words}" for words in member.gone]
    lines = [line for line in (member.measured, member.from_words, *changes, member.reason) if line]
    drawing = [Markup(" "), pieces_html(member.pieces, label=member.measured)] if member.pieces else []
    below = [element("div", element("small", line)) for line in lines]
    style = f"margin-left:{18 * min(member.depth, _DEEPEST)}px;border-left:2px solid rgba(128,128,128,.35);padding:2px 0 2px 8px"
    return element("div", head, *drawing, *below, style=style)


def _example(name: str, pair: Row) -> Markup:
    about = [("persona", pair["persona"]), ("scenario", pair["scenario"]), ("goal", pair["goal"])]
    inside: list[Markup] = [facts(about)]
    for side in pair["sides"]:
        who = "Original" if side["who"] == "original" else name
        inside.append(paragraph(element("b", who), f": {side['completed']}"))
        inside.append(transcript(side["turns"]))
        if side["problem"]:
            inside.append(paragraph(side["problem"], soft=True))
    return details(f"Example of {name}: {pair['outcome']}", *inside)


def _block(text: str) -> Markup:
    return element("div", element("span", text[:_TEXT_CHARS]), style="overflow-wrap:anywhere")
