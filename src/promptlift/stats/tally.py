"""Running counts of one variant against the original: small, exact, and plain enough for JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from promptlift.stats.effect import CompletedInCluster
from promptlift.stats.evidence import check_counts

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Measured", "PairTally"]


class Measured(NamedTuple):
    """The outcome of one simulated conversation; ``completed`` is ``None`` after an infrastructure error.

    Attributes
    ----------
    goal
        How far it met what its owner wants, 0 to 1; ``None`` without a goal.
    """

    completed: bool | None
    sentiment: float | None = None
    quality: float | None = None
    goal: float | None = None


@dataclass(slots=True)
class _MetricSums:
    """A second metric over the pairs in which both arms have it."""

    n: int = 0
    variant: float = 0.0
    original: float = 0.0

    def means(self) -> tuple[float | None, float | None]:
        if not self.n:
            return None, None
        return self.variant / self.n, self.original / self.n


@dataclass(slots=True)
class PairTally:
    """Counts of one variant against the original in one stage.

    Attributes
    ----------
    n11, n10, n01, n00
        Pairs in which both, only the variant, only the original, neither completed the task.
    dropped_variant, dropped_original, dropped_both
        Pairs lost to an infrastructure error of the variant's side only, the original's only, both.
    sentiment, quality, goal
        Sums of the second metrics.
    personas
        By persona: pairs, completed by variant, by original; pairs and sum of differences of sentiment; the
        same of quality.
    """

    n11: int = 0
    n10: int = 0
    n01: int = 0
    n00: int = 0
    dropped_variant: int = 0
    dropped_original: int = 0
    dropped_both: int = 0
    sentiment: _MetricSums = field(default_factory=_MetricSums)
    quality: _MetricSums = field(default_factory=_MetricSums)
    goal: _MetricSums = field(default_factory=_MetricSums)
    personas: dict[int | str, list[float]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Pairs that count."""
        return self.n11 + self.n10 + self.n01 + self.n00

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The pair table, in the order of `analyse_pairs`."""
        return self.n11, self.n10, self.n01, self.n00

    @property
    def dropped(self) -> int:
        """Pairs lost to infrastructure errors."""
        return self.dropped_variant + self.dropped_original + self.dropped_both

    @property
    def mean_difference(self) -> float:
        """Paired difference of completion, a fraction; minus infinity without pairs, so that it ranks last."""
        n = self.n
        return (self.n10 - self.n01) / n if n else -math.inf

    @property
    def goal_difference(self) -> float | None:
        """Paired difference of the goal, a fraction; ``None`` without a goal."""
        variant, original = self.goal.means()
        return None if variant is None or original is None else variant - original

    @property
    def merit(self) -> float:
        """What finalists are chosen by: the difference of the goal, of completion without one."""
        goal = self.goal_difference
        return self.mean_difference if goal is None else goal

    def add(self, persona: int | str, variant: Measured, original: Measured) -> None:
        """Count one pair."""
        won, lost = variant.completed, original.completed
        if won is None or lost is None:
            self._drop(variant_lost=won is None, original_lost=lost is None)
            return
        if won:
            if lost:
                self.n11 += 1
            else:
                self.n10 += 1
        elif lost:
            self.n01 += 1
        else:
            self.n00 += 1
        if variant.goal is not None and original.goal is not None:
            self.goal.n += 1
            self.goal.variant += variant.goal
            self.goal.original += original.goal
        sums = self.personas.get(persona)
        if sums is None:
            sums = self.personas[persona] = [0, 0, 0, 0, 0.0, 0, 0.0]
        sums[0] += 1
        sums[1] += won
        sums[2] += lost
        if variant.sentiment is not None and original.sentiment is not None:
            _add_metric(self.sentiment, sums, 3, variant.sentiment, original.sentiment)
        if variant.quality is not None and original.quality is not None:
            _add_metric(self.quality, sums, 5, variant.quality, original.quality)

    def _drop(self, *, variant_lost: bool, original_lost: bool) -> None:
        if variant_lost and original_lost:
            self.dropped_both += 1
        elif variant_lost:
            self.dropped_variant += 1
        else:
            self.dropped_original += 1

    def completed_by_persona(self) -> Iterator[CompletedInCluster]:
        """Return pairs and completions of each persona, for the clustered covariance."""
        return (CompletedInCluster(int(s[0]), int(s[1]), int(s[2])) for s in self.personas.values())

    def differences_by_persona(self, metric: str) -> Iterator[tuple[int, float]]:
        """Return pairs and summed differences of ``sentiment`` or ``quality`` of each persona."""
        at = {"sentiment": 3, "quality": 5}[metric]
        return ((int(s[at]), s[at + 1]) for s in self.personas.values())

    def to_state(self) -> dict[str, Any]:
        """Return the tally as plain JSON."""
        return {
            "pairs": list(self.counts),
            "dropped": [self.dropped_variant, self.dropped_original, self.dropped_both],
            "sentiment": [self.sentiment.n, self.sentiment.variant, self.sentiment.original],
            "quality": [self.quality.n, self.quality.variant, self.quality.original],
            # A list and not an object: JSON would turn persona numbers into text.
            "personas": [[persona, *sums] for persona, sums in self.personas.items()],
            **({"goal": [self.goal.n, self.goal.variant, self.goal.original]} if self.goal.n else {}),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> PairTally:
        """Rebuild a tally from `to_state`."""
        n11, n10, n01, n00 = state["pairs"]
        variant, original, both = state["dropped"]
        check_counts(
            n11=n11,
            n10=n10,
            n01=n01,
            n00=n00,
            dropped_variant=variant,
            dropped_original=original,
            dropped_both=both,
        )
        return cls(
            n11,
            n10,
            n01,
            n00,
            variant,
            original,
            both,
            _MetricSums(*state["sentiment"]),
            _MetricSums(*state["quality"]),
            _MetricSums(*state.get("goal", ())),
            {persona: list(sums) for persona, *sums in state["personas"]},
        )


def _add_metric(sums: _MetricSums, persona: list[float], at: int, variant: float, original: float) -> None:
    sums.n += 1
    sums.variant += variant
    sums.original += original
    persona[at] += 1
    persona[at + 1] += variant - original
