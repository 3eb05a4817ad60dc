"""Experiments in their API form, with what was measured.

Everything is counted by unit, with the mean of its conversations. Completion rests on one basis, that of most
verdicts; labels that were drawn at random correct it, for the conversations until the newest labelled one.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeVar

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
from promptlift.stats.intervals import wilson
from promptlift.stats.production import METRICS
from promptlift.words.sentences import side_by_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from promptlift.service.store.tables.prompts import ExperimentRow
    from promptlift.stats.production import MetricName

    Numbers = NDArray[np.float64]

D = TypeVar("D", bound=LiveDifference)

_LEVEL: Final = 0.95
# Points of the picture over time.
_TIMES: Final = 40
_SHARES: Final = ("task_completion", "abandonment")
_AS_LOGGED: Final[tuple[MetricName, ...]] = ("sentiment", "quality", "abandonment", "response_time", "length")


def fill(connection: Connection, row: ExperimentRow, experiment: LiveExperiment) -> LiveExperiment:
    """Fill in the results of an experiment until now, and return it."""
    measured = AssignedConversations(connection, row)
    experiment.basis = measured.basis
    for arm in experiment.arms:
        measured.fill(arm)
    observed = [arm.units or 0 for arm in experiment.arms]
    weights = [arm.weight for arm in experiment.arms]
    ratio = live.sample_ratio(observed, weights)
    expected = [sum(observed) * weight for weight in weights]
    experiment.sample_ratio = UnitShares(expected=expected, observed=observed, **ratio._asdict())
    if ratio.is_off:
        for arm in experiment.arms:
            arm.verdict = None
    compared = {
        arm.name: (arm.difference.estimate, arm.difference.low, arm.difference.high)
        for arm in experiment.arms
        if arm.difference is not None
    }
    experiment.sentence = side_by_side(
        experiment.arms[0].name, compared, sum(observed), basis=experiment.basis, is_off=ratio.is_off
    )
    return experiment


class AssignedConversations:
    """The conversations of an experiment as columns, oldest first."""

    def __init__(self, connection: Connection, row: ExperimentRow) -> None:
        found = experiments.conversations(connection, row)
        values = zip(*found, strict=True) if found else [()] * len(experiments.Assigned._fields)
        known: dict[str, Sequence[Any]] = dict(zip(experiments.Assigned._fields, values, strict=True))
        self.others = len(row.kept.arms) - 1
        self.arm = np.array(known["arm"], np.int64)
        self.started_at = np.array(known["started_at"], np.int64)
        _, self.unit = np.unique(np.array(known["unit"], np.str_), return_inverse=True)
        self._bases = np.array([one or "" for one in known["basis"]], np.str_)
        self._judged = np.array(known["task_completed"], np.float64)
        counts = Counter(self._bases[~np.isnan(self._judged)].tolist())
        self.bases = [basis for basis in BASES if counts[basis]]
        self.judged_by: str | None = max(self.bases, key=lambda basis: counts[basis], default=None)
        self.basis, completed = self.judged_by, self.completed(self.judged_by)
        answers: dict[str, list[experiments.Labelled]] = {}
        for one in experiments.labels(connection, row):
            answers.setdefault(one.conversation_id, []).append(one)
        self.labelled = np.array([one in answers for one in known["id"]], np.bool_)
        if self.labelled.sum() >= LABELS_OF_A_PROOF:
            self.basis = "label"
            completed = self._corrected(completed, [answers.get(one, []) for one in known["id"]])
        self.metrics: dict[MetricName, Numbers] = {
            "task_completion": completed,
            **{name: np.array(known[name], np.float64) for name in _AS_LOGGED},
        }

    def completed(self, basis: str | None) -> Numbers:
        """Return completion by verdicts of one basis, NaN without one."""
        return np.where(self._bases == basis, self._judged, np.nan)

    def _corrected(self, judged: Numbers, answers: Sequence[Sequence[experiments.Labelled]]) -> Numbers:
        values = np.array([_mean(one.completed for one in some) for some in answers])
        chances = np.array([some[0].chance if some else np.nan for some in answers])
        corrected = live.label_corrected(judged, values, chances)
        corrected[np.flatnonzero(self.labelled)[-1] + 1 :] = np.nan
        return corrected

    def _means(self, values: Numbers, mine: NDArray[np.bool_]) -> Numbers:
        """Return the mean of each unit of some conversations."""
        mine = mine & ~np.isnan(values)
        counts = np.bincount(self.unit[mine])
        sums = np.bincount(self.unit[mine], values[mine])
        means: Numbers = sums[counts > 0] / counts[counts > 0]
        return means

    def pair(self, values: Numbers, arm: int, until: int | None = None) -> tuple[live.Units, live.Units]:
        """Return the units of an arm and of the current version, of the first conversations or of all."""
        within = np.arange(len(values)) < (len(values) if until is None else until)
        new, old = (live.Units.of(self._means(values, within & (self.arm == one))) for one in (arm, 0))
        return new, old

    def difference(self, arm: int, until: int | None = None) -> live.Difference:
        """Compare an arm with the current version; all arms together are wrong in 5 % of experiments at most."""
        level = 1.0 - (1.0 - _LEVEL) / self.others
        return live.difference(self.pair(self.metrics["task_completion"], arm, until), level=level)

    def fill(self, arm: LiveArm) -> None:
        """Fill in what was measured of an arm."""
        number = arm.number
        mine = self.arm == number
        arm.units = int(np.count_nonzero(np.bincount(self.unit[mine])))
        arm.conversations = int(mine.sum())
        arm.labels = int((mine & self.labelled).sum())
        arm.rates = [self._rate(basis, mine) for basis in self.bases if (mine & (self._bases == basis)).any()]
        arm.rate = next((one for one in arm.rates if one.basis == self.judged_by), None)
        if not number:
            return
        tells = may_tell(self.basis)
        watched = {
            one.name: self.metrics[one.name] for one in METRICS if tells or one.name != "task_completion"
        }
        guarded = live.ramp_verdict(
            {name: [self.pair(values, number)] for name, values in watched.items()}, share=arm.weight
        )
        arm.guardrails = [
            _shown(LiveGuardrail, one, share=name in _SHARES, metric=name, harmed=name == guarded.harmed)
            for name, one in guarded.differences.items()
        ]
        if self.basis is None or not tells:
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

    def _rate(self, basis: str, mine: NDArray[np.bool_]) -> LiveRate:
        values = self.completed(basis)
        means = self._means(values, mine)
        low, high = wilson(means.sum(), len(means))
        return LiveRate(
            basis=basis,
            conversations=int((mine & ~np.isnan(values)).sum()),
            units=len(means),
            rate=100.0 * float(means.mean()),
            low=100.0 * float(low),
            high=100.0 * float(high),
        )


def _mean(answers: Any) -> float:
    values = [*answers]
    return sum(values) / len(values) if values else np.nan


def _shown(model: type[D], one: live.Difference, *, share: bool = True, **more: Any) -> D:
    scale = 100.0 if share else 1.0
    ends = {name: getattr(one, name) for name in ("estimate", "low", "high")}
    scaled = {name: None if value is None else scale * value for name, value in ends.items()}
    return model(units=one.n + one.n_original, **scaled, **more)
