"""Experiments in their API form, with what was measured.

Everything is counted by unit, with the mean of its conversations. Completion rests on one basis, that of most
verdicts; labels that were drawn at random correct it, for the conversations until the newest labelled one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import numpy as np

from promptlift.schema.basis import BASES, LABELS_OF_A_PROOF, may_tell
from promptlift.schema.experiments import (
    LiveArm,
    LiveDifference,
    LiveDifferenceUntil,
    LiveExperiment,
    LiveGuardrail,
    LiveRate,
    UnitShares,
)
from promptlift.service import clock
from promptlift.service.store import experiments
from promptlift.stats import live
from promptlift.stats.deployment import FailureCounts
from promptlift.stats.intervals import wilson
from promptlift.stats.production import METRICS
from promptlift.words.sentences import side_by_side

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from promptlift.service.store.tables.prompts import ExperimentRow, KeptExperiment
    from promptlift.stats.production import MetricName

    Numbers = NDArray[np.float64]

D = TypeVar("D", bound=LiveDifference)

_LEVEL: Final = 0.95
# Points of the picture over time.
_TIMES: Final = 40
_SHARES: Final = ("task_completion", "abandonment")
_AS_LOGGED: Final[tuple[MetricName, ...]] = ("sentiment", "quality", "abandonment", "response_time", "length")


class AssignedConversations:
    """The conversations of an experiment as columns, oldest first.

    In a ramp the shares of the arms change, and each of its periods has units of its own.

    Parameters
    ----------
    kept
        The arms of the experiment.
    known
        Its conversations.
    """

    def __init__(self, kept: KeptExperiment, known: experiments.Assigned) -> None:
        self._arms = kept.arms
        self.arm = np.array(known.arm, np.int64)
        self.started_at = np.array(known.started_at, np.int64)
        begun = [clock.from_datetime(step.since) for step in kept.ramp or []]
        period = np.searchsorted(begun[1:], self.started_at, side="right")
        self._last = max(0, len(begun) - 1)
        # A cell has the conversations of one unit in one arm and period, which count once. Units are hexadecimal.
        hashed = np.array([int(unit, 16) for unit in known.unit], np.uint64)
        _, unit = np.unique(hashed, return_inverse=True)
        places = (len(self._arms), self._last + 1)
        cells, self._cell = np.unique(
            np.ravel_multi_index((self.arm, period), places) + unit * np.prod(places), return_inverse=True
        )
        self._cells = np.array(np.unravel_index(cells % np.prod(places), places))
        arms_of_units = np.unique(unit * len(self._arms) + self.arm) % len(self._arms)
        self.units = np.bincount(arms_of_units, minlength=len(self._arms)).tolist()
        self._bases = np.array([one or "" for one in known.basis], np.str_)
        self._judged = np.array(known.task_completed, np.float64)
        counts = {one: np.count_nonzero(~np.isnan(self.completed(one))) for one in BASES}
        self.bases = [basis for basis in BASES if counts[basis]]
        self.judged_by: str | None = max(self.bases, key=lambda basis: counts[basis], default=None)
        self.basis, completed = self.judged_by, self.completed(self.judged_by)
        labels = np.array(known.label, np.float64)
        self.labelled = ~np.isnan(labels)
        if self.labelled.sum() >= LABELS_OF_A_PROOF:
            self.basis = "label"
            completed = live.label_corrected(completed, labels, np.array(known.chance, np.float64))
            completed[np.flatnonzero(self.labelled)[-1] + 1 :] = np.nan
        self.metrics: dict[MetricName, Numbers] = {
            "task_completion": completed,
            **{name: np.array(getattr(known, name), np.float64) for name in _AS_LOGGED},
        }

    @classmethod
    def of(cls, connection: Connection, row: ExperimentRow) -> Self:
        """Read the conversations of an experiment until now."""
        return cls(row.kept, experiments.conversations(connection, row))

    @property
    def tells(self) -> bool:
        """Whether completion may be compared."""
        return self.basis is not None and may_tell(self.basis)

    @property
    def sample_ratio(self) -> UnitShares:
        """Whether units fall into the arms by their weights, in the last period."""
        arm, period = self._cells
        observed = np.bincount(arm[period == self._last], minlength=len(self._arms)).tolist()
        weights = [one.weight for one in self._arms]
        return UnitShares(
            expected=[sum(observed) * weight for weight in weights],
            observed=observed,
            **live.sample_ratio(observed, weights)._asdict(),
        )

    def completed(self, basis: str | None) -> Numbers:
        """Return completion by verdicts of one basis, NaN without one."""
        return np.where(self._bases == basis, self._judged, np.nan)

    def failures(self, arm: int) -> FailureCounts:
        """Count the failed conversations of the current version and of an arm, and all of them with a verdict."""
        completed, counts = self.completed(self.judged_by), []
        for mine in (completed[self.arm == 0], completed[self.arm == arm]):
            counts += [int((mine == 0.0).sum()), int((~np.isnan(mine)).sum())]
        return FailureCounts(*counts)

    def _means(self, values: Numbers) -> Numbers:
        """Return the mean of each cell of the first conversations, NaN without a value."""
        known = ~np.isnan(values)
        cell, size = self._cell[: len(values)][known], self._cells.shape[1]
        sums = np.bincount(cell, values[known], minlength=size)
        with np.errstate(invalid="ignore"):
            means: Numbers = sums / np.bincount(cell, minlength=size)
        return means

    def pairs(self, values: Numbers, arm: int) -> list[tuple[live.Units, live.Units]]:
        """Return the units of an arm and of the current version by period, of the first conversations."""
        means, (arms, periods) = self._means(values), self._cells

        def units(one: int, period: int) -> live.Units:
            return live.Units.of(means[(arms == one) & (periods == period)])

        return [(units(arm, period), units(0, period)) for period in range(self._last + 1)]

    def difference(self, arm: int, until: int | None = None) -> live.Difference:
        """Compare an arm with the current version; all arms together are wrong in 5% of experiments at most."""
        level = 1.0 - (1.0 - _LEVEL) / (len(self._arms) - 1)
        return live.difference(*self.pairs(self.metrics["task_completion"][:until], arm), level=level)

    def guardrails(self, arm: int) -> live.RampVerdict:
        """Test whether an arm harms a metric, and whether a ramp may take its next step."""
        watched = {
            one.name: self.pairs(self.metrics[one.name], arm)
            for one in METRICS
            if self.tells or one.name != "task_completion"
        }
        return live.ramp_verdict(watched, share=self._arms[arm].weight)

    def fill(self, experiment: LiveExperiment) -> LiveExperiment:
        """Fill in what was measured, and return the experiment."""
        experiment.basis, experiment.sample_ratio = self.basis, self.sample_ratio
        compared = {}
        for arm in experiment.arms:
            self._fill_arm(arm)
            if (found := arm.difference) is not None:
                compared[arm.name] = found.estimate, found.low, found.high
        off, (control, *_) = None, experiment.arms
        if experiment.sample_ratio.is_off:
            units = zip(
                experiment.arms,
                experiment.sample_ratio.observed,
                experiment.sample_ratio.expected,
                strict=True,
            )
            arm, n, expected = max(units, key=lambda one: abs(one[1] - one[2]) / one[2] ** 0.5)
            off = arm.name, n, expected
            for arm in experiment.arms:
                arm.verdict = None
        experiment.sentence = side_by_side(control.name, compared, sum(self.units), basis=self.basis, off=off)
        return experiment

    def _fill_arm(self, arm: LiveArm) -> None:
        number = arm.number
        mine = self.arm == number
        arm.units = self.units[number]
        arm.conversations = int(mine.sum())
        arm.labels = int((mine & self.labelled).sum())
        arm.rates = [
            self._rate(basis, number) for basis in self.bases if (mine & (self._bases == basis)).any()
        ]
        arm.rate = next((one for one in arm.rates if one.basis == self.judged_by), None)
        if not number:
            return
        guarded = self.guardrails(number)
        arm.guardrails = [
            _shown(LiveGuardrail, one, share=name in _SHARES, metric=name, harmed=name in guarded.harmed)
            for name, one in guarded.differences.items()
        ]
        if not self.tells:
            return
        found = self.difference(number)
        arm.difference, arm.verdict = _shown(LiveDifference, found), found.direction
        ends = np.unique(np.linspace(0, len(self.arm), _TIMES + 1).astype(np.int64))
        arm.over_time = [
            _shown(
                LiveDifferenceUntil,
                self.difference(number, int(end)),
                until=clock.to_datetime(int(self.started_at[end - 1])),
            )
            for _, end in pairwise(ends)
        ]

    def _rate(self, basis: str, arm: int) -> LiveRate:
        values = np.where(self.arm == arm, self.completed(basis), np.nan)
        means = self._means(values)
        means = means[~np.isnan(means)]
        low, high = wilson(means.sum(), len(means))
        return LiveRate(
            basis=basis,
            conversations=int((~np.isnan(values)).sum()),
            units=len(means),
            rate=100.0 * float(means.mean()),
            low=100.0 * float(low),
            high=100.0 * float(high),
        )


def _shown(model: type[D], one: live.Difference, *, share: bool = True, **more: Any) -> D:
    ends = {name: getattr(one, name) for name in ("estimate", "low", "high")}
    if share:  # shares differ by 100 points at most, whatever the interval
        ends = {name: value and 100.0 * min(max(value, -1.0), 1.0) for name, value in ends.items()}
    return model(units=one.n + one.n_original, **ends, **more)
