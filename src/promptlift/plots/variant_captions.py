"""The words on a plot of lifts: title, axis label, numbers of a row, and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.frames.headline import TESTED_LIFT
from promptlift.frames.variants import NO_SAMPLE_SIZE
from promptlift.plots import theme

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

__all__ = ["axis_label", "notes", "row_numbers", "title"]

_BANDS: Final = {
    "equivalent": "no practical difference",
    "better": "above the band",
    "worse": "below the band",
}
_NO_SIZE: Final = "Hollow: interval unavailable, because the service reports no sample size."
_NO_INTERVAL: Final = "Hollow: the service reports no interval."


def row_numbers(row: Mapping[Hashable, Any], room: float) -> str:
    """Return the numbers at the right of a row, as many as fit into so many points: lift and interval, the other lifts, sample size."""
    points = row["lift_basis"] == "points_completion"
    unit = " points" if points else "%"
    parts = ["no lift" if pd.isna(row["lift"]) else f"{row['lift']:+.1f}{unit}"]
    if row["uncertainty_source"] == "service" and not pd.isna(row["lift"]):
        ends = [
            "no bound" if pd.isna(row[f"lift_{end}"]) else f"{row[f'lift_{end}']:+.1f}"
            for end in ("low", "high")
        ]
        parts[0] += " (no bounds)" if ends[0] == ends[1] == "no bound" else f" ({ends[0]} to {ends[1]})"
    if not pd.isna(row[TESTED_LIFT["lift"]]):
        parts.append(f"tested mix {row[TESTED_LIFT['lift']]:+.1f}")
    if not pd.isna(row["lift_verified"]):
        parts.append(f"verified {row['lift_verified']:+.1f}")
    if not pd.isna(row["lift_expected"]):
        parts.append(f"expected {row['lift_expected']:+.1f}")
    if not pd.isna(row["n_pairs"]):
        parts.append(f"{row['n_pairs']:,} pairs")
    elif not pd.isna(row["n"]):
        parts.append(f"n = {row['n']:,}")
    else:
        parts.append("sample size not reported")
    if row["equivalence"] in _BANDS:
        parts.append(_BANDS[row["equivalence"]])
    while len(parts) > 1 and theme.points_wide(" · ".join(parts), theme.NUMBERS) > room:
        del parts[1]
    return " · ".join(parts).replace("-", "−")


def axis_label(shown: pd.DataFrame) -> str:
    """Return the label of x: the unit of the lift and the level of the intervals."""
    bases = set(shown["lift_basis"].dropna())
    levels = shown.loc[shown["uncertainty_source"].eq("service"), "interval_level"].dropna().unique()
    interval = theme.at_level(float(levels[0]) if len(levels) == 1 else None)
    if bases == {"points_completion"}:
        return f"Lift in percentage points of task completion{interval}"
    mix = ", logged mix" if len(shown) and shown[TESTED_LIFT["lift"]].notna().all() else ""
    return f"Lift in percent of the original's task completion{mix}{interval}"


def title(table: pd.DataFrame, facts: dict[str, Any]) -> str:
    """Return the title: the confidence that the service reports."""
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
    parts.append("confidence not reported" if confidence is None else f"confidence {confidence:.2f}")
    return " · ".join(parts)


def notes(shown: pd.DataFrame, facts: dict[str, Any], band: float | None) -> list[str]:
    """Return the notes under the plot: how to read it, and what is unknown."""
    sentences = [*_how_to_read(shown, band, rehearsal=bool(facts.get("rehearsal"))), *_caveats(shown)]
    if facts.get("estimand") == "panel":
        sentences.append("Valid for the chosen personas, not for users in general.")
    dropped = int(shown["n_dropped"].fillna(0).max()) if len(shown) else 0
    if dropped:
        sentences.append(f"Up to {dropped:,} pairs per variant were lost to errors and are not counted.")
    return sentences


def _how_to_read(shown: pd.DataFrame, band: float | None, *, rehearsal: bool) -> list[str]:
    sentences = []
    hollow = shown[~shown["uncertainty_source"].eq("service") & shown["lift"].notna()]
    if len(hollow):
        sized = hollow[["n", "n_pairs"]].notna().any(axis=None)
        sentences.append(_NO_INTERVAL if sized else _NO_SIZE)
    if shown[TESTED_LIFT["lift"]].notna().any():
        sentences.append(_logged_mix(shown))
    if shown["lift_verified"].notna().any():
        sentences.append(
            "Diamond: expected lift; a winner's is mostly the verified one, on new pairs after the decision."
        )
    elif shown["lift_expected"].notna().any():
        sentences.append("Diamond: expected lift, shrunk toward 0 in proportion to its uncertainty.")
    elif shown["is_winner"].any() and shown["n_variants_tested"].max() > 1 and not rehearsal:
        tested = shown["n_variants_tested"].max()
        sentences.append(
            f"The winner is the best of {tested} variants, so expect a smaller lift in production."
        )
    if shown[["low_unbounded", "high_unbounded"]].any(axis=None):
        sentences.append("Arrow: the interval has no bound on that side.")
    if band is not None:
        sentences.append(f"Grey band: lifts within ±{band:g}% make no practical difference.")
    return sentences


def _logged_mix(shown: pd.DataFrame) -> str:
    """Return what the two mixes are, with the shares of failed conversations of the first row that has both."""
    row = shown[shown[TESTED_LIFT["lift"]].notna()].iloc[0]
    words = "Dot: lift on the mix of the logged conversations, not on the tested mix"
    tested, logged = row["failed_share_tested"], row["failed_share_logged"]
    if pd.isna(tested) or pd.isna(logged):
        return f"{words}."
    return f"{words}: {logged:.0%} of those had failed, {tested:.0%} of the tested ones."


def _caveats(shown: pd.DataFrame) -> list[str]:
    sentences = []
    if shown["lift_basis"].eq("points_completion").any():
        sentences.append(
            "This lift is in percentage points, according to the reported task completion rates."
        )
    if shown["warnings"].str.contains("do not reproduce", regex=False).any():
        sentences.append(
            "Some lifts do not match the reported task completion rates; see the column warnings."
        )
    # The missing sample size is said by the note about hollow dots.
    elif shown["warnings"].str.replace(NO_SAMPLE_SIZE, "", regex=False).str.strip().ne("").any():
        sentences.append("Some variants have warnings; see the column warnings.")
    return sentences
