"""The table of the edits written by searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.frames.columns import read_table
from promptlift.frames.layouts import EDITS
from promptlift.frames.variants import any_rehearsal, facts_of, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

Row = dict[str, Any]


def edits_table(items: Sequence[Row]) -> tuple[pd.DataFrame, dict[str, int], Row]:
    """Make the table of edits, one row each, in the order in which they were written.

    Parameters
    ----------
    items
        One per optimization: ``id``, ``optimization`` and ``variants`` as received from the service. Variants
        without a search have no edits.

    Returns
    -------
    tuple
        The table; counts of unusable values by column; whether it comes from a rehearsal.
    """
    names = [column.name for column in EDITS if not column.path]
    computed: dict[str, list[Any]] = {name: [] for name in names}
    rows: list[Row] = []
    for item in items:
        for edit, having in _edits_of(item["variants"]):
            rows.append(edit)
            values = {"optimization_id": item["id"], **_where(edit, having), **_evidence(edit)}
            for name in names:
                computed[name].append(values[name])
    facts = {item["id"]: facts_of(item["optimization"]) for item in items if "optimization" in item}
    return *read_table(EDITS, rows, **computed), {"rehearsal": any_rehearsal(facts)}


def _edits_of(variants: Sequence[Row]) -> Iterator[tuple[Row, list[Row]]]:
    """Yield each edit with the variants that list it, the oldest first.

    The outcome of an edit is taken from the winner, or else the finalist, or else the newest variant that
    lists it.
    """
    found: dict[Any, list[tuple[Row, Row]]] = {}
    for variant in sorted(variants, key=_age):
        for edit in _objects(variant.get("edits")):
            found.setdefault(edit.get("id"), []).append((edit, variant))
    for listed in found.values():
        edit, _ = max(enumerate(listed), key=lambda one: (_weight(one[1][1]), one[0]))[1]
        yield edit, [variant for _, variant in listed]


def _weight(variant: Row) -> int:
    return 2 * (variant.get("isWinner") is True) + int(value_at(variant, "search.state") == "finalist")


def _where(edit: Row, having: Sequence[Row]) -> Row:
    """Return which variants have an edit; a variant also lists edits left out of it."""
    identifier = edit.get("id")
    made = [
        one
        for one in having
        if next(own for own in _objects(one.get("edits")) if own.get("id") == identifier).get("state")
        == "kept"
    ]
    first = (made or having)[0]
    return {
        "variant_id": first.get("id"),
        "variant": first.get("name"),
        "generation": first.get("generation"),
        "variant_ids": [str(one.get("id")) for one in made],
        "in_winner": any(one.get("isWinner") is True for one in made),
    }


def _evidence(edit: Row) -> Row:
    places = _objects(edit.get("evidence"))
    return {
        "n_evidence": len(places),
        "conversation_ids": [str(one.get("conversationId") or "") for one in places],
        "quotes": [str(one.get("quote") or "") for one in places],
    }


def _objects(value: Any) -> list[Row]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _age(variant: Row) -> tuple[float, float]:
    generation, number = variant.get("generation"), variant.get("number")
    known = [float(one) if isinstance(one, int) else float("inf") for one in (generation, number)]
    return known[0], known[1]
