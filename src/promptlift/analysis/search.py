"""What a search for better prompts found, by the conversations it had spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.analysis.reading import collect, facts_of, names_of, require, with_provenance

if TYPE_CHECKING:
    from collections.abc import Mapping

_RENAMED: Final = {
    "search_conversations": "conversations",
    "search_pairs": "n_pairs",
    "search_won": "won",
    "search_lost": "lost",
    "search_tied": "tied",
    "search_points": "points",
    "search_points_low": "points_low",
    "search_points_high": "points_high",
    "search_state": "state",
    "search_reason": "reason",
}
_NEEDED: Final = ("variant_id", "name", "generation", *_RENAMED)
_OPTIONAL: Final = ("optimization_id", "is_winner", "parent_variant_id", "other_parent_variant_id")
_COLUMNS: Final = (
    *("optimization_id", "variant_id", "name", "generation", "parent_variant_id", "other_parent_variant_id"),
    *(*_RENAMED.values(), "is_winner", "best_low", "best_high"),
)
_FACTS: Final = ("optimization_id", "prompt_id", "status", "mode", "winner_selected", "winning_variant_id")


def search(variants: Any) -> pd.DataFrame:
    """Order the candidates of a search by the conversations it had spent, with the best lower bound so far.

    What the search measures chooses the finalist and decides nothing: the best of several candidates is partly lucky, so
    the lift of the confirmation is usually smaller.

    Parameters
    ----------
    variants
        A table of ``lift.variants`` of one optimization.

    Returns
    -------
    DataFrame
        One row per candidate that was tested: ``optimization_id``, ``variant_id``, ``name``, ``generation``, ``parent_variant_id``,
        ``other_parent_variant_id`` (of a merge), ``conversations`` (spent up to its last test), ``n_pairs``, ``won``,
        ``lost``, ``tied`` (against the candidate that its generation was tested against), ``points`` of completion over the
        original, estimated from all conversations of the search, with ``points_low`` and ``points_high`` (90%), ``state``
        (``testing``, ``pool``, ``rejected``, ``finalist``), ``reason``, ``is_winner``; ``best_low``,
        the largest lower bound so far of what was not rejected, at least 0 (the original), and ``best_high``, the upper
        bound of the same candidate.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When the table has the searches of several optimizations.
    """
    require(variants, _NEEDED, of="variants")
    columns = [*_NEEDED, *(name for name in _OPTIONAL if name in names_of(variants))]
    table = collect(variants, columns).rename(columns=_RENAMED)
    table = table[table["points"].notna() & table["conversations"].notna()]
    if "optimization_id" in table and len(table["optimization_id"].unique()) > 1:
        raise ValueError(
            "These are the searches of several optimizations. Choose one: lift.variants(optimization_id)."
        )
    for name in _OPTIONAL:
        if name not in table:
            table[name] = pd.Series([None] * len(table), index=table.index, dtype="str")
    table["is_winner"] = table["is_winner"].astype("boolean").fillna(value=False)
    table["state"] = table["state"].astype("str")
    table = table.sort_values(["conversations", "generation"], kind="stable").reset_index(drop=True)
    low = table["points_low"].where(table["state"].ne("rejected") & table["points_low"].gt(0.0), 0.0)
    table["best_low"] = low.cummax()
    leads = low > table["best_low"].shift(fill_value=0.0)
    table["best_high"] = table["points_high"].clip(lower=low).fillna(low).where(leads).ffill().fillna(0.0)
    said: Mapping[str, Any] = facts_of(variants)
    return with_provenance(
        table[list(_COLUMNS)], variants, "search", **{name: said[name] for name in _FACTS if name in said}
    )
