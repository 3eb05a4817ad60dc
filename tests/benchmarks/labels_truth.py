"""Whether corrected numbers are right whatever the judge, and what labels are worth: draws with a known truth.

``python tests/benchmarks/labels_truth.py`` prints the tables in Markdown (2,000 draws a row, some 20 minutes).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.tables import markdown
from promptlift.stats.differences import score_interval
from promptlift.stats.label_planning import completed_by_verdict, neyman_allocation
from promptlift.stats.labels import (
    LabelledGroup,
    estimate_of_difference,
    estimate_of_group,
    estimate_of_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DRAWS = 2_000
JUDGED = 2_000
SIZES = (20, 30, 60, 100, 200, 400)
# How far coverage and the corrected number may be off.
MOST_OFF, MOST_BIAS = 0.02, 0.01


class Judge(NamedTuple):
    tpr: float
    tnr: float

    def reported(self, rate: float) -> float:
        return rate * self.tpr + (1.0 - rate) * (1.0 - self.tnr)

    def says(self, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.random(truth.shape) < np.where(truth, self.tpr, 1.0 - self.tnr)

    def __str__(self) -> str:
        return f"{self.tpr:g}/{self.tnr:g}"


GOOD, FAIR, WEAK, USELESS = Judge(0.95, 0.95), Judge(0.85, 0.8), Judge(0.6, 0.6), Judge(0.5, 0.5)
LENIENT, STRICT = Judge(0.95, 0.6), Judge(0.6, 0.95)
JUDGES = (GOOD, FAIR, LENIENT, STRICT, WEAK)
# Of the control, of the variant: alike, and different by arm.
TWO_JUDGES = (
    (GOOD, GOOD),
    (FAIR, FAIR),
    (WEAK, WEAK),
    (STRICT, LENIENT),
    (LENIENT, STRICT),
    (FAIR, Judge(0.95, 0.65)),
)


@dataclass(frozen=True)
class Row:
    """What many draws of one world say, rates as fractions.

    ``at95`` and ``at90`` are how often intervals hold the truth, ``bias`` is how far the number is from it on average.
    """

    at95: float
    at90: float
    bias: float
    raw_bias: float
    higher: float
    raw_higher: float

    @property
    def misses(self) -> bool:
        """Whether coverage is more than two points off, or the number one."""
        return max(abs(self.at95 - 0.95), abs(self.at90 - 0.90)) > MOST_OFF or abs(self.bias) > MOST_BIAS


def row_of(found: Sequence[Sequence[float]]) -> Row:
    """Average what each draw says, in the order of the fields of `Row`."""
    return Row(*np.array(found, np.float64).reshape(-1, 6).mean(axis=0))


def group(rate: float, judge: Judge, n: int, judged: int, rng: np.random.Generator) -> LabelledGroup:
    """Draw a group of ``judged`` conversations, ``n`` of which are labelled."""
    truth = rng.random(judged) < rate
    said = judge.says(truth, rng)
    return LabelledGroup(truth[:n], said[:n], said[n:])


def by_verdict(rate: float, judge: Judge, n: int, judged: int, rng: np.random.Generator) -> LabelledGroup:
    """Draw a group whose labels are stratified by the verdict, as ``analysis.label_plan`` with a stated judge."""
    truth = rng.random(judged) < rate
    said = judge.says(truth, rng)
    sizes = np.array([(~said).sum(), said.sum()])
    shares = completed_by_verdict(float(said.mean()), tpr=0.8, tnr=0.8)[::-1]
    spreads = [np.sqrt(share * (1.0 - share)) for share in shares]
    drawn = neyman_allocation(sizes, spreads, n=n, least=10)
    labelled = np.zeros(judged, bool)
    for verdict in (0, 1):
        places = np.flatnonzero(said == bool(verdict))
        labelled[rng.permutation(places)[: drawn[verdict]]] = True
    chances = (drawn / sizes)[said[labelled].astype(int)]
    return LabelledGroup(truth[labelled], said[labelled], said[~labelled], chances=chances)


def paired(
    rates: tuple[float, float], judges: tuple[Judge, Judge], n: int, judged: int, rng: np.random.Generator
) -> tuple[LabelledGroup, LabelledGroup]:
    """Draw pairs whose arms go together: half of the items are as hard for one as for the other."""
    luck, own = rng.random(judged), rng.random((2, judged))
    shared = rng.random(judged) < 0.5
    truths = [np.where(shared, luck, own[arm]) < rates[arm] for arm in (0, 1)]
    said = [judge.says(truth, rng) for judge, truth in zip(judges, truths, strict=True)]
    control, variant = (
        LabelledGroup(truth[:n], verdict[:n], verdict[n:])
        for truth, verdict in zip(truths, said, strict=True)
    )
    return variant, control


def one_rate(
    rate: float,
    judge: Judge,
    n: int,
    *,
    draws: int,
    seed: int = 1,
    draw: Callable[..., LabelledGroup] = group,
) -> Row:
    """Correct one rate in many draws."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        sample = draw(rate, judge, n, JUDGED, rng)
        estimate = estimate_of_group(sample)
        wide, narrow = (np.clip(estimate.interval(level), 0.0, 1.0) for level in (0.95, 0.90))
        found.append(
            (
                wide[0] <= rate <= wide[1],
                narrow[0] <= rate <= narrow[1],
                estimate.value - rate,
                sample.judged_rate - rate,
                np.nan,
                np.nan,
            )
        )
    return row_of(found)


def two_rates(
    rates: tuple[float, float],
    judges: tuple[Judge, Judge],
    n: int,
    *,
    draws: int,
    seed: int = 1,
    kind: str = "independent",
) -> Row:
    """Correct a difference in many draws; ``rates`` and ``judges`` are of the control and of the variant."""
    rng = np.random.default_rng(seed)
    truth = rates[1] - rates[0]
    found = []
    for _ in range(draws):
        if kind == "paired":
            variant, control = paired(rates, judges, n, JUDGED, rng)
        else:
            control, variant = (
                group(rate, judge, n, JUDGED, rng) for rate, judge in zip(rates, judges, strict=True)
            )
        estimate = (estimate_of_pairs if kind == "paired" else estimate_of_difference)(variant, control)
        ends = [np.clip(estimate.interval(level), -1.0, 1.0) for level in (0.95, 0.90)]
        counts = [(int(one.judged.sum() + one.unlabelled.sum()), JUDGED) for one in (variant, control)]
        raw_low, _ = score_interval(*counts[0], *counts[1])
        found.append(
            (
                *(low_end <= truth <= high_end for low_end, high_end in ends),
                estimate.value - truth,
                variant.judged_rate - control.judged_rate - truth,
                ends[0][0] > 0.0,
                float(raw_low) > 0.0,
            )
        )
    return row_of(found)


RATES = (0.5, 0.7, 0.8, 0.9, 0.95)


def rate_rows(draws: int) -> Iterator[tuple[str, Row]]:
    for n in SIZES:
        for rate in RATES:
            for judge in JUDGES:
                yield f"{n} | {rate:g} | {judge}", one_rate(rate, judge, n, draws=draws)


def difference_rows(draws: int, kind: str) -> Iterator[tuple[str, Row]]:
    for n in SIZES:
        for rates in ((0.5, 0.5), (0.5, 0.7), (0.8, 0.9)):
            for judges in TWO_JUDGES:
                name = f"{n} | {rates[0]:g} → {rates[1]:g} | {judges[0]} → {judges[1]}"
                yield name, two_rates(rates, judges, n, draws=draws, kind=kind)


def lines(rows: Iterator[tuple[str, Row]], head: Sequence[str]) -> Iterator[str]:
    columns = (
        *head, "covers 95%", "covers 90%", "bias, points", "raw bias, points", "clearly higher", "raw says clearly higher",
    )  # fmt: skip
    seen: dict[str, list[Row]] = {}

    def cells() -> Iterator[list[str]]:
        for name, row in rows:
            seen.setdefault(name.partition(" ")[0], []).append(row)
            verdicts = ["" if np.isnan(value) else f"{value:.1%}" for value in (row.higher, row.raw_higher)]
            bias = f"{100 * row.bias:+.1f}{' *' if row.misses else ''}"
            rates = [f"{row.at95:.1%}", f"{row.at90:.1%}", bias, f"{100 * row.raw_bias:+.1f}"]
            yield [name, *rates, *verdicts]

    yield from markdown(columns, cells())
    for n, found in seen.items():
        yield f"\n{range_of(found, n)}"


def range_of(found: Sequence[Row], n: str) -> str:
    """Return in words how far coverage and bias go in the rows of a number of labels, and how many of them miss."""
    at95, at90, bias = (
        100.0 * np.array([getattr(one, name) for one in found]) for name in ("at95", "at90", "bias")
    )
    return (
        f"{n} labels: 95% intervals cover {at95.min():.1f} to {at95.max():.1f}%, 90% intervals "
        f"{at90.min():.1f} to {at90.max():.1f}%, bias at most {abs(bias).max():.1f} points; "
        f"{sum(one.misses for one in found)} of {len(found)} rows miss (*)."
    )


def sections(draws: int) -> dict[str, tuple[str, Iterator[tuple[str, Row]], Sequence[str]]]:
    """Return the title, the rows and the first columns of each table."""
    one = ("labels", "true rate", "judge TPR/TNR")
    two = ("labels of each arm", "true rates", "judge of control → variant")
    return {
        "rate": ("One rate, labels drawn with equal chances", rate_rows(draws), one),
        **{
            kind: (f"Difference of two arms: {kind}", difference_rows(draws, kind), two)
            for kind in ("independent", "paired")
        },
    }


def report(draws: int = DRAWS, names: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of all tables, or of those that are named."""
    yield (
        f"{draws:,} draws a row, {JUDGED:,} judged conversations of each group. A row misses (*) where coverage is more than "
        f"{100 * MOST_OFF:g} points off, or the bias is above {100 * MOST_BIAS:g} point. Every draw is answered, whatever its labels."
    )
    tables = sections(draws)
    for name in names or tables:
        title, rows, head = tables[name]
        yield f"\n### {title}\n"
        yield from lines(rows, head)


def main() -> None:
    """Print the tables; the arguments are the number of draws and the names of `sections`, by default all."""
    for line in report(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS, sys.argv[2:]):
        print(line, flush=True)


if __name__ == "__main__":
    main()
