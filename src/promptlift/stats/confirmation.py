"""One finalist against the original: the pairs that decide, and those that say afterwards how large the lift is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from promptlift.stats.pairs import analyse_pairs
from promptlift.stats.tally import PairTally

if TYPE_CHECKING:
    from promptlift.stats.pairs import PairAnalysis
    from promptlift.stats.verdict import Estimand

__all__ = ["Confirmation"]


@dataclass(slots=True)
class Confirmation:
    """The confirmation of one finalist.

    Attributes
    ----------
    arm
        The finalist.
    max_looks
        The most looks that the budget leaves it.
    tally
        Pairs that decide.
    trace, lift_trace
        Confidence, and lift in percent, after every pass.
    verification
        Pairs after the decision. They decide nothing, so that being lucky is no reason to be among them.
    """

    arm: int
    max_looks: int
    tally: PairTally = field(default_factory=PairTally)
    trace: list[float] = field(default_factory=list)
    lift_trace: list[float | None] = field(default_factory=list)
    verification: PairTally = field(default_factory=PairTally)

    @property
    def look(self) -> int:
        """Number of passes so far."""
        return len(self.trace)

    def analysis(self, *, estimand: Estimand, theta: float | None, prior_sd_points: float) -> PairAnalysis:
        """Analyse the pairs that decide; those of the verification enter the expected lift only."""
        verified = self.verified(estimand=estimand)
        return analyse_pairs(
            *self.tally.counts,
            look=max(self.look, 1),
            max_looks=self.max_looks,
            prior_sd_points=prior_sd_points,
            clusters=_clusters(self.tally, estimand),
            theta=theta,
            verified_points=None if verified is None else verified.lift_points,
        )

    def verified(self, *, estimand: Estimand) -> PairAnalysis | None:
        """Analyse the pairs after the decision, at one look; ``None`` while there are none."""
        if not self.verification.n:
            return None
        return analyse_pairs(*self.verification.counts, clusters=_clusters(self.verification, estimand))

    def to_state(self) -> dict[str, Any]:
        """Return the confirmation as plain JSON."""
        return {
            "arm": self.arm,
            "max_looks": self.max_looks,
            "tally": self.tally.to_state(),
            "trace": list(self.trace),
            "lift_trace": list(self.lift_trace),
            "verification": self.verification.to_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild a confirmation from `to_state`."""
        trace = list(state["trace"])
        return cls(
            state["arm"],
            state["max_looks"],
            PairTally.from_state(state["tally"]),
            trace,
            list(state["lift_trace"]),
            PairTally.from_state(state["verification"]),
        )


def _clusters(tally: PairTally, estimand: Estimand) -> Any:
    # unspecified: the diagnostic by persona in a panel. There the personas are fixed, so that what sets
    # them apart is no error of the result.
    return tally.completed_by_persona() if estimand == "population" else None
