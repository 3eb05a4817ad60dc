"""Numbers of one variant against the control, for each kind of outcome, paired and unpaired."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from promptlift.analysis.sentences import TOO_FEW
from promptlift.stats import compare_paired, compare_unpaired, mcnemar_e_value, wilson
from promptlift.stats.differences import FEWEST, score_interval, sign_test_p
from promptlift.stats.evidence import CONFIDENCE_THRESHOLDS, confidence, e_threshold
from promptlift.stats.intervals import mean_interval
from promptlift.stats.multiplicity import holm
from promptlift.stats.planning import findable_mean, findable_points_paired, findable_points_unpaired
from promptlift.stats.scores import label_test, paired_score_test, score_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Verdict = Literal["winner", "worse", "different", "no winner"]

_DIFFERENCE = ("difference", "difference_low", "difference_high")
_POINTS = tuple(name.replace("difference", "difference_points") for name in _DIFFERENCE)
_HEAD = ("variant", "control", "verdict")
_COUNTS = ("n", "n_control")
_RATES = ("rate", "rate_low", "rate_high", "rate_control", "rate_control_low", "rate_control_high")
_MEANS = tuple(name.replace("rate", "mean") for name in _RATES)
_TAIL = ("n_dropped", "n_unmatched", "warnings")
_TEST = ("test", "p", "p_holm")
COLUMNS = {
    "completion": (
        *_HEAD, *_POINTS, *_COUNTS, "completed", "completed_control", *_RATES,
        "lift_percent", "lift_percent_low", "lift_percent_high", "lift_percent_expected",
        "n_pairs", "n11", "n10", "n01", "n00", "e_value", "confidence", "confidence_worse",
        *_TEST, "smallest_findable_points", *_TAIL,
    ),
    "score": (
        *_HEAD, *_DIFFERENCE, *_COUNTS, *_MEANS, "cliffs_delta", "n_pairs", "n_better", "n_worse",
        *_TEST, "smallest_findable", *_TAIL,
    ),
    "label": (
        *_HEAD, *_POINTS, *_COUNTS, *_RATES, "cramers_v", "cliffs_delta",
        *_TEST, "smallest_findable_points", *_TAIL,
    ),
}  # fmt: skip

# What a row has only when there was something to compare.
_OF_TESTS = (
    "test", "p", "p_holm", "smallest_findable", "smallest_findable_points", "e_value", "confidence",
    "confidence_worse", "verdict",
)  # fmt: skip
_DROPPED_SHARE = 0.10
CONFIDENCE_NEEDED = CONFIDENCE_THRESHOLDS["moderate"]
# What the e-value of pairs must reach.
_E_THRESHOLD = e_threshold("moderate")


@dataclass(frozen=True)
class Sample:
    """Known outcomes of a variant and of the control; in pairs they have the same order.

    Attributes
    ----------
    variant, control
        Outcomes.
    missing, missing_control
        Outcomes that are missing in the one, in the other (in pairs: in this one alone).
    n_dropped
        Rows, or items of both, that are left out for a missing outcome.
    n_unmatched
        Items that only one of the two has; None when nothing is paired.
    """

    variant: NDArray[np.float64]
    control: NDArray[np.float64]
    missing: int
    missing_control: int
    n_dropped: int
    n_unmatched: int | None = None

    def counts(self, value: float) -> tuple[int, int, int, int]:
        """Count the outcomes that are a value and all, of the variant and of the control."""
        equal = [int((side == value).sum()) for side in (self.variant, self.control)]
        return equal[0], len(self.variant), equal[1], len(self.control)

    @property
    def comparable(self) -> bool:
        """Whether both sides have a known outcome (in pairs: of the same item)."""
        return len(self.variant) > 0 and len(self.control) > 0


@dataclass(frozen=True)
class Rule:
    """The rule by which a variant is called winner or worse.

    Attributes
    ----------
    level
        ``1 - level`` bounds the p-values together, and is the coverage of the intervals.
    n_tests
        Variants that can be compared with the control.
    """

    level: float
    n_tests: int

    @property
    def alpha(self) -> float:
        """What adjusted p-values must stay below."""
        return 1.0 - self.level

    @property
    def strictest(self) -> float:
        """What the smallest of the p-values must stay below."""
        return self.alpha / max(self.n_tests, 1)


def paired_completion_row(sample: Sample, rule: Rule) -> dict[str, Any]:
    """Compare pairs of true and false: McNemar's exact p, e-value, confidence, paired interval, lift by Fieller."""
    both, one = sample.variant * sample.control, sample.variant + sample.control
    n, n11 = len(one), int(both.sum())
    n10 = int((sample.variant > sample.control).sum())
    n01 = int((sample.variant < sample.control).sum())
    result = compare_paired(n11, n10, n01, n - n11 - n10 - n01, level=rule.level)
    pairs = result.analysis
    worse = mcnemar_e_value(n01, n10)
    return {
        **_rates(n11 + n10, n, n11 + n01, n, rule.level),
        **_points(pairs.lift_points, pairs.lift_points_low, pairs.lift_points_high),
        "lift_percent": pairs.lift,
        "lift_percent_low": pairs.lift_low,
        "lift_percent_high": pairs.lift_high,
        "lift_percent_expected": pairs.lift_expected,
        "n_pairs": n,
        "n11": n11,
        "n10": n10,
        "n01": n01,
        "n00": pairs.n00,
        "e_value": pairs.e_value,
        "confidence": pairs.confidence,
        "confidence_worse": confidence(n01, n10),
        "test": "McNemar exact",
        "p": result.p,
        "smallest_findable_points": findable_points_paired(
            n, discordance=(n10 + n01 + 1) / (n + 3), e_threshold=_E_THRESHOLD, alpha=rule.strictest
        ),
        "direction": n10 - n01,
        "decided": max(pairs.e_value, worse) >= _E_THRESHOLD,
        **_losses(sample, n + sample.n_dropped),
    }


def unpaired_completion_row(sample: Sample, rule: Rule) -> dict[str, Any]:
    """Compare independent groups of true and false: the score test, and the interval that inverts it."""
    x1, n1, x0, n0 = sample.counts(1.0)
    result = compare_unpaired(x1, n1, x0, n0, level=rule.level)
    return {
        **_rates(x1, n1, x0, n0, rule.level),
        **_points(result.lift_points, result.lift_points_low, result.lift_points_high),
        "lift_percent": result.lift,
        "test": "score",
        "p": result.p,
        "smallest_findable_points": findable_points_unpaired(
            n1, n0, rate_control=(x0 + 1) / (n0 + 2), alpha=rule.strictest
        ),
        "direction": result.lift_points or 0.0,
        **_decidable(sample),
        **_losses(sample, n1 + n0 + sample.n_dropped),
    }


def paired_score_row(sample: Sample, rule: Rule) -> dict[str, Any]:
    """Compare pairs of scores: Wilcoxon's signed ranks, and the t interval of the mean difference."""
    result = paired_score_test(sample.variant, sample.control, level=rule.level)
    sizes = score_test(sample.variant, sample.control, level=rule.level)
    spread = float((sample.variant - sample.control).std(ddof=1)) if result.n > 1 else 0.0
    return {
        **_means(sample, rule.level),
        **_difference(result.difference, result.low, result.high),
        "cliffs_delta": sizes.cliffs_delta,
        "n_pairs": result.n,
        "n_better": result.n_better,
        "n_worse": result.n_worse,
        "test": "Wilcoxon signed-rank",
        "p": result.p,
        "smallest_findable": findable_mean(spread / math.sqrt(max(result.n, 1)), alpha=rule.strictest),
        "decided": True,
        **_losses(sample, result.n + sample.n_dropped),
        **_agreement(result.rank_direction, result.difference),
    }


def unpaired_score_row(sample: Sample, rule: Rule) -> dict[str, Any]:
    """Compare independent groups of scores: Mann-Whitney with Cliff's delta, and Welch's interval of the means."""
    result = score_test(sample.variant, sample.control, level=rule.level)
    return {
        **_means(sample, rule.level),
        **_difference(result.difference, result.low, result.high),
        "cliffs_delta": result.cliffs_delta,
        "test": "Mann-Whitney",
        "p": result.p,
        "smallest_findable": findable_mean(_welch_error(sample), alpha=rule.strictest),
        **_losses(sample, result.n1 + result.n0 + sample.n_dropped),
        **_agreement(result.cliffs_delta or 0.0, result.difference),
        **_decidable(sample),
    }


def label_row(sample: Sample, rule: Rule, labels: Sequence[str], *, ordered: bool) -> dict[str, Any]:
    """Compare independent groups of labels: chi² or permutation; the last label's share where they have an order."""
    counts = np.stack(
        [
            np.bincount(values.astype(int), minlength=len(labels))
            for values in (sample.variant, sample.control)
        ]
    )
    result = label_test(counts)
    row: dict[str, Any] = {
        "n": len(sample.variant),
        "n_control": len(sample.control),
        "cramers_v": result.cramers_v,
        "test": "chi²" if result.method == "chi2" else "permutation",
        "p": result.p,
        "direction": 0,
        "decided": True,
        **_losses(sample, result.n + sample.n_dropped),
    }
    if not ordered:
        return row
    best = len(labels) - 1
    x1, n1, x0, n0 = sample.counts(best)
    low, high = score_interval(x1, n1, x0, n0, level=rule.level)
    ranked = score_test(sample.variant, sample.control, level=rule.level)
    clear = ranked.p < rule.alpha and min(n1, n0) >= FEWEST
    return row | {
        **_rates(x1, n1, x0, n0, rule.level),
        **_points(
            100.0 * (x1 / n1 - x0 / n0) if n1 and n0 else None, 100.0 * float(low), 100.0 * float(high)
        ),
        "cliffs_delta": ranked.cliffs_delta,
        "smallest_findable_points": findable_points_unpaired(
            n1, n0, rate_control=(x0 + 1) / (n0 + 2), alpha=rule.strictest
        ),
        "direction": ranked.cliffs_delta if clear else 0,
    }


def decide(rows: Sequence[dict[str, Any]], rule: Rule, *, labels: bool) -> None:
    """Adjust the p-values by Holm and write ``p_holm`` and ``verdict`` into the rows.

    Rows without anything to compare are no tests: they get neither, and do not make the others' tests stricter.
    """
    tested = [row for row in rows if row["n"] and row["n_control"]]
    for row, adjusted in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_holm"] = float(adjusted)
        verdict: Verdict = "no winner"
        if adjusted < rule.alpha and row["decided"] and not _holds_zero(row):
            if row["direction"]:
                verdict = "winner" if row["direction"] > 0 else "worse"
            elif labels:
                verdict = "different"
        row["verdict"] = verdict
    for row in rows:
        if "verdict" not in row:
            row.update(dict.fromkeys(_OF_TESTS))


def _holds_zero(row: dict[str, Any]) -> bool:
    """Return whether the interval of a completion rate holds 0: of pairs an exact test may be surer than the interval beside it.

    Scores and labels are decided by their ranks and shares, which an interval of means does not show.
    """
    if "lift_percent" not in row:
        return False
    _, low, high = (row[name] for name in _POINTS)
    return low is None or high is None or low <= 0.0 <= high


def _decidable(sample: Sample) -> dict[str, Any]:
    """Return whether independent groups are large enough for a verdict, and the warning where they are not."""
    enough = min(len(sample.variant), len(sample.control)) >= FEWEST
    if enough or not sample.comparable:
        return {"decided": enough}
    return {"decided": False, "caveat": f"{TOO_FEW.capitalize()}."}


def _difference(*ends: float | None) -> dict[str, float | None]:
    return dict(zip(_DIFFERENCE, ends, strict=True))


def _points(*ends: float | None) -> dict[str, float | None]:
    return dict(zip(_POINTS, ends, strict=True))


def _rates(x1: int, n1: int, x0: int, n0: int, level: float) -> dict[str, Any]:
    low, high = wilson([x1, x0], [n1, n0], level=level)
    return {
        "n": n1,
        "n_control": n0,
        "completed": x1,
        "completed_control": x0,
        "rate": x1 / n1 if n1 else None,
        "rate_low": low[0],
        "rate_high": high[0],
        "rate_control": x0 / n0 if n0 else None,
        "rate_control_low": low[1],
        "rate_control_high": high[1],
    }


def _means(sample: Sample, level: float) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for end, values in (("", sample.variant), ("_control", sample.control)):
        n = len(values)
        mean = float(values.mean()) if n else math.nan
        low, high = mean_interval(mean, values.std(ddof=1) if n > 1 else math.nan, n, level=level)
        row |= {f"n{end}": n, f"mean{end}": mean}
        row |= {f"mean{end}_low": float(low), f"mean{end}_high": float(high)}
    return row


def _welch_error(sample: Sample) -> float:
    groups = (sample.variant, sample.control)
    if min(map(len, groups)) < 2:
        return 0.0
    return math.sqrt(sum(float(values.var(ddof=1)) / len(values) for values in groups))


def _agreement(ranks: float, difference: float | None) -> dict[str, Any]:
    """Return the direction that ranks and means share, or a warning that they do not."""
    if difference is None or ranks * difference >= 0.0:
        return {"direction": ranks}
    return {
        "direction": 0,
        "caveat": "Means and ranks disagree in direction: a few extreme scores dominate the mean.",
    }


def _losses(sample: Sample, asked: int) -> dict[str, Any]:
    """Count what was left out, and warn about it."""
    warnings = []
    if not sample.comparable:
        warnings.append(_nothing_to_compare(sample))
    if sample.n_dropped > _DROPPED_SHARE * asked:
        what = "rows" if sample.n_unmatched is None else "pairs"
        warnings.append(
            f"{sample.n_dropped} of {asked} {what} have no outcome, more than 10%: the rest may differ from them."
        )
    if _uneven(sample):
        warnings.append(
            f"Outcomes are missing unevenly: {sample.missing} of the variant, {sample.missing_control} of the "
            "control. Find out why before you trust the difference."
        )
    return {
        "n_dropped": sample.n_dropped,
        "n_unmatched": sample.n_unmatched,
        "warnings": " ".join(warnings),
    }


def _nothing_to_compare(sample: Sample) -> str:
    if sample.n_unmatched is None or sample.n_dropped:
        return "No known outcomes to compare."
    return "No shared items: none of the variant's items is one of the control's."


def _uneven(sample: Sample) -> bool:
    if sample.missing + sample.missing_control == 0:
        return False
    if sample.n_unmatched is not None:
        return sign_test_p(sample.missing, sample.missing_control) < 0.05
    rows = len(sample.variant) + sample.missing, len(sample.control) + sample.missing_control
    return compare_unpaired(sample.missing, rows[0], sample.missing_control, rows[1]).direction != "unclear"
