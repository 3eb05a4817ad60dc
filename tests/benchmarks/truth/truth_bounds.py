"""The bounds of the design on optimizations against a known truth, with exact tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import usual_ways
from experiment_truth import CHEAP, EXPECTED_WITHIN, FALSE_WINNERS, POWER, SURE, at_least, at_most, mean
from scipy.stats import chisquare, t
from truth_table import CONFIDENCE_MODES, MODES, Finished, table

from benchmarks.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truth_table import Row

# With fewer values a mean says nothing yet.
FEW = 8


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
            name = f"{row.name}: false winners at most {100 * most:.0f} %"
            seen = f"{row.false} of {len(row.runs)}"
            found.append(Bound(name, seen, at_most(row.false, len(row.runs), most)))
    return [
        *found,
        *_coverage(rows),
        *_power(rows),
        *_calibration(rows),
        *_expected(rows),
        *_cost(rows),
        *_together(runs),
    ]


def _coverage(rows: Sequence[Row]) -> list[Bound]:
    """Each row's intervals; told by the row that is covered least."""
    counts = [(sum(one.covers_points for one in row.runs), row) for row in rows]
    count, worst = min(counts, key=lambda one: one[0] / len(one[1].runs))
    return [
        Bound(
            "intervals cover at least 86 %, every row",
            f"least {count} of {len(worst.runs)} ({worst.name}), together "
            f"{sum(one for one, _ in counts)} of {sum(len(row.runs) for row in rows)}",
            all(at_least(one, len(row.runs), 0.86) for one, row in counts),
        )
    ]


def _power(rows: Sequence[Row]) -> list[Bound]:
    found = []
    for row in rows:
        least = POWER.get((row.mode, row.effect))
        if least is None or row.confidence_mode != "moderate":
            continue
        three = [one for one in row.runs if one.wanted.variants == 3]
        right = sum(one.is_better(one.winner) for one in three)
        name = f"{row.name}, 3 variants: found at least {100 * least:.0f} %"
        found.append(Bound(name, f"{right} of {len(three)}", at_least(right, len(three), least)))
    return found


def _calibration(rows: Sequence[Row]) -> list[Bound]:
    """Confidence of winners, with even prior odds that there is a better variant."""
    found = []
    for mode in MODES:
        for confidence in CONFIDENCE_MODES:
            mine = [row for row in rows if (row.mode, row.confidence_mode) == (mode, confidence)]
            some = sum(len(row.runs) for row in mine if row.effect)
            none = sum(len(row.runs) for row in mine if not row.effect)
            if not some or not none:
                continue
            winners = [(1.0 if row.effect else some / none, one) for row in mine for one in row.winners]
            if not winners:
                continue
            weights = np.array([weight for weight, _ in winners])
            better = float(weights @ [not one.is_false for _, one in winners]) / weights.sum()
            said = float(weights @ [one.results["confidence"] for _, one in winners]) / weights.sum()
            n = float(weights.sum() ** 2 / (weights**2).sum())
            found.append(
                Bound(
                    f"{mode}, {confidence}: winners are truly better as often as confidence says, less 3 points",
                    f"{better:.3f}, said {said:.3f}, {len(winners)} winners",
                    at_least(round(better * n), round(n), said - 0.03),
                )
            )
    return found


def _expected(rows: Sequence[Row]) -> list[Bound]:
    """The expected lift of winners at each size of effect, and not only on average."""
    found = []
    for row in rows:
        errors = row.errors()
        if not row.effect or not errors:
            continue
        spread = float(np.std(errors, ddof=1)) / math.sqrt(len(errors)) if len(errors) > 1 else math.inf
        found.append(
            Bound(
                f"{row.name}: expected lift of winners within {EXPECTED_WITHIN} points",
                f"{mean(errors):+.2f} (standard error {spread:.2f}, {len(errors)} winners)",
                len(errors) < FEW
                or abs(mean(errors)) - EXPECTED_WITHIN <= t.isf(SURE, len(errors) - 1) * spread,
            )
        )
    return found


def _cost(rows: Sequence[Row]) -> list[Bound]:
    found = []
    for row in rows:
        if row.effect == 0.10:
            shares = row.shares_of_budget
            error = float(np.std(shares)) / math.sqrt(len(shares))
            found.append(
                Bound(
                    f"{row.name}: conversations at most {CHEAP} of a test of fixed size",
                    f"{mean(shares):.2f}",
                    len(shares) < FEW or mean(shares) - t.isf(SURE, len(shares) - 1) * error <= CHEAP,
                )
            )
    return found


def _together(runs: Sequence[Finished]) -> list[Bound]:
    """What needs many optimizations: pairing, positions, the usual way."""
    pairs = [one.results["pairs"] for one in runs]
    ratio = mean([_variance_ratio(one) for one in pairs if one["n"]])
    found = [Bound("variance unpaired over paired at least 1.16", f"{ratio:.3f}", ratio >= 1.16)]
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


def _variance_ratio(pairs: dict) -> float:
    n = pairs["n"] + 2
    m1, m0 = (pairs["n11"] + pairs["n10"] + 1) / n, (pairs["n11"] + pairs["n01"] + 1) / n
    apart = m1 * (1 - m1) + m0 * (1 - m0)
    return apart / (apart - 2 * ((pairs["n11"] + 0.5) / n - m1 * m0))


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
