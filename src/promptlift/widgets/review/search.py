"""What a review shows of a search: where each candidate comes from, and its edits with their reasons and evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.schema.inert import one_line
from promptlift.schema.search import DELETED, assembled
from promptlift.widgets.interval_bars import Piece, common_axis, effect_pieces
from promptlift.words.figures import signed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from promptlift.display.static_html import Tone
    from promptlift.schema.optimizations import Optimization, Variant
    from promptlift.schema.search import Edit, Spending

__all__ = [
    "SEARCH_ABOUT",
    "UNTESTED",
    "EditShown",
    "Member",
    "cells_in_words",
    "edits_shown",
    "family",
    "has_search",
    "made_by_hand",
    "spending_in_words",
    "switched_edits",
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


@dataclass(frozen=True, slots=True)
class Member:
    """One candidate in the family tree.

    Attributes
    ----------
    depth
        Steps from the original.
    from_words
        Its parents, where it has two.
    measured
        What the search measured of it, in words.
    news
        Symptoms of the edits that its parents do not have.
    gone
        Symptoms of the edits of its first parent that it does not have.
    """

    id: str
    name: str
    depth: int
    generation: str
    from_words: str
    badges: tuple[tuple[str, Tone], ...]
    measured: str
    pieces: tuple[Piece, ...]
    news: tuple[str, ...]
    gone: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class EditShown:
    """One edit of a candidate.

    Attributes
    ----------
    before, after
        The text that goes and the text that comes.
    evidence
        A conversation and the words in it, for each place.
    measured
        Cells with it against without it, in words.
    switch
        Whether it can be switched on and off.
    on
        Whether the candidate's own text has it.
    """

    id: str
    symptom: str
    cause: str
    operation: str
    before: str
    after: str
    evidence: tuple[tuple[str, str], ...]
    measured: str
    badge: tuple[str, Tone]
    reason: str
    switch: bool
    on: bool


def has_search(candidates: Sequence[Variant]) -> bool:
    """Return whether candidates come from a search."""
    return any(one.search is not None or one.edits for one in candidates)


def family(candidates: Sequence[Variant]) -> list[Member]:
    """Return the candidates as a tree, each below the one that it was made from, the original first."""
    by_id = {one.id: one for one in candidates}
    children: dict[str | None, list[Variant]] = {}
    for one in sorted(candidates, key=lambda one: (one.generation or 0, one.number or 0)):
        parent = None if one.is_original or one.parent_variant_id not in by_id else one.parent_variant_id
        children.setdefault(parent, []).append(one)
    values = [
        end
        for one in candidates
        if one.search is not None
        for end in (one.search.points, one.search.points_low, one.search.points_high)
    ]
    axis = common_axis(values)
    found: list[Member] = []
    left = [(one, 0) for one in reversed(children.get(None, []))]
    seen: set[str] = set()
    while left:
        one, depth = left.pop()
        if one.id in seen:
            continue
        seen.add(one.id)
        found.append(_member(one, depth, by_id, axis))
        left += [(child, depth + 1) for child in reversed(children.get(one.id, []))]
    return found


def _member(one: Variant, depth: int, by_id: dict[str, Variant], axis: tuple[float, float]) -> Member:
    parents = [by_id[name] for name in (one.parent_variant_id, one.other_parent_variant_id) if name in by_id]
    own, theirs = _kept(one), {edit.id for parent in parents for edit in _kept(parent)}
    first = _kept(parents[0]) if parents else []
    badges = [_STATES.get(one.search.state or "", (one.search.state or "", "plain"))] if one.search else []
    if one.is_winner:
        badges.insert(0, ("★ winner", "good"))
    found = one.search
    known = found is not None and found.points is not None
    return Member(
        id=one.id,
        name=_name(one),
        depth=depth,
        generation="" if not one.generation else f"generation {one.generation}",
        from_words="" if len(parents) < 2 else f"merge of {_name(parents[0])} and {_name(parents[1])}",
        badges=tuple((words, tone) for words, tone in badges if words),
        measured=_measured(one),
        pieces=tuple(
            effect_pieces(found.points, found.points_low, found.points_high, axis=axis, interval=True)
            if found is not None and known
            else []
        ),
        news=tuple(_line(edit.symptom) for edit in own if edit.id not in theirs),
        gone=tuple(_line(edit.symptom) for edit in first if edit.id not in {mine.id for mine in own}),
        reason=_line((found.reason if found else None) or ""),
    )


def edits_shown(one: Variant, original: str) -> list[EditShown]:
    """Return the edits of a candidate: those of its text, then those that were left out or refused.

    Edits can be switched where putting the whole set into the original gives the candidate's text to the character.
    """
    kept = _kept(one)
    can_switch = bool(kept) and assembled(original, kept) == (one.content or "")
    ordered = [*kept, *(edit for edit in one.edits or () if edit.state != "kept")]
    return [_edit_shown(edit, can_switch=can_switch) for edit in ordered]


def _edit_shown(edit: Edit, *, can_switch: bool) -> EditShown:
    state = edit.state or ""
    return EditShown(
        id=edit.id,
        symptom=_line(edit.symptom) or "No symptom was given",
        cause=_line(edit.cause),
        operation=_OPERATIONS.get(edit.operation or "", edit.operation or ""),
        before="" if edit.operation == "add" else edit.anchor[:_TEXT],
        after=edit.text[:_TEXT],
        evidence=tuple(
            ("in a conversation that was deleted", "")
            if place.conversation_id == DELETED
            else (one_line(place.conversation_id or "", 80), _line(place.quote, _QUOTE))
            for place in edit.evidence
        ),
        measured=cells_in_words(edit),
        badge=_EDIT_STATES.get(state, (state, "plain")),
        reason=_line(edit.reason or ""),
        switch=can_switch and state in ("kept", "pruned"),
        on=state == "kept",
    )


def switched_edits(one: Variant, switched: Collection[str]) -> list[Edit]:
    """Return the edits of a candidate's text after some were switched, in the order in which they were written."""
    return [
        edit
        for edit in one.edits or ()
        if edit.state in ("kept", "pruned") and (edit.state == "kept") != (edit.id in switched)
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
            ("search", plan.search), ("confirmation", plan.confirmation), ("verification", plan.verification),
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
