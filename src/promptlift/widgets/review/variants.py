"""The variants of a review: the outcome, and a row for each on one lift axis, by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.schema.inert import one_line
from promptlift.widgets.interval_bars import common_axis
from promptlift.widgets.review.cards import LUCK, Card
from promptlift.widgets.tree import fact, h
from promptlift.words.figures import relative
from promptlift.words.sentences import ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Node, Nodes

__all__ = ["head", "lift_axis", "make_cards", "variants_table"]

_STAGES: Final = {
    "confirm": ("Confirmation", "New conversations that chose nothing. Only these numbers decide."),
    "screen": ("Screening", LUCK),
    "": ("Not measured yet", ""),
}
_HEADERS: Final = ("Lift over the original", "Expected", "Verified", "Verdict", "Pairs")
_CELLS: Final = (".plw-figures", ".plw-figures", ".plw-verified", ".plw-verdict", ".plw-figures")


def make_cards(review: Review) -> list[Card]:
    """Return a card for every variant: the original first, then those of the confirmation, then those of the screening."""
    order = [*_STAGES]
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


def _by_stage(cards: Sequence[Card]) -> list[tuple[str, list[Card]]]:
    """Return the variants by stage; their numbers can be compared within a stage only."""
    groups = [
        (stage, [card for card in cards if card.stage == stage and not card.is_original]) for stage in _STAGES
    ]
    return [(stage, group) for stage, group in groups if group]


def variants_table(cards: Sequence[Card], chosen: str = "", *, focus: bool = False) -> Node:
    """Return a row per variant; the arrow keys go from the chosen one to the next, which can have the focus."""
    low, high = axis = lift_axis(cards)
    zero = 100 * -low / (high - low)
    middle = 30 < zero < 70 and h("span.plw-zero", "0", style=f"left:{zero}%")
    scale = h("div.plw-scale.plw-soft", h("span", relative(low)), middle, h("span", relative(high)))
    titles = [("Variant", ""), (scale, ""), *zip(_HEADERS, _CELLS, strict=True)]
    header = h("tr", [h(f"th.plw-cell{classes}", words, scope="col") for words, classes in titles])
    stages = _by_stage(cards)
    ordered = [card for card in cards if card.is_original] + [card for _, group in stages for card in group]
    here = next((at for at, card in enumerate(ordered) if card.id == chosen), 0)
    keys: dict[int, list[str]] = {}
    for place, key in (
        (here + 1, "ArrowDown"),
        (here - 1, "ArrowUp"),
        (0, "Home"),
        (len(ordered) - 1, "End"),
    ):
        keys.setdefault(place, []).append(key)
    rows = {
        card.id: _row(card, axis, keys.get(at, ()), here=card.id == chosen, focus=focus)
        for at, card in enumerate(ordered)
    }
    # Of a service that reports no stages nothing is known that would divide its variants.
    divided = [stage for stage, _ in stages] != [""] or all(card.row["lift"] is None for card in cards)
    bodies = [h("tbody", [rows[card.id] for card in cards if card.is_original], stage="")]
    for stage, group in stages:
        title, about = _STAGES[stage]
        words = [h("b", title), about and h("span.plw-soft", f" {about}")]
        heading = h("tr.plw-stage", h("th.plw-cell", words, colspan=7, scope="rowgroup"))
        bodies.append(h("tbody", divided and heading, [rows[card.id] for card in group], stage=stage))
    deployed = any(card.in_production for card in cards)
    tag = f"table.plw-variants{'' if deployed else '.plw-none-deployed'}"
    return h(tag, h("thead", header), bodies, keyboard=True)


def _row(card: Card, axis: tuple[float, float], keys: Sequence[str], *, here: bool, focus: bool) -> Node:
    choose = h(
        "button.plw-choose.plw-foreign", card.name, action="choose", variant=card.id, aria_pressed=here, follow=True,
        still="b", keys=" ".join(keys), focus=here and focus
    )  # fmt: skip
    marks = ".plw-won" * card.is_winner + ".plw-screened" * (card.stage == "screen") + ".plw-here" * here
    return h(
        f"tr.plw-variant{marks}",
        h("th.plw-cell", choose, scope="row"),
        h("td.plw-cell.plw-on-axis", card.drawn(axis)),
        [h(f"td.plw-cell{classes}", cell) for cell, classes in zip(card.cells(), _CELLS, strict=True)],
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
