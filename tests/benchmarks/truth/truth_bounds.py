"""What many optimizations against a known truth must show. Every decision follows from its outcomes as `promptlift.stats` decides,
whose power, coverage, cost and expected lift `experiment_truth` bounds with a hundred times as many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import usual_ways
from experiment_truth import FALSE_WINNERS, SURE, at_most
from scipy.stats import chisquare
from truth_table import Finished, table

from benchmarks.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truth_table import Row


@dataclass(frozen=True)
class Bound:
    """One bound of the design and what was seen."""

    name: str
    seen: str
    holds: bool


def bounds(rows: Sequence[Row]) -> list[Bound]:
    """Every bound of the design on these rows."""
    runs = [one for row in rows for one in row.runs]
    wrong = [one for one in runs if one.record["problems"]]
    first = f": {wrong[0].record['run']} {wrong[0].record['problems'][0]}" if wrong else ""
    found = [
        Bound("every outcome is the true one, every decision follows", f"{len(wrong)} not{first}", not wrong)
    ]
    for row in rows:
        most = FALSE_WINNERS[row.confidence_mode]
        if not row.effect:
            name = f"{row.name}: false winners at most {100 * most:.0f}%"
            seen = f"{row.false} of {len(row.runs)}"
            found.append(Bound(name, seen, at_most(row.false, len(row.runs), most)))
    return [*found, *_together(runs)]


def _together(runs: Sequence[Finished]) -> list[Bound]:
    """What needs many optimizations: positions, the usual way."""
    found = []
    alike = [one for one in runs if not one.wanted.effect]
    for variants in (2, 3, 4, 5):
        finalists = [one.record["finalist"] for one in alike if one.wanted.variants == variants]
        if len(finalists) >= 5 * variants:
            seen = [finalists.count(arm) for arm in range(1, variants + 1)]
            name = f"no position of {variants} is favoured"
            found.append(Bound(name, str(seen), chisquare(seen).pvalue > SURE))
    if len(alike) >= 20:
        named = sum(usual_ways.highest_mean(one.deciding_passes) is not None for one in alike)
        found.append(
            Bound(
                "highest mean names a winner in over half of A/A",
                f"{named} of {len(alike)}",
                named > len(alike) / 2,
            )
        )
    return found


def report(rows: Sequence[Row]) -> str:
    """Everything as Markdown."""
    held = bounds(rows)
    broken = [one for one in held if not one.holds]
    lines = [("holds" if one.holds else "**broken**", one.name, one.seen) for one in [*broken, *held]]
    return "\n\n".join(
        [
            table(rows),
            "\n".join(markdown(("", "bound", "seen"), dict.fromkeys(lines))),
            f"{len(held) - len(broken)} of {len(held)} bounds hold.",
        ]
    )
