"""A judge that learns from labels: penalised logistic regression, cross-fitted, with measures of its quality.

Labels are divided into folds, keeping groups (a task, a user) together. Each fold has its own model, fitted
and calibrated without it: a labelled conversation is judged by the model that saw neither its label nor any
of its group, every other conversation by the mean of all models. So the judge errs equally on both, which
prediction-powered inference requires.

References
----------
A. E. Hoerl, R. W. Kennard (1970), Ridge regression. Technometrics 12, 55-67; S. le Cessie, J. C. van Houwelingen (1992), Ridge estimators in
logistic regression. Applied Statistics 41, 191-201.

J. Platt (1999), Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers, 61-74 (calibration).

T. Zrnic, E. J. Candès (2024), Cross-prediction-powered inference. PNAS 121 (15).

E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), Comparing the areas under two or more correlated ROC curves. Biometrics 44, 837-845;
N. A. Obuchowski (1997), Nonparametric analysis of clustered ROC curve data. Biometrics 53, 567-578; R. G. Newcombe (2006), Confidence
intervals for an effect size measure based on the Mann-Whitney statistic. Statistics in Medicine 25, 559-573.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from promptlift.stats.intervals import wilson
from promptlift.stats.labels import quantile_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]
    Features = Sequence[Mapping[str, float]]

CANNOT: Final = "cannot be judged from these features; a model or more labels are needed"
FOLDS: Final = 10
_CALIBRATION_FOLDS: Final = 5
# unspecified: how strongly weights are shrunk to 0. Chosen on the data sets of this judge's study, where 10
# to 100 perform alike.
PENALTY: Final = 30.0
# Prior of the calibration: standard deviation of its intercept, and of its slope around 1.
_CALIBRATION_SPREAD: Final = 1.0
# A feature of hardly any conversation is uninformative, and there may be any number of them.
_LEAST_SHARE: Final = 0.02
_FEATURES_MAX: Final = 800
_COMPONENTS: Final = 30
TOOL: Final = "tool:"
WORD: Final = "word:"
KINDS: Final = (TOOL, WORD)
"""Marks in the names of features of which there may be many."""
# Above this, conversations differ so much from the labelled ones that the judge may be invalid for them.
_UNLIKE: Final = 0.6
_DIFFERING: Final = 3


class Share(NamedTuple):
    """A number from 0 to 1 with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FittedJudge:
    """One linear model per fold, over the same features.

    Attributes
    ----------
    names
        The features.
    weights
        Weights of each feature, one row per fold.
    intercepts
        Intercept of each fold.
    """

    names: tuple[str, ...]
    weights: Numbers
    intercepts: Numbers

    def chances(self, rows: Features) -> Numbers:
        """Return the probability that each conversation is completed."""
        from scipy.special import expit  # noqa: PLC0415  (tables without a learned judge never need it)

        found: Numbers = expit(_matrix(rows, self.names) @ self.weights.T + self.intercepts).mean(axis=1)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the judge as plain lists."""
        return {
            "names": list(self.names),
            "weights": self.weights.round(6).tolist(),
            "intercepts": self.intercepts.tolist(),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> FittedJudge:
        """Rebuild a judge from `to_dict`."""
        return cls(tuple(kept["names"]), np.array(kept["weights"]), np.array(kept["intercepts"]))


@dataclass(frozen=True, slots=True)
class Learned:
    """The result of learning from labels.

    Attributes
    ----------
    judge
        Judges conversations without a label.
    chances
        Probability that each labelled conversation is completed, from models that had not seen its group.
    labels
        The labels, 1 and 0.
    n_groups
        Number of groups of labels that stay together; equal to the labels if none were given.
    accuracy, auc
        Accuracy and AUC of ``chances`` on the labels.
    majority
        Accuracy of always giving the majority's answer.
    gain_low
        Lower end of the 90% interval of the judge's gain in accuracy over the majority.
    """

    judge: FittedJudge
    chances: Numbers
    labels: Numbers
    n_groups: int
    accuracy: Share
    auc: Share
    majority: float
    gain_low: float

    @property
    def refusal(self) -> str:
        """Why it must not judge; empty if it may."""
        return "" if self.auc.low > 0.5 and self.gain_low > 0.0 else CANNOT

    def half_width(self, others: Numbers, *, more: int = 0) -> float:
        """Return half the 95% interval of a rate corrected by PPI++ with these labels, and a number of further ones.

        Parameters
        ----------
        others
            Probabilities of the unlabelled conversations.
        more
            Number of further labels, drawn at random like these.
        """
        n, rest = len(self.labels) + more, max(len(others) - more, 0)
        spread, of_judge = float(self.labels.var(ddof=1)), float(self.chances.var(ddof=1))
        together = float(np.cov(self.labels, self.chances)[0, 1])
        tuning = 0.0
        if not self.refusal and rest and of_judge > 0.0:
            tuning = min(max(together / ((1.0 + n / rest) * of_judge), 0.0), 1.0)
        variance = (spread - 2.0 * tuning * together + tuning**2 * of_judge) / n
        if tuning:
            variance += tuning**2 * float(others.var()) / rest
        return quantile_of(n, 0.95) * math.sqrt(max(variance, 0.0))


class Unlike(NamedTuple):
    """Differences between conversations and the labelled ones.

    Attributes
    ----------
    auc
        How well the two can be distinguished: 0.5 if they are alike.
    differing
        The features that differ most, with the mean of the labelled conversations and that of the others.
    chances
        Probability that each of the others is not a labelled one, from models that had not seen it.
    """

    auc: Share
    differing: tuple[tuple[str, float, float], ...]
    chances: Numbers

    @property
    def drifted(self) -> bool:
        """Whether the judge may be invalid for them."""
        return self.auc.low > _UNLIKE


def learn(
    rows: Features, labelled: ArrayLike, labels: ArrayLike, groups: ArrayLike | None = None, *, seed: int = 0
) -> Learned:
    """Learn a judge from labels.

    Parameters
    ----------
    rows
        Features of all conversations by name, labelled or not; a missing one is 0. All of them determine the
        rarity and the spread of a feature.
    labelled
        Indices of the labelled conversations in ``rows``.
    labels
        Their labels, with both true and false among them.
    groups
        The task or user of each labelled conversation; conversations with the same one stay together.
    seed
        Seed of the division into folds.

    Raises
    ------
    ValueError
        If labels are all equal, or all of one group.
    """
    place, y = np.asarray(labelled, np.intp), np.asarray(labels, np.float64)
    encoding, columns = _encode(rows)
    x = columns[place]
    group = np.arange(len(y)) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    chances, weights, intercepts = _cross_fit(x, y, group, np.random.default_rng(seed))
    right = (chances >= 0.5) == (y == 1.0)
    usual = y == float(y.mean() >= 0.5)
    more = np.bincount(group, right.astype(np.float64) - usual)
    reach = quantile_of(len(more), 0.9) * math.sqrt(float((more**2).sum()))
    return Learned(
        judge=encoding.judge(weights, intercepts),
        chances=chances,
        labels=y,
        n_groups=len(np.unique(group)),
        accuracy=accuracy_of(right, group),
        auc=auc_of(y, chances, group),
        majority=float(usual.mean()),
        gain_low=(float(more.sum()) - reach) / len(y),
    )


def unlike(labelled: Features, others: Features) -> Unlike:
    """Learn to distinguish the labelled conversations from others, and return how well that works.

    References
    ----------
    D. Lopez-Paz, M. Oquab (2017), Revisiting classifier two-sample tests. ICLR.
    """
    rows = [*labelled, *others]
    n = len(labelled)
    _, x = _encode(rows)
    y = (np.arange(len(rows)) >= n).astype(np.float64)
    chances, _, _ = _cross_fit(x, y, np.arange(len(rows)), np.random.default_rng(0))
    names = sorted({name for row in rows for name in row if not any(mark in name for mark in KINDS)})
    raw = _matrix(rows, names)
    one, other = raw[:n].mean(axis=0), raw[n:].mean(axis=0)
    most = np.argsort(-np.abs(one - other) / np.maximum(raw.std(axis=0), 1e-9), kind="stable")[:_DIFFERING]
    differing = tuple((names[at], float(one[at]), float(other[at])) for at in most)
    return Unlike(auc_of(y, chances, np.arange(len(rows))), differing, chances[n:])


def accuracy_of(right: NDArray[np.bool_], groups: NDArray[Any]) -> Share:
    """Return a share with Wilson's interval, from the effective number of clustered labels (Kish's design effect)."""
    n, value = len(right), float(right.mean())
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], right - value)
    alone = n * value * (1.0 - value)
    effective = n / max(float((sums**2).sum()) / alone, 1.0) if alone > 0.0 else float(len(sums))
    low, high = wilson(value * effective, effective)
    return Share(value, float(low), float(high))


def auc_of(y: Numbers, scores: Numbers, groups: NDArray[Any]) -> Share:
    """Return the area under the ROC curve with its interval, groups as clusters.

    Raises
    ------
    ValueError
        If labels are all equal.
    """
    from scipy.stats import rankdata  # noqa: PLC0415  (as above)

    yes = y == 1.0
    n_yes, n_no = int(yes.sum()), int((~yes).sum())
    if not n_yes or not n_no:
        raise ValueError(
            "All labels are equal: nothing can be learned from them. Label conversations of both outcomes."
        )
    ranks = rankdata(scores)
    part = np.empty(len(y))
    part[yes] = (ranks[yes] - rankdata(scores[yes])) / n_no
    part[~yes] = 1.0 - (ranks[~yes] - rankdata(scores[~yes])) / n_yes
    auc = float(part[yes].mean())
    part[yes] = (part[yes] - auc) / n_yes
    part[~yes] = (part[~yes] - auc) / n_no
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], part)
    variance = float((sums**2).sum()) * len(sums) / max(len(sums) - 1, 1)
    # The number of independent labels with this variance (Wilson's interval stays below 1); for a perfect
    # order, the smaller class.
    least = min(n_yes, n_no, len(sums))
    effective = min(auc * (1.0 - auc) / variance, len(sums)) if variance > 0.0 else least
    low, high = wilson(auc * effective, effective)
    return Share(auc, float(low), float(high))


class _Encoding(NamedTuple):
    """The features that are used, and how they become columns: ``(features - centre) @ basis``."""

    names: tuple[str, ...]
    centre: Numbers
    basis: Numbers

    def judge(self, weights: Numbers, intercepts: Numbers) -> FittedJudge:
        """Convert models of columns to models of features."""
        of_features = weights @ self.basis.T
        return FittedJudge(self.names, of_features, intercepts - of_features @ self.centre)


def _encode(rows: Features) -> tuple[_Encoding, Numbers]:
    """Choose and standardise features, and return their columns.

    Numbers have a spread of 1. Names of tools and words of the last turns, of which there may be many, are
    binary TF-IDF (a rare one is more informative than a common one), each kind with half the total spread of
    the numbers; the words are reduced to their main components (latent semantic analysis), so that correlated
    words count once.
    """
    there = Counter(name for row in rows for name, value in row.items() if value)
    least = max(2, math.ceil(_LEAST_SHARE * len(rows)))
    common = sorted((name for name, n in there.items() if n >= least), key=lambda name: (-there[name], name))
    names = tuple(common[:_FEATURES_MAX])
    matrix = _matrix(rows, names)
    centre, spread = matrix.mean(axis=0), matrix.std(axis=0)
    kind = np.array([next((at for at, mark in enumerate(KINDS, 1) if mark in name), 0) for name in names])
    numbers = np.flatnonzero((kind == 0) & (spread > 1e-9))
    parts = [np.eye(len(names))[:, numbers] / spread[numbers]]
    for at, mark in enumerate(KINDS, 1):
        mine = np.flatnonzero((kind == at) & (spread > 1e-9))
        if not len(mine):
            continue
        idf = 1.0 - np.log(np.array([there[names[one]] / len(rows) for one in mine]))
        scaled = (matrix[:, mine] - centre[mine]) * idf
        axes = np.eye(len(mine))
        if mark == WORD and len(mine) > _COMPONENTS:
            axes = np.linalg.eigh(scaled.T @ scaled)[1][:, -_COMPONENTS:]
        part = np.zeros((len(names), axes.shape[1]))
        part[mine] = idf[:, None] * axes
        total = float((scaled @ axes).var(axis=0).sum())
        parts.append(part * math.sqrt(0.5 * max(len(numbers), 1) / total))
    encoding = _Encoding(names, centre, np.hstack(parts))
    return encoding, (matrix - centre) @ encoding.basis


def _matrix(rows: Features, names: Sequence[str]) -> Numbers:
    column = {name: at for at, name in enumerate(names)}
    found = np.zeros((len(rows), len(names)))
    for at, row in enumerate(rows):
        for name, value in row.items():
            if name in column:
                found[at, column[name]] = value
    return found


def _cross_fit(
    x: Numbers, y: Numbers, groups: NDArray[np.intp], rng: np.random.Generator
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the probability of each row from a model that had not seen its group, and weights and intercept of each model."""
    from scipy.special import expit  # noqa: PLC0415  (as above)

    fold = _folds(y, groups, FOLDS, rng)
    chances = np.empty(len(y))
    weights, intercepts = [], []
    for one in range(fold.max() + 1):
        seen = fold != one
        weight, intercept = _calibrated(x[seen], y[seen], groups[seen], rng)
        chances[~seen] = expit(x[~seen] @ weight + intercept)
        weights.append(weight)
        intercepts.append(intercept)
    return chances, np.array(weights), np.array(intercepts)


def _folds(y: Numbers, groups: NDArray[np.intp], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Divide rows into folds, keeping groups together and balancing outcomes."""
    names, group = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            "All labels are of one group: label conversations of others, or leave out the groups."
        )
    share = np.bincount(group, y) / np.bincount(group)
    order = rng.permutation(len(names))
    order = order[np.argsort(share[order], kind="stable")]
    fold = np.empty(len(names), np.intp)
    fold[order] = np.arange(len(names)) % min(most, len(names))
    return fold[group]


def _calibrated(
    x: Numbers, y: Numbers, groups: NDArray[np.intp], rng: np.random.Generator
) -> tuple[Numbers, float]:
    """Return weights and intercept, calibrated on logits of models that had not seen a row's group (Platt)."""
    weight, intercept = _fit(x, y)
    if len(np.unique(groups)) < _CALIBRATION_FOLDS:
        return weight, intercept
    fold = _folds(y, groups, _CALIBRATION_FOLDS, rng)
    logits = np.empty(len(y))
    for one in range(fold.max() + 1):
        seen = fold != one
        at, base = _fit(x[seen], y[seen])
        logits[~seen] = x[~seen] @ at + base
    centre = logits.mean()
    slope, shift = _newton(
        np.column_stack([logits - centre, np.ones(len(y))]),
        y,
        np.full(2, 1.0 / _CALIBRATION_SPREAD**2),
        np.array([1.0, centre]),
    )
    slope = max(slope, 0.0)
    return slope * weight, slope * (intercept - centre) + shift


def _fit(x: Numbers, y: Numbers) -> tuple[Numbers, float]:
    """Fit a logistic regression; the intercept is hardly shrunk to 0."""
    width = x.shape[1]
    found = _newton(
        np.column_stack([x, np.ones(len(y))]), y, np.append(np.full(width, PENALTY), 0.1), np.zeros(width + 1)
    )
    return found[:-1], float(found[-1])


def _newton(x: Numbers, y: Numbers, penalty: Numbers, prior: Numbers) -> Numbers:
    """Return the maximum of the penalised likelihood, by Newton's method; strictly concave, so it is unique."""
    from scipy.special import expit  # noqa: PLC0415  (as above)

    found = prior.copy()
    for _ in range(50):
        chance = expit(x @ found)
        slope = x.T @ (chance - y) + penalty * (found - prior)
        bend = (x * (chance * (1.0 - chance))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        # Far away the likelihood is flat, and a full step would overshoot the maximum.
        found = found - step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if float(np.abs(step).max()) < 1e-8:
            break
    return found
