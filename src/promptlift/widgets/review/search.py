"""What a review shows of a search: where each candidate comes from, and its edits with their reasons and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.schema.inert import one_line
from promptlift.schema.search import DELETED, assembled
from promptlift.widgets.interval_bars import common_axis, effect_pieces, interval_bar
from promptlift.widgets.tree import badge, field, h
from promptlift.words.figures import signed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from promptlift.display.static_html import Tone
    from promptlift.schema.optimizations import Optimization, Variant
    from promptlift.schema.search import Edit, EditEvidence, Spending
    from promptlift.widgets.tree import Node, Nodes

__all__ = [
    "SEARCH_ABOUT",
    "UNTESTED",
    "can_switch",
    "cells_in_words",
    "edits_list",
    "family",
    "has_search",
    "made_by_hand",
    "spending_in_words",
    "switched_edits",
    "switches",
]

SEARCH_ABOUT: Final = (
    "Each candidate is shown below the one that it was made from. Its points are estimated from all conversations of the search, "
    "with a 90 % interval. They chose the finalist and decide nothing: the best of several is partly lucky."
)
UNTESTED: Final = (
    "Put together by hand: no conversation was held with this text as a whole, so it is untested."
)
_STATES: Final[dict[str, tuple[str, Tone]]] = {
    "pool": ("in the pool", "plain"),
    "finalist": ("finalist", "accent"),
    "testing": ("still tested", "plain"),
    "rejected": ("rejected", "bad"),
}
_OPERATIONS: Final = {"add": "adds", "replace": "replaces", "delete": "deletes"}
_EDIT_STATES: Final[dict[str, tuple[str, Tone]]] = {
    "kept": ("part of this text", "good"),
    "pruned": ("left out again", "plain"),
    "refused": ("refused", "bad"),
}
_TEXT: Final = 2_000
_QUOTE: Final = 300
_LINE: Final = 400
_DEEPEST: Final = 6


def has_search(candidates: Sequence[Variant]) -> bool:
    """Return whether candidates come from a search."""
    return any(one.search is not None or one.edits for one in candidates)


def family(candidates: Sequence[Variant], chosen: str = "") -> Node:
    """Return the candidates as a tree, each below the one that it was made from, the original first."""
    by_id = {one.id: one for one in candidates}
    children: dict[str | None, list[Variant]] = {}
    for one in sorted(candidates, key=lambda one: (one.generation or 0, one.number or 0)):
        parent = None if one.is_original or one.parent_variant_id not in by_id else one.parent_variant_id
        children.setdefault(parent, []).append(one)
    measured = [one.search for one in candidates if one.search is not None]
    axis = common_axis([end for one in measured for end in (one.points, one.points_low, one.points_high)])
    found: Nodes = []
    left = [(one, 0) for one in reversed(children.get(None, []))]
    seen: set[str] = set()
    while left:
        one, depth = left.pop()
        if one.id in seen:
            continue
        seen.add(one.id)
        found.append(_member(one, depth, by_id, axis, here=one.id == chosen))
        left += [(child, depth + 1) for child in reversed(children.get(one.id, []))]
    return h("ul.plw-family", found)


def _member(
    one: Variant, depth: int, by_id: dict[str, Variant], axis: tuple[float, float], *, here: bool
) -> Node:
    parents = [by_id[name] for name in (one.parent_variant_id, one.other_parent_variant_id) if name in by_id]
    own, theirs = _kept(one), {edit.id for parent in parents for edit in _kept(parent)}
    first = _kept(parents[0]) if parents else []
    found, words = one.search, _measured(one)
    state = "" if found is None else found.state or ""
    badges: list[tuple[str, Tone]] = [("★ winner", "good")] if one.is_winner else []
    badges += [_STATES.get(state, (state, "plain"))] if state else []
    drawn = None
    if found is not None and found.points is not None:
        ends = (found.points, found.points_low, found.points_high)
        drawn = interval_bar(effect_pieces(*ends, axis=axis, interval=True), words)
    choose = h(
        "button.plw-choose.plw-foreign",
        _name(one),
        action="choose",
        variant=one.id,
        aria_pressed=here,
        still="b",
    )
    signed_edits = [
        *(("good", "+ ", edit) for edit in own if edit.id not in theirs),
        *(("bad", "− ", edit) for edit in first if edit.id not in {mine.id for mine in own}),
    ]
    return h(
        "li.plw-member",
        h(
            "div.plw-member-head",
            choose,
            one.generation and h("span.plw-soft", f"generation {one.generation}"),
            [badge(*pair) for pair in badges],
        ),
        drawn,
        h(
            "div.plw-member-words",
            words and h("div.plw-soft", words),
            len(parents) > 1
            and h("div.plw-foreign.plw-soft", f"merge of {_name(parents[0])} and {_name(parents[1])}"),
            [
                h("div.plw-foreign", h(f"b.plw-{tone}", sign), _line(edit.symptom))
                for tone, sign, edit in signed_edits
            ],
            found is not None and found.reason and h("div.plw-foreign.plw-soft", _line(found.reason)),
        ),
        key=one.id,
        member=one.id,
        style=f"--depth:{min(depth, _DEEPEST)}",
    )


def can_switch(one: Variant, original: str) -> bool:
    """Return whether edits can be switched: putting the whole set into the original gives the candidate's text to the character."""
    kept = _kept(one)
    return bool(kept) and assembled(original, kept) == (one.content or "")


def switches(edit: Edit) -> bool:
    """Return whether an edit is one that can be switched off and on: part of the text, or left out again."""
    return edit.state in ("kept", "pruned")


def edits_list(
    one: Variant, original: str, switched: Collection[str], by_hand: Node | None = None
) -> Node | None:
    """Return the edits of a candidate: those of its text, then those that were left out or refused.

    Parameters
    ----------
    one
        The candidate.
    original
        The text that they were made to.
    switched
        The edits that were switched off or on.
    by_hand
        The text that these make.
    """
    ordered = [*_kept(one), *(edit for edit in one.edits or () if edit.state != "kept")]
    if not ordered:
        return None
    able = can_switch(one, original)
    never = "This text cannot be put together again from its edits, so none can be switched off."
    return h(
        "div.plw-edits",
        h("div.plw-heading", "Edits, and why they were made"),
        by_hand,
        [_edit(one.id, edit, able=able and switches(edit), off=edit.id in switched) for edit in ordered],
        not able and h("p.plw-soft", never),
    )


def _edit(variant_id: str, edit: Edit, *, able: bool, off: bool) -> Node:
    state = edit.state or ""
    on = (state == "kept") != off
    switch = h(
        "input.plw-switch",
        type="checkbox",
        action="switch",
        variant=variant_id,
        edit=edit.id,
        key=edit.id,
        checked=on,
    )
    before = "" if edit.operation == "add" else edit.anchor[:_TEXT]
    return h(
        f"article.plw-edit{'' if on else '.plw-off'}",
        h(
            "div.plw-edit-head",
            h("b.plw-foreign", _line(edit.symptom) or "No symptom was given"),
            badge(*_EDIT_STATES.get(state, (state, "plain"))),
            able and field("switched on" if on else "switched off", switch, "span.plw-switch-of"),
        ),
        edit.cause and h("p.plw-foreign", h("span.plw-soft", "Why: "), _line(edit.cause)),
        h(
            "div.plw-change",
            h("span.plw-soft", _OPERATIONS.get(edit.operation or "", edit.operation or "")),
            before and h("del.plw-foreign", before),
            edit.text and h("ins.plw-foreign", edit.text[:_TEXT]),
        ),
        [_quotation(place) for place in edit.evidence],
        h("div.plw-words", cells_in_words(edit)),
        edit.reason and h("p.plw-foreign.plw-soft", _line(edit.reason)),
        key=edit.id,
        edit=edit.id,
    )


def _quotation(place: EditEvidence) -> Node:
    if place.conversation_id == DELETED:
        return h("blockquote", h("span.plw-soft", "in a conversation that was deleted"))
    words = _line(place.quote, _QUOTE)
    where = h("span.plw-soft.plw-foreign", one_line(place.conversation_id or "", 80))
    return h("blockquote", words and h("span.plw-foreign", f"“{words}” "), where)


def switched_edits(one: Variant, switched: Collection[str]) -> list[Edit]:
    """Return the edits of a candidate's text after some were switched, in the order in which they were written."""
    return [
        edit for edit in one.edits or () if switches(edit) and (edit.state == "kept") != (edit.id in switched)
    ]


def made_by_hand(one: Variant, original: str, switched: Collection[str]) -> str:
    """Return the text of a candidate after some of its edits were switched on or off."""
    return assembled(original, switched_edits(one, switched))


def cells_in_words(edit: Edit) -> str:
    """Return how conversations with an edit ended against those without it."""
    if edit.won is None or edit.lost is None:
        return "not tested for itself"
    alike = "" if edit.tied is None else f", {edit.tied:,} alike"
    worth = "" if edit.effect is None else f"; worth {signed(edit.effect)} points by all of the search"
    return f"with it against without it: {edit.won:,} won, {edit.lost:,} lost{alike}{worth}"


def spending_in_words(optimization: Optimization) -> str:
    """Return what search, confirmation and verification may spend and have spent."""
    plan = optimization.search_plan
    if plan is None:
        return ""
    parts = [
        f"{name} {_spent(spending)}"
        for name, spending in (
            ("search", plan.search), ("confirmation", plan.confirmation), ("verification", plan.verification)
        )
        if spending.planned is not None or spending.spent is not None
    ]  # fmt: skip
    words = f"Conversations: {', '.join(parts)}." if parts else ""
    if plan.generations:
        words += f" {plan.generations} generation{'' if plan.generations == 1 else 's'}."
    return words.strip()


def _spent(spending: Spending) -> str:
    if spending.planned is None:
        return f"{spending.spent:,}"
    return f"{spending.spent or 0:,} of at most {spending.planned:,}"


def _measured(one: Variant) -> str:
    found = one.search
    if found is None or found.points is None:
        return "" if one.is_original else "not measured by the search"
    words = f"{signed(found.points)} points over the original"
    if found.points_low is not None and found.points_high is not None:
        words += f" ({signed(found.points_low)} to {signed(found.points_high)})"
    return f"{words}, tested on {found.pairs:,} cell{'' if found.pairs == 1 else 's'}"


def _kept(one: Variant) -> list[Edit]:
    return [edit for edit in one.edits or () if edit.state == "kept"]


def _name(one: Variant) -> str:
    return one_line(one.name or ("Original" if one.is_original else one.id), 120)


def _line(text: str, most: int = _LINE) -> str:
    return one_line(text, most)
