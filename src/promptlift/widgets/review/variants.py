"""The variants of a review: the outcome, and a row for each on one lift axis, those that were only screened folded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema.inert import one_line
from promptlift.widgets.interval_bars import common_axis
from promptlift.widgets.review.cards import LUCK, Card
from promptlift.widgets.tree import fact, fold, h
from promptlift.words.figures import counted, relative
from promptlift.words.sentences import ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Node, Nodes

__all__ = ["head", "lift_axis", "make_cards", "variants_table"]


def make_cards(review: Review) -> list[Card]:
    """Return a card for every variant: the original first, then those of the confirmation, then those of the screening."""
    order = ["confirm", "screen", ""]
    cards = [Card(review, row) for row in review.variants]
    return sorted(cards, key=lambda card: (not card.is_original, order.index(card.stage)))


def lift_axis(cards: Sequence[Card]) -> tuple[float, float]:
    """Return the ends of the lift axis that all variants of a review share.

    It holds the whole interval of each confirmed variant. The intervals of screened ones, which are of few pairs, may reach
    beyond it: they would leave no room for the ones that decide.
    """
    shown = [card for card in cards if not card.is_original]
    points = [card.row[name] for card in shown for name in ("lift", "lift_expected")]
    deciding = [card for card in shown if card.stage == "confirm"] or shown
    return common_axis(
        [*points, *(card.row[name] for card in deciding for name in ("lift_low", "lift_high"))]
    )


def variants_table(cards: Sequence[Card], chosen: str = "", *, focus: bool = False) -> Node:
    """Return a row per variant; the arrow keys go from the chosen one to the next, which can have the focus."""
    low, high = axis = lift_axis(cards)
    zero = 100 * -low / (high - low)
    middle = 30 < zero < 70 and h("span.plw-zero", "0", style=f"left:{zero}%")
    scale = h("div.plw-scale.plw-soft", h("span", relative(low)), middle, h("span", relative(high)))
    # Without a winner there is nothing to verify.
    verifies = any(card.is_winner or card.verified for card in cards)
    titles = [("Variant", ""), (scale, ".plw-on-axis"), ("Lift over the original", ".plw-figures")]
    titles += [("Verified", ".plw-verified")] if verifies else []
    titles += [("Verdict", ".plw-verdict"), ("Pairs", ".plw-pair-count")]
    header = h("tr", [h(f"th.plw-cell{classes}", words, scope="col") for words, classes in titles])
    here = next((at for at, card in enumerate(cards) if card.id == chosen), 0)
    keys: dict[int, list[str]] = {}
    moves = {"ArrowDown": here + 1, "ArrowUp": here - 1, "Home": 0, "End": len(cards) - 1}
    for key, place in moves.items():
        keys.setdefault(place, []).append(key)
    tested: Nodes = []
    screened: Nodes = []
    # Of a service that reports no stages nothing is known that would divide its variants.
    divided = any(card.stage == "confirm" for card in cards)
    for at, card in enumerate(cards):
        row = _row(card, axis, " ".join(keys.get(at, ())), verifies, here=card.id == chosen, focus=focus)
        folded = divided and card.stage != "confirm" and not card.is_original
        (screened if folded else tested).append(row)
    more = h("p.plw-soft", LUCK), h("table.plw-variants", h("tbody", screened, stage="screen"))
    return h(
        "div",
        h("table.plw-variants", h("thead", header), h("tbody", tested, stage="confirm")),
        screened and fold(f"{counted(len(screened), 'more variant')}, screened only", *more, key="screened"),
        keyboard=True,
    )


def _row(card: Card, axis: tuple[float, float], keys: str, verifies: Any, *, here: bool, focus: bool) -> Node:
    choose = h(
        "button.plw-choose.plw-foreign", card.name, action="choose", variant=card.id, aria_pressed=here, follow=True,
        still="b", keys=keys, focus=here and focus
    )  # fmt: skip
    marks = ".plw-won" * card.is_winner + ".plw-screened" * (card.stage == "screen") + ".plw-here" * here
    return h(
        f"tr.plw-variant{marks}",
        h("th.plw-cell", choose, scope="row"),
        h("td.plw-cell.plw-on-axis", card.drawn(axis)),
        h("td.plw-cell.plw-figures", card.lift),
        verifies and h("td.plw-cell.plw-verified", card.verified or h("span.plw-soft", card.why_unverified)),
        h("td.plw-cell.plw-verdict", card.verdict),
        h("td.plw-cell.plw-pair-count", "" if card.row["n"] is None else f"{card.row['n']:,}"),
        key=card.id,
        action="choose",
        variant=card.id,
    )


def head(review: Review) -> Nodes:
    """Return the outcome of the optimization as names and values."""
    optimization, current = review.optimization, review.current
    facts = [
        ("prompt", current.name if current else optimization.prompt_id or ""),
        ("status", optimization.status),
        ("mode", optimization.mode or ""),
    ]
    if optimization.settings is not None and optimization.settings.goal:
        parts = (f"{one_line(one.measure, 60)} × {one.weight:g}" for one in optimization.settings.goal)
        facts.append(("finalist chosen by", one_line(", ".join(parts), 300)))
    if optimization.status == "completed":
        facts.append(("winner", _named(review, "is_winner", value=True) or "none"))
    if optimization.results is not None and optimization.results.reason:
        facts.append(("ended", ended(optimization.results.reason)))
    if current is not None:
        facts.append(("current version", _named(review, "content", value=current.text) or "another text"))
    return [fact(*pair) for pair in facts]


def _named(review: Review, column: str, *, value: object) -> str:
    """Return the name of the first variant that has a value."""
    return next((one_line(row["name"], 80) for row in review.variants if row[column] == value), "")
