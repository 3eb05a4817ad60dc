"""What a review shows of a search: where each candidate comes from, and its edits with their reasons and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.schema.inert import one_line, shorten
from promptlift.schema.search import DELETED, assembled
from promptlift.widgets.interval_bars import common_axis, effect_pieces, interval_bar
from promptlift.widgets.tree import badge, field, fold, h, quotation
from promptlift.words.figures import counted, signed

if TYPE_CHECKING:
    from collections.abc import Collection

    from promptlift.display.static_html import Tone
    from promptlift.schema.optimizations import Variant
    from promptlift.schema.search import Edit, EditEvidence, SearchPlan
    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Node, Nodes

__all__ = ["can_switch", "edits_list", "family", "switches"]

_ABOUT: Final = (
    "Each candidate is shown below the one that it was made from. Its points are estimated from all conversations of the search, "
    "with a 90% interval. They chose the finalist and decide nothing: the best of several is partly lucky."
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


def family(review: Review, chosen: str = "") -> Nodes:
    """Return the candidates of a search as a tree, each below the one that it was made from; nothing without a search."""
    if not review.candidates:
        return []
    by_id = {one.id: one for one in review.candidates}
    children: dict[str | None, list[Variant]] = {}
    for one in sorted(review.candidates, key=lambda one: (one.generation or 0, one.number or 0)):
        parent = None if one.is_original or one.parent_variant_id not in by_id else one.parent_variant_id
        children.setdefault(parent, []).append(one)
    found = [one.search for one in review.candidates if one.search is not None]
    axis = common_axis([end for one in found for end in (one.points, one.points_low, one.points_high)])
    members: Nodes = []
    left = [(one, 0) for one in reversed(children.get(None, []))]
    while left:
        one, depth = left.pop()
        members.append(_member(one, depth, by_id, axis, here=one.id == chosen))
        left += [(child, depth + 1) for child in reversed(children.pop(one.id, []))]
    headroom = review.optimization.headroom
    spent = _spending_in_words(review.optimization.search_plan)
    return [
        fold(
            f"The search: family tree of {counted(len(members) - 1, 'candidate')}",
            h("p.plw-soft", _ABOUT),
            spent and h("p.plw-soft", spent),
            headroom and headroom.text and h("p.plw-foreign", one_line(headroom.text, 600)),
            h("ul.plw-family", members),
        )
    ]


def _member(
    one: Variant, depth: int, by_id: dict[str, Variant], axis: tuple[float, float], *, here: bool
) -> Node:
    parents = [by_id[name] for name in (one.parent_variant_id, one.other_parent_variant_id) if name in by_id]
    own, found, words = _kept(one), one.search, _measured(one)
    mine, theirs = {edit.id for edit in own}, {edit.id for parent in parents for edit in _kept(parent)}
    changed = [("good", "+ ", edit) for edit in own if edit.id not in theirs]
    changed += [
        ("bad", "− ", edit) for parent in parents[:1] for edit in _kept(parent) if edit.id not in mine
    ]
    state = (found and found.state) or ""
    drawn = None
    if found is not None and found.points is not None:
        ends = (found.points, found.points_low, found.points_high)
        drawn = interval_bar(effect_pieces(*ends, axis=axis, interval=True), words)
    name = h(
        "button.plw-choose.plw-foreign",
        _name(one),
        action="choose",
        variant=one.id,
        aria_pressed=here,
        still="b",
    )
    return h(
        "li.plw-member",
        h(
            "div.plw-member-head",
            name,
            bool(one.generation) and h("span.plw-soft", f"generation {one.generation}"),
            one.is_winner and badge("★ winner", "good"),
            state and badge(*_STATES.get(state, (state, "plain"))),
        ),
        drawn,
        h(
            "div.plw-member-words",
            words and h("div.plw-soft", words),
            len(parents) > 1
            and h("div.plw-foreign.plw-soft", f"merge of {_name(parents[0])} and {_name(parents[1])}"),
            [
                h("div.plw-foreign", h(f"b.plw-{tone}", sign), one_line(edit.symptom, _LINE))
                for tone, sign, edit in changed
            ],
            found is not None
            and found.reason
            and h("div.plw-foreign.plw-soft", one_line(found.reason, _LINE)),
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
    shown = [_edit(one.id, edit, able=able and switches(edit), off=edit.id in switched) for edit in ordered]
    title = f"{counted(len(ordered), 'edit')}, and why they were made"
    return h("div.plw-edits", fold(title, by_hand, shown, not able and h("p.plw-soft", never)))


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
    before = "" if edit.operation == "add" else shorten(edit.anchor, _TEXT)[0]
    return h(
        f"article.plw-edit{'' if on else '.plw-off'}",
        h(
            "div.plw-edit-head",
            h("b.plw-foreign", one_line(edit.symptom, _LINE) or "No symptom was given"),
            badge(*_EDIT_STATES.get(state, (state, "plain"))),
            able and field("switched on" if on else "switched off", switch, "span.plw-switch-of"),
        ),
        edit.cause and h("p.plw-foreign", h("span.plw-soft", "Why: "), one_line(edit.cause, _LINE)),
        h(
            "div.plw-change",
            h("span.plw-soft", _OPERATIONS.get(edit.operation or "", edit.operation or "")),
            before and h("del.plw-foreign", before),
            edit.text and h("ins.plw-foreign", shorten(edit.text, _TEXT)[0]),
        ),
        [_quotation(place) for place in edit.evidence],
        h("div.plw-words", _cells_in_words(edit)),
        edit.reason and h("p.plw-foreign.plw-soft", one_line(edit.reason, _LINE)),
        key=edit.id,
        edit=edit.id,
    )


def _quotation(place: EditEvidence) -> Node:
    if place.conversation_id == DELETED:
        return h("blockquote", h("span.plw-soft", "in a conversation that was deleted"))
    return quotation(one_line(place.quote, _QUOTE), one_line(place.conversation_id or "", 80))


def _cells_in_words(edit: Edit) -> str:
    """Return how conversations with an edit ended against those without it."""
    if edit.won is None or edit.lost is None:
        return "not tested on its own"
    alike = "" if edit.tied is None else f", {edit.tied:,} tied"
    worth = "" if edit.effect is None else f"; worth {signed(edit.effect)} points over the whole search"
    if edit.effect_low is not None and edit.effect_high is not None:
        worth += f" ({signed(edit.effect_low)} to {signed(edit.effect_high)})"
    return f"with it vs. without it: {edit.won:,} won, {edit.lost:,} lost{alike}{worth}"


def _spending_in_words(plan: SearchPlan | None) -> str:
    """Return what search, confirmation and verification may spend and have spent."""
    if plan is None:
        return ""
    parts = []
    for name in ("search", "confirmation", "verification"):
        spending = getattr(plan, name)
        if spending.planned is not None:
            parts.append(f"{name} {spending.spent or 0:,} of at most {spending.planned:,}")
        elif spending.spent is not None:
            parts.append(f"{name} {spending.spent:,}")
    words = f"Conversations: {', '.join(parts)}. " if parts else ""
    return words + (f"{counted(plan.generations, 'generation')}." if plan.generations else "")


def _measured(one: Variant) -> str:
    found = one.search
    if found is None or found.points is None:
        return "" if one.is_original else "not tested by the search"
    words = f"{signed(found.points)} points over the original"
    if found.points_low is not None and found.points_high is not None:
        words += f" ({signed(found.points_low)} to {signed(found.points_high)})"
    return f"{words}, tested on {counted(found.pairs, 'cell')}"


def _kept(one: Variant) -> list[Edit]:
    return [edit for edit in one.edits or () if edit.state == "kept"]


def _name(one: Variant) -> str:
    return one_line(one.name or ("Original" if one.is_original else one.id), 120)
