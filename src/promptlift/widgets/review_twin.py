"""What stays of a variant review where nothing runs: the variants with their drawings, diffs, examples and the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from promptlift.schema.inert import one_line
from promptlift.widgets.marks import drawn
from promptlift.widgets.review_cards import REHEARSAL, Card, headline
from promptlift.widgets.static import (
    Said,
    badge,
    details,
    diff_block,
    element,
    facts,
    paragraph,
    root,
    table,
    transcript,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.widgets.review_reading import Review

    Row = dict[str, Any]

__all__ = ["draw"]

_LIVE_CHARS: Final = 4_000
_VERDICTS: Final = {"keep": "keep", "reject": "reject"}
_KINDS: Final = {"apply": "applied", "stop": "stopped", "restore": "restored", "undo": "undone"}


def draw(review: Review, cards: Sequence[Card], examples: Sequence[tuple[str, Row]]) -> Markup:
    """Draw the static twin of a review.

    Parameters
    ----------
    review, cards
        What is reviewed.
    examples
        Name of a variant and a pair of transcripts, as many as are shown.
    """
    parts = [paragraph(element("b", "Review of prompt variants")), facts(headline(review))]
    if review.rehearsal:
        parts.append(paragraph(badge("rehearsal", "warn"), " ", REHEARSAL))
    results = review.optimization.results
    if results is not None and results.explanation:
        parts.append(paragraph(one_line(results.explanation, 600)))
    parts.append(_table(cards) if cards else paragraph("There are no variants yet."))
    parts += [_decision(review, cards)]
    parts += [_diff(card) for card in cards if not card.original]
    parts += [_example(name, pair) for name, pair in examples]
    if review.live is not None:
        parts.append(details("The live text of the prompt", _block(review.live.text)))
    parts += [paragraph(problem) for problem in review.problems]
    parts.append(
        paragraph(
            "To note, decide, apply or undo, run this cell in a live notebook. Nothing acts by itself.",
            soft=True,
        )
    )
    return root(*parts)


def _spaced(marks: Sequence[Markup]) -> Markup:
    return Markup(" ").join(marks)


def _table(cards: Sequence[Card]) -> Markup:
    rows = []
    for card in cards:
        name = element(
            "span", element("b", card.name), " ", _spaced([badge(words, tone) for words, tone in card.marks])
        )
        numbers = Markup("<br>").join(
            element("span", f"{label} {value}", style="white-space:nowrap") for label, value in card.facts
        )
        effect = _stacked(drawn(card.effect_pieces, words=card.effect), card.effect)
        sure = _stacked(drawn(card.confidence_pieces, words=card.confidence), card.confidence)
        rows.append([name, numbers, effect, sure])
    scale = next((card.scale for card in cards if not card.original), ("", ""))
    caption = (
        f"Lift is drawn from {scale[0]} to {scale[1]}; the dashed line is the original." if scale[0] else None
    )
    return table(["Variant", "Measured", "Lift over the original", "Confidence"], rows, caption=caption)


def _stacked(drawing: Markup, words: str) -> Markup:
    if not words:
        return Markup("")
    return element("span", drawing, Markup("<br>") if drawing else "", element("small", words))


def _decision(review: Review, cards: Sequence[Card]) -> Markup:
    parts: list[Markup] = [paragraph(element("b", "Decision"))]
    names = {card.id: card.name for card in cards}
    said = [card for card in cards if card.verdict or card.note]
    for card in said:
        verdict = _VERDICTS.get(card.verdict)
        marks = [badge(verdict, "good" if verdict == "keep" else "bad")] if verdict else []
        parts.append(paragraph(element("b", card.name), " ", _spaced(marks), " ", one_line(card.note, 2_000)))
    for row in review.actions[:8]:
        when = row["acted_at"].strftime("%Y-%m-%d %H:%M UTC") if row["acted_at"] is not None else ""
        name = names.get(row["variant_id"] or "", "")
        undone = " (undone since)" if row["undone"] else ""
        note = f": {one_line(row['note'], 400)}" if row["note"] else ""
        parts.append(paragraph(f"{when} {_KINDS.get(row['kind'], row['kind'])} {name}{undone}{note}"))
    if not said and not review.actions:
        parts.append(paragraph("Nobody has noted or done anything yet."))
    return element("div", *parts)


def _diff(card: Card) -> Markup:
    inside = [paragraph(card.differs, soft=True)]
    if card.diff:
        inside.append(diff_block(card.diff))
    if card.warnings:
        inside.append(paragraph(card.warnings))
    winner = any("winner" in words for words, _ in card.marks)
    return details(
        element("span", "Text of ", element("b", card.name), " against the original"), *inside, opened=winner
    )


def _example(name: str, pair: Row) -> Markup:
    about = [("persona", pair["persona"]), ("scenario", pair["scenario"]), ("goal", pair["goal"])]
    inside: list[Markup] = [facts(about)]
    for side in pair["sides"]:
        who = "Original" if side["who"] == "original" else name
        inside.append(paragraph(element("b", who), f": {side['completed']}"))
        inside.append(transcript(Said(turn["role"], turn["content"]) for turn in side["turns"]))
        if side["problem"]:
            inside.append(paragraph(side["problem"], soft=True))
    return details(f"Example with {name}: {pair['outcome']}", *inside)


def _block(text: str) -> Markup:
    return element("div", element("span", text[:_LIVE_CHARS]), style="overflow-wrap:anywhere")
