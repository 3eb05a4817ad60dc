"""What many optimizations against a known truth say: one row a kind, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import usual_ways
from experiment_truth import mean, shown
from optimization_runs import Wanted

from benchmarks.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

EFFECTS = (0.0, 0.05, 0.10, 0.20)
MODES = ("exploratory", "validation")
CONFIDENCE_MODES = ("low", "moderate", "high")


@dataclass(frozen=True)
class Finished:
    """One optimization and its truth.

    Attributes
    ----------
    record
        As `optimization_runs` gives it.
    """

    record: dict

    @cached_property
    def wanted(self) -> Wanted:
        names = ("run", "effect", "variants", "mode", "confidence_mode")
        return Wanted(**{name: self.record[name] for name in names})

    def rate(self, arm: int) -> float:
        """True completion rate of an arm."""
        return self.wanted.case.of_arm(arm).rate

    def is_better(self, arm: int | None) -> bool:
        """Whether an arm is truly better than the original."""
        return arm is not None and arm == self.wanted.case.better_arm

    @cached_property
    def deciding_passes(self) -> list[dict]:
        """The passes until the decision."""
        return [one for one in self.record["passes"] if one["stage"] != "verify"]

    @cached_property
    def conversations(self) -> int:
        """Conversations until the decision."""
        verified = [one for one in self.record["passes"] if one["stage"] == "verify"]
        return self.record["conversations"] - sum(len(one["arms"]) * len(one["cells"]) for one in verified)

    @property
    def winner(self) -> int | None:
        return self.record["winner"]

    @property
    def is_false(self) -> bool:
        """Whether it has a winner that is not truly better."""
        return self.winner is not None and not self.is_better(self.winner)

    @property
    def results(self) -> dict:
        return self.record["results"]

    @property
    def true_points(self) -> float:
        """Of the finalist."""
        return 100 * (self.rate(self.record["finalist"]) - self.rate(0))

    @property
    def covers_points(self) -> bool:
        return self.results["liftPointsLow"] <= self.true_points <= self.results["liftPointsHigh"]


@dataclass(frozen=True)
class Row:
    """Optimizations of one effect, mode and confidence mode."""

    effect: float
    mode: str
    confidence_mode: str
    runs: tuple[Finished, ...]

    @property
    def name(self) -> str:
        effect = f"+{100 * self.effect:.0f}" if self.effect else "A/A"
        return f"{effect}, {self.mode}, {self.confidence_mode}"

    @property
    def false(self) -> int:
        return sum(one.is_false for one in self.runs)

    @property
    def right(self) -> int:
        return sum(one.is_better(one.winner) for one in self.runs)

    @cached_property
    def usual(self) -> dict[str, tuple[int, int]]:
        """False and right winners of the usual ways."""
        picked = {
            "highest mean": [usual_ways.highest_mean(one.deciding_passes) for one in self.runs],
            "z": [usual_ways.z_test_with_peeking(one.deciding_passes) for one in self.runs],
        }
        return {
            way: (
                sum(
                    arm is not None and not one.is_better(arm)
                    for arm, one in zip(arms, self.runs, strict=True)
                ),
                sum(one.is_better(arm) for arm, one in zip(arms, self.runs, strict=True)),
            )
            for way, arms in picked.items()
        }

    @property
    def conversations(self) -> float:
        return mean([one.conversations for one in self.runs])


def rows_of(records: Iterable[dict]) -> list[Row]:
    """Sort records into rows."""
    found: dict[tuple, list[Finished]] = {}
    for record in sorted(records, key=lambda one: one["run"]):
        key = (record["effect"], record["mode"], record["confidence_mode"])
        found.setdefault(key, []).append(Finished(record))
    return [
        Row(*key, tuple(found[key]))
        for mode in MODES
        for effect in sorted({effect for effect, _, _ in found})
        for confidence in CONFIDENCE_MODES
        if (key := (effect, mode, confidence)) in found
    ]


def table(rows: Sequence[Row]) -> str:
    """Every row as Markdown."""
    head = (
        "truth, mode, confidence",
        "runs",
        "false winner %",
        "right winner %",
        "highest mean false / right %",
        "z with peeking false / right %",
        "conversations",
        "coverage of the 90% interval",
    )
    lines = []
    for row in rows:
        n = len(row.runs)

        def both(way: str, row: Row = row, n: int = n) -> str:
            false, right = row.usual[way]
            return f"{100 * false / n:.0f} / {100 * right / n:.0f}"

        lines.append(
            (
                row.name,
                str(n),
                shown(100 * row.false / n),
                shown(100 * row.right / n),
                both("highest mean"),
                both("z"),
                shown(row.conversations, 0),
                f"{100 * mean([one.covers_points for one in row.runs]):.0f}",
            )
        )
    return "\n".join(markdown(head, lines))
