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
    SampleRatio,
)
from promptlift.service import clock
from promptlift.service.store import experiments
from promptlift.stats import live
from promptlift.stats.deployment import FailureCounts
from promptlift.stats.intervals import wilson
from promptlift.stats.production import METRICS
from promptlift.words.sentences import side_by_side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from promptlift.schema.experiments import OfferedArm
    from promptlift.service.store.tables.prompts import ExperimentRow
    from promptlift.stats.production import MetricName

    Numbers = NDArray[np.float64]

D = TypeVar("D", bound=LiveDifference)

_LEVEL: Final = 0.95
# Points of the picture over time.
_TIMES: Final = 40
_SHARES: Final = {one.name for one in METRICS if one.is_share}


class AssignedConversations:
    """The conversations of an experiment as columns, oldest first.

    Parameters
    ----------
    arms
        The arms of the experiment.
    known
        Its conversations, as `store.experiments` reads them.
    """

    def __init__(self, arms: Sequence[OfferedArm], known: Mapping[str, Sequence[Any]]) -> None:
        self._arms = arms
        self._arm = np.array(known["arm"], np.int64)
        self._started_at = np.array(known["started_at"], np.int64)
        # A cell has the conversations of one unit in one arm, which count once. Units are hexadecimal.
        hashed = np.array([int(unit, 16) for unit in known["unit"]], np.uint64)
        _, unit = np.unique(hashed, return_inverse=True)
        cells, self._cell = np.unique(unit * len(arms) + self._arm, return_inverse=True)
        self._arm_of_cell = cells % len(arms)
        self.units = np.bincount(self._arm_of_cell, minlength=len(arms)).tolist()
        self._bases = np.array([one or "" for one in known["basis"]], np.str_)
        self._judged = np.array(known["task_completed"], np.float64)
        counts = {one: np.count_nonzero(~np.isnan(self._completed(one))) for one in BASES}
        self._found_bases = [basis for basis in BASES if counts[basis]]
        self._judged_by: str | None = max(self._found_bases, key=lambda basis: counts[basis], default=None)
        self.basis, completed = self._judged_by, self._completed(self._judged_by)
        labels = np.array(known["label"], np.float64)
        self._labelled = ~np.isnan(labels)
        if self._labelled.sum() >= LABELS_OF_A_PROOF:
            self.basis = "label"
            completed = live.label_corrected(completed, labels, np.array(known["chance"], np.float64))
            completed[np.flatnonzero(self._labelled)[-1] + 1 :] = np.nan
        self._metrics: dict[MetricName, Numbers] = {
            one.name: completed if one.name == "task_completion" else np.array(known[one.name], np.float64)
            for one in METRICS
        }

    @classmethod
    def of(cls, connection: Connection, row: ExperimentRow) -> Self:
        """Read the conversations of an experiment until now."""
        return cls(row.kept.arms, experiments.conversations(connection, row))

    @property
    def tells(self) -> bool:
        """Whether completion may be compared."""
        return self.basis is not None and may_tell(self.basis)

    @property
    def sample_ratio(self) -> SampleRatio:
        """Whether units fall into the arms by their weights."""
        return SampleRatio(**live.sample_ratio(self.units, [arm.weight for arm in self._arms])._asdict())

    def _completed(self, basis: str | None) -> Numbers:
        """Return completion by verdicts of one basis, NaN without one."""
        return np.where(self._bases == basis, self._judged, np.nan)

    def failures(self, arm: int) -> FailureCounts:
        """Count the failed conversations of the current version and of an arm, and all of them with a verdict."""
        completed, counts = self._completed(self._judged_by), []
        for mine in (completed[self._arm == 0], completed[self._arm == arm]):
            counts += [int((mine == 0.0).sum()), int((~np.isnan(mine)).sum())]
        return FailureCounts(*counts)

    def _means(self, values: Numbers) -> Numbers:
        """Return the mean of each cell in the first conversations, NaN without a value."""
        known = ~np.isnan(values)
        cell, size = self._cell[: len(values)][known], len(self._arm_of_cell)
        sums = np.bincount(cell, values[known], minlength=size)
        with np.errstate(invalid="ignore"):
            means: Numbers = sums / np.bincount(cell, minlength=size)
        return means

    def _pair(self, values: Numbers, arm: int) -> tuple[live.Units, live.Units]:
        """Return the units of an arm and of the current version."""
        means, arms = self._means(values), self._arm_of_cell
        return live.Units.of(means[arms == arm]), live.Units.of(means[arms == 0])

    def difference(self, arm: int, until: int | None = None) -> live.Difference:
        """Compare an arm with the current version; all arms together are wrong in 5% of experiments at most."""
        level = 1.0 - (1.0 - _LEVEL) / (len(self._arms) - 1)
        return live.difference(*self._pair(self._metrics["task_completion"][:until], arm), level=level)

    def guardrails(self, arm: int) -> live.RampVerdict:
        """Test whether an arm harms a metric, and whether a ramp may take its next step."""
        watched = {
            name: self._pair(values, arm)
            for name, values in self._metrics.items()
            if self.tells or name != "task_completion"
        }
        return live.ramp_verdict(watched, share=self._arms[arm].weight)

    def fill(self, experiment: LiveExperiment) -> LiveExperiment:
        """Fill in what was measured, and return the experiment."""
        experiment.basis, experiment.sample_ratio = self.basis, self.sample_ratio
        for arm in experiment.arms:
            self._fill_arm(arm)
        compared = {
            arm.name: (found.estimate, found.low, found.high)
            for arm in experiment.arms
            if (found := arm.difference) is not None
        }
        off, total = None, sum(self.units)
        if experiment.sample_ratio.is_off:
            expected = [total * arm.weight for arm in experiment.arms]
            units = zip(experiment.arms, self.units, expected, strict=True)
            arm, n, due = max(units, key=lambda one: abs(one[1] - one[2]) / one[2] ** 0.5)
            off = arm.name, n, due
            for arm in experiment.arms:
                arm.verdict = None
        experiment.sentence = side_by_side(
            experiment.arms[0].name, compared, total, basis=self.basis, off=off
        )
        return experiment

    def _fill_arm(self, arm: LiveArm) -> None:
        number = arm.number
        mine = self._arm == number
        arm.units = self.units[number]
        arm.conversations = int(mine.sum())
        arm.labels = int((mine & self._labelled).sum())
        rates = (self._rate(basis, number) for basis in self._found_bases)
        arm.rates = [one for one in rates if one is not None]
        arm.rate = next((one for one in arm.rates if one.basis == self._judged_by), None)
        if not number:
            return
        guarded = self.guardrails(number)
        arm.guardrails = [
            shown(LiveGuardrail, one, share=name in _SHARES, metric=name, harmed=name in guarded.harmed)
            for name, one in guarded.differences.items()
        ]
        if not self.tells:
            return
        found = self.difference(number)
        arm.difference, arm.verdict = shown(LiveDifference, found), found.direction
        ends = np.unique(np.linspace(0, len(self._arm), _TIMES + 1).astype(np.int64))
        arm.over_time = [
            shown(
                LiveDifferenceUntil,
                self.difference(number, int(end)),
                until=clock.to_datetime(int(self._started_at[end - 1])),
            )
            for _, end in pairwise(ends)
        ]

    def _rate(self, basis: str, arm: int) -> LiveRate | None:
        values = np.where(self._arm == arm, self._completed(basis), np.nan)
        means = self._means(values)
        means = means[~np.isnan(means)]
        if not len(means):
            return None
        low, high = wilson(means.sum(), len(means))
        return LiveRate(
            basis=basis,
            conversations=int((~np.isnan(values)).sum()),
            units=len(means),
            rate=100.0 * float(means.mean()),
            low=100.0 * float(low),
            high=100.0 * float(high),
        )


def shown(model: type[D], one: live.Difference, *, share: bool = True, **more: Any) -> D:
    """Return a difference in its API form, that of shares in percentage points."""
    ends = {name: getattr(one, name) for name in ("estimate", "low", "high")}
    if share:  # shares differ by 100 points at most, whatever the interval
        ends = {name: value and 100.0 * min(max(value, -1.0), 1.0) for name, value in ends.items()}
    return model(**ends, **more)
