"""What stands in words beside the lifts of variants: title, numbers of a row, axis, and the notes under them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

__all__ = ["axis_of", "notes_under", "numbers_of", "title_of"]

_NO_SIZE: Final = "Hollow: interval unavailable: the service reports no sample size."
_NO_INTERVAL: Final = "Hollow: interval unavailable: the service sends none."


def numbers_of(row: Mapping[Hashable, Any]) -> str:
    """What stands at the right of a row: lift, interval, how many, how sure."""
    points = row["lift_basis"] == "points_completion"
    unit = "points" if points else "%"
    parts = ["no lift" if pd.isna(row["lift"]) else f"{row['lift']:+.1f} {unit}"]
    if row["uncertainty_source"] == "service" and not pd.isna(row["lift"]):
        ends = [
            "not bounded" if pd.isna(row[f"lift_{end}"]) else f"{row[f'lift_{end}']:+.1f}"
            for end in ("low", "high")
        ]
        parts[0] += " (not bounded)" if ends[0] == ends[1] == "not bounded" else f" ({ends[0]} to {ends[1]})"
    if not pd.isna(row["lift_expected"]):
        parts.append(f"expect {row['lift_expected']:+.1f}")
    if not pd.isna(row["n_pairs"]):
        parts.append(f"{row['n_pairs']:,} pairs")
    elif not pd.isna(row["n"]):
        parts.append(f"n = {row['n']:,}")
    else:
        parts.append("sample size not given")
    if row["equivalence"] in ("equivalent", "better", "worse"):
        words = {
            "equivalent": "no practical difference",
            "better": "above the band",
            "worse": "below the band",
        }
        parts.append(words[row["equivalence"]])
    return " · ".join(parts)


def axis_of(shown: pd.DataFrame) -> str:
    """Name x: what the lift is, and the level of the intervals."""
    bases = set(shown["lift_basis"].dropna())
    levels = shown.loc[shown["uncertainty_source"].eq("service"), "interval_level"].dropna().unique()
    interval = f" ({100 * float(levels[0]):.4g} % interval)" if len(levels) == 1 else ""
    if bases == {"points_completion"}:
        return f"Lift in percentage points of task completion{interval}"
    return f"Lift in percent of the original's task completion{interval}"


def title_of(table: pd.DataFrame, facts: dict[str, Any]) -> str:
    """Say how sure the service is, in its own number."""
    if facts["n_optimizations"] > 1:
        return f"{facts['n_optimizations']} optimizations"
    parts = []
    if facts.get("status") not in (None, "completed"):
        parts.append(str(facts["status"]))
    elif not table["is_winner"].any() and len(table) and facts.get("winner_selected") is False:
        parts.append("no winner")
    confidence = facts.get("confidence")
    if confidence is None:
        winners = table.loc[table["is_winner"].astype(bool), "confidence"].dropna()
        confidence = float(winners.iloc[0]) if len(winners) else None
    parts.append("confidence not given" if confidence is None else f"confidence {confidence:.2f} as reported")
    return " · ".join(parts)


def notes_under(shown: pd.DataFrame, facts: dict[str, Any], band: float | None) -> list[str]:
    """Sentences under the picture: how to read it, and what cannot be known."""
    notes = [*_how_to_read(shown, band), *_what_is_odd(shown)]
    if facts.get("estimand") == "panel":
        notes.append("Holds for the chosen personas, not for users in general.")
    dropped = int(shown["n_dropped"].fillna(0).max()) if len(shown) else 0
    if dropped:
        notes.append(f"Up to {dropped:,} pairs a variant were lost to errors and do not count.")
    return notes


def _how_to_read(shown: pd.DataFrame, band: float | None) -> list[str]:
    notes = []
    hollow = shown[~shown["uncertainty_source"].eq("service") & shown["lift"].notna()]
    if len(hollow):
        sized = hollow[["n", "n_pairs"]].notna().any(axis=None)
        notes.append(_NO_INTERVAL if sized else _NO_SIZE)
    if shown["lift_expected"].notna().any():
        notes.append("Diamond: the lift to expect, drawn toward 0 by as much as it is uncertain.")
    elif shown["is_winner"].any() and shown["n_variants_tested"].max() > 1:
        tested = shown["n_variants_tested"].max()
        notes.append(f"The winner is the best of {tested} variants: expect less than its lift.")
    if shown[["low_unbounded", "high_unbounded"]].any(axis=None):
        notes.append("Arrow: the interval has no end there.")
    if band is not None:
        notes.append(f"Grey band: a lift within ±{band:g} % makes no practical difference.")
    return notes


def _what_is_odd(shown: pd.DataFrame) -> list[str]:
    notes = []
    if shown["lift_basis"].eq("points_completion").any():
        notes.append("The service gives this lift in percentage points, as its task completion rates show.")
    if shown["warnings"].str.contains("do not reproduce", regex=False).any():
        notes.append("Some lifts are not what the given task completion rates say; see the column warnings.")
    elif shown["warnings"].ne("").any():
        notes.append("Some variants carry warnings; see the column warnings.")
    return notes
